//! Suggestions: what they are made of, their order, and that a search confirms their counts.

use std::time::Instant;

use proto::error_code::ErrorCode;
use proto::search::v1::{
    CompanyRecord, PersonRecord, SearchQuery, SuggestRequest, SuggestResponse, Suggestion, Vocabulary,
};
use proto::violation::ViolationCode;
use search::engine::{Index, IndexSettings, Opened};
use search::error::SearchError;
use search::suggest::Suggest;
use sqlx::PgPool;
use tempfile::TempDir;

use crate::fixture::ToImport::{Company, NoCompany, NoPerson, Person};
use crate::fixture::{Served, ToImport, batch, company, person, serve, until, violations};

/// A company with these types, tags and city of Germany.
fn firm(id: &str, types: &[&str], tags: &[&str], city: Option<&str>) -> ToImport {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Company(CompanyRecord {
        business_types: texts(types),
        tags: texts(tags),
        city: city.map(str::to_owned),
        country: city.map(|_| "DE".to_owned()),
        ..company(id, id)
    })
}

/// A person with this title, who works there.
fn worker(id: &str, title: &str, company: Option<&str>) -> ToImport {
    Person(PersonRecord {
        job_title: Some(title.to_owned()),
        ..person(id, id, company)
    })
}

impl Served {
    /// Suggestions as of what is searchable now.
    pub(crate) async fn suggest(
        &self,
        vocabulary: Vocabulary,
        q: &str,
        limit: Option<i64>,
    ) -> Vec<Suggestion> {
        let position = self.status().await.position;
        let request = SuggestRequest {
            vocabulary: vocabulary.into(),
            q: q.to_owned(),
            limit,
        };
        let ask = async || {
            let answer = self.search.clone().suggest(request.clone()).await;
            // Refused until it has been counted for the first time.
            let answer: SuggestResponse = answer.ok()?.into_inner();
            (answer.position >= position).then_some(answer.suggestions)
        };
        until(ask).await
    }

    /// How many a search finds with the suggestion's filter alone.
    pub(crate) async fn totals(&self, vocabulary: Vocabulary, filter: &str) -> (i64, i64) {
        let mut query = SearchQuery::default();
        match vocabulary {
            Vocabulary::Places => filter.clone_into(&mut query.location),
            Vocabulary::BusinessTypes => filter.clone_into(&mut query.business_type),
            Vocabulary::JobTitles => query.job_titles.push(filter.to_owned()),
            _ => query.search_tags.push(filter.to_owned()),
        }
        let companies = self.companies(query.clone()).await.unwrap().page.unwrap();
        let people = self.people("anybody", query).await.unwrap().page.unwrap();
        (companies.total, people.total)
    }
}

/// Value, filter and counts of each.
fn shown(suggestions: &[Suggestion]) -> Vec<(&str, &str, i64, i64)> {
    let shown = suggestions.iter().map(|suggestion| {
        let Suggestion {
            value,
            filter,
            companies,
            people,
        } = suggestion;
        (value.as_str(), filter.as_str(), *companies, *people)
    });
    shown.collect()
}

fn values(suggestions: &[Suggestion]) -> Vec<&str> {
    shown(suggestions).into_iter().map(|(value, ..)| value).collect()
}

async fn world(pool: &PgPool) -> Served {
    let served = serve(pool).await;
    let batch = batch([
        firm(
            "a",
            &["Software Development", "Consulting"],
            &["B2B", "Cloud"],
            Some("München"),
        ),
        firm("b", &["software development"], &["b2b"], Some("Munich")),
        firm(
            "c",
            &["Software Development"],
            &["Software Development", "B2B", "b2b"],
            Some("Berlin"),
        ),
        firm("d", &["Custom Software Development"], &["B2B SaaS"], None),
        firm("e", &["Softwood Trade"], &[], None),
        worker("p", "VP Sales", Some("a")),
        worker("q", "Vice President Sales", Some("a")),
        worker("r", "VP Sales", Some("b")),
        worker("s", "Senior VP Sales", None),
        worker("t", "Sales Manager", Some("d")),
    ]);
    served.import(vec![batch]).await;
    served
}

#[sqlx::test]
async fn a_value_is_spelled_as_most_records_do_and_counted_as_a_search_does(pool: PgPool) {
    let served = world(&pool).await;
    for (vocabulary, q, expected) in [
        (
            Vocabulary::BusinessTypes,
            "softw",
            &[
                ("Software Development", "\"Software Development\"", 4, 4),
                ("Softwood Trade", "\"Softwood Trade\"", 1, 0),
                (
                    "Custom Software Development",
                    "\"Custom Software Development\"",
                    1,
                    1,
                ),
            ][..],
        ),
        (
            Vocabulary::Tags,
            "B2",
            &[("B2B", "B2B", 3, 3), ("B2B SaaS", "B2B SaaS", 1, 1)],
        ),
        (
            Vocabulary::JobTitles,
            "vp sal",
            &[
                ("VP Sales", "\"VP Sales\"", 2, 4),
                ("Senior VP Sales", "\"Senior VP Sales\"", 0, 1),
            ],
        ),
        (
            Vocabulary::JobTitles,
            "vice presid",
            &[
                ("VP Sales", "\"VP Sales\"", 2, 4),
                ("Senior VP Sales", "\"Senior VP Sales\"", 0, 1),
            ],
        ),
        (
            Vocabulary::Places,
            "münch",
            &[("Munich, Bavaria, Germany", "Munich, Bavaria, Germany", 2, 3)],
        ),
        (Vocabulary::Places, "deutschl", &[("Germany", "Germany", 3, 3)]),
    ] {
        let found = served.suggest(vocabulary, q, None).await;
        assert_eq!(shown(&found), expected, "{q}");
        for (_, filter, companies, people) in shown(&found) {
            assert_eq!(
                served.totals(vocabulary, filter).await,
                (companies, people),
                "{filter}"
            );
        }
    }
}

#[sqlx::test]
async fn beginnings_come_before_words_and_words_before_typing_errors(pool: PgPool) {
    let served = serve(&pool).await;
    let types = [
        ("Marketing", 1),
        ("Market Research", 2),
        ("Digital Marketing", 3),
        ("Stock Market", 3),
        ("Merket Stalls", 4),
    ];
    let firms = types.iter().flat_map(|(name, count)| {
        (0..*count).map(move |number| firm(&format!("{name} {number}"), &[name], &[], None))
    });
    served.import(vec![batch(firms)]).await;
    let ask = async |q: &str, limit| {
        let found = served.suggest(Vocabulary::BusinessTypes, q, limit).await;
        values(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    // A search for "Marketing" finds those of "Digital Marketing" too. Errors are for what nothing begins with.
    let by_count = [
        "Marketing",
        "Market Research",
        "Digital Marketing",
        "Stock Market",
    ];
    assert_eq!(ask("market", None).await, by_count);
    assert_eq!(ask(" MÄRKET ", Some(2)).await, by_count[..2]);
    assert_eq!(ask("merket", None).await, ["Merket Stalls"]);
    assert_eq!(ask("market r", None).await[0], "Market Research");
    // Too short for errors.
    assert_eq!(ask("mxr", None).await, Vec::<String>::new());
    assert_eq!(ask("makret", Some(1)).await, ["Marketing"]);
    assert_eq!(ask("mraketnig", None).await, ["Marketing", "Digital Marketing"]);
    assert_eq!(ask("digitla m", None).await, ["Digital Marketing"]);
}

#[sqlx::test]
async fn deleted_records_are_not_counted(pool: PgPool) {
    let served = world(&pool).await;
    let gone = batch([NoCompany("c"), NoCompany("d"), NoPerson("r"), NoPerson("t")]);
    served.import(vec![gone]).await;
    let types = served.suggest(Vocabulary::BusinessTypes, "software", None).await;
    let titles = served.suggest(Vocabulary::JobTitles, "sales", None).await;
    assert_eq!(shown(&types)[0].2, 2);
    assert_eq!(values(&titles), ["VP Sales", "Senior VP Sales"]);
    let tags = served.suggest(Vocabulary::Tags, "software", None).await;
    assert_eq!(tags, []);
}

#[sqlx::test]
async fn a_request_that_breaks_rules_is_told_all_of_them(pool: PgPool) {
    let served = serve(&pool).await;
    let request = SuggestRequest {
        vocabulary: Vocabulary::Unspecified.into(),
        q: "?".to_owned(),
        limit: Some(26),
    };
    let refusal = served.search.clone().suggest(request).await.unwrap_err();
    let told = violations(&refusal);
    let told = told.iter().map(|violation| (violation.field(), violation.code));
    let expected = [
        ("vocabulary", ViolationCode::InvalidValue),
        ("q", ViolationCode::InvalidValue),
        ("limit", ViolationCode::TooBig),
    ];
    assert!(told.eq(expected.map(|(field, code)| (field.to_owned(), code))));
}

#[tokio::test]
async fn before_it_is_counted_it_is_unavailable_and_a_deadline_that_is_over_is_kept() {
    let request = SuggestRequest {
        vocabulary: Vocabulary::Tags.into(),
        q: "a".to_owned(),
        limit: None,
    };
    let suggest = Suggest::new(1, std::time::Duration::from_secs(10));
    let refusal = suggest.suggest(&request, None).await.unwrap_err();
    assert!(matches!(refusal, SearchError::NotCounted));
    assert_eq!(
        ErrorCode::of(&tonic::Status::from(refusal)),
        ErrorCode::Unavailable
    );

    let dir = TempDir::new().unwrap();
    let Opened::Ready(index) = Index::open(dir.path(), IndexSettings::default()).unwrap() else {
        panic!("a new index is usable")
    };
    index.apply(&[], 1).unwrap();
    let shutdown = runtime::shutdown::Shutdown::new();
    shutdown.spawn_critical(
        "suggestions",
        suggest.clone().follow(index.into(), shutdown.clone()),
    );
    until(async || suggest.suggest(&request, None).await.ok()).await;
    let refusal = suggest.suggest(&request, Some(Instant::now())).await.unwrap_err();
    assert!(matches!(refusal, SearchError::DeadlineExceeded));
    shutdown.begin();
}
