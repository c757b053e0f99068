//! Suggestions of made-up worlds, against the oracle: the values that its rows hold, looked at one by one, counted by its
//! own searches.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use proto::search::v1::{SearchQuery, SuggestRequest, Suggestion, Vocabulary};
use proto::suggestions::MAX_LIMIT;

use crate::fixture::{Served, until};
use crate::scan::Oracle;
use crate::text::words;
use crate::titles::title_words;

/// The vocabularies whose values the rows hold as they are.
const OF_ROWS: [Vocabulary; 3] = [Vocabulary::BusinessTypes, Vocabulary::JobTitles, Vocabulary::Tags];

/// How many records have each of the values, by the values.
fn spellings(oracle: &Oracle, vocabulary: Vocabulary) -> BTreeMap<String, u32> {
    let mut spellings = BTreeMap::new();
    let mut count = |texts: &[String]| {
        let texts = texts.iter().map(|text| text.trim().to_owned());
        for text in texts.collect::<BTreeSet<_>>() {
            *spellings.entry(text).or_default() += 1;
        }
    };
    for company in oracle.company_rows() {
        match vocabulary {
            Vocabulary::BusinessTypes => count(&company.business_types),
            Vocabulary::Tags => count(&company.tags),
            _ => {}
        }
    }
    if vocabulary == Vocabulary::JobTitles {
        for (_, person, _) in oracle.person_rows() {
            count(person.job_title.as_slice());
        }
    }
    spellings.retain(|text, _| !words(text).is_empty());
    spellings
}

fn query(vocabulary: Vocabulary, filter: &str) -> SearchQuery {
    let mut query = SearchQuery::default();
    match vocabulary {
        Vocabulary::Places => filter.clone_into(&mut query.location),
        Vocabulary::BusinessTypes => filter.clone_into(&mut query.business_type),
        Vocabulary::JobTitles => query.job_titles.push(filter.to_owned()),
        _ => query.search_tags.push(filter.to_owned()),
    }
    query
}

/// How many companies and people the oracle finds with a filter alone, asked once for each.
struct Totals<'a> {
    oracle: &'a Oracle,
    vocabulary: Vocabulary,
    known: BTreeMap<String, (i64, i64)>,
}

impl<'a> Totals<'a> {
    const fn new(oracle: &'a Oracle, vocabulary: Vocabulary) -> Self {
        Self {
            oracle,
            vocabulary,
            known: BTreeMap::new(),
        }
    }

    fn of(&mut self, filter: &str) -> (i64, i64) {
        let Self {
            oracle,
            vocabulary,
            known,
        } = self;
        *known.entry(filter.to_owned()).or_insert_with(|| {
            let query = query(*vocabulary, filter);
            let count = |count: usize| i64::try_from(count).expect("a count");
            (
                count(oracle.companies(&query).len()),
                count(oracle.people("anybody", &query).len()),
            )
        })
    }
}

/// What two spellings of a value have in common.
fn key(vocabulary: Vocabulary, text: &str) -> Vec<(String, String)> {
    let words = if vocabulary == Vocabulary::JobTitles {
        title_words(text)
    } else {
        words(text)
    };
    words.into_iter().map(|word| (word.plain, word.long)).collect()
}

async fn ask(served: &Served, position: i64, vocabulary: Vocabulary, q: &str) -> Vec<Suggestion> {
    let request = SuggestRequest {
        vocabulary: vocabulary.into(),
        q: q.chars().take(100).collect(),
        limit: Some(MAX_LIMIT),
    };
    until(async || {
        let answer = served
            .search
            .clone()
            .suggest(request.clone())
            .await
            .ok()?
            .into_inner();
        (answer.position >= position).then_some(answer.suggestions)
    })
    .await
}

/// Whatever a record has is suggested by its own beginning, as the oracle counts it; what is suggested by it is in order.
pub(crate) async fn agree(served: &Served, oracle: &Oracle) {
    let position = served.status().await.position;
    for vocabulary in OF_ROWS {
        let spellings = spellings(oracle, vocabulary);
        assert!(!spellings.is_empty());
        let mut totals = Totals::new(oracle, vocabulary);
        let mut most = BTreeMap::<_, (Reverse<u32>, &str)>::new();
        for (text, count) in &spellings {
            let this = (Reverse(*count), text.as_str());
            let best = most.entry(key(vocabulary, text)).or_insert(this);
            *best = this.min(*best);
        }
        for text in spellings.keys() {
            let found = ask(served, position, vocabulary, text).await;
            for suggestion in &found {
                let counted = (suggestion.companies, suggestion.people);
                assert_eq!(
                    counted,
                    totals.of(&suggestion.filter),
                    "{vocabulary:?} {suggestion:?}"
                );
                let (_, spelled) = most[&key(vocabulary, &suggestion.value)];
                assert_eq!(suggestion.value, spelled);
            }
            // What is typed in full is among what is suggested, unless there is no room.
            let own = key(vocabulary, text);
            let has_it = found
                .iter()
                .any(|suggestion| key(vocabulary, &suggestion.value) == own);
            let has_room = found.len() < usize::try_from(MAX_LIMIT).expect("a limit");
            let can_be_asked_for = text.chars().count() <= 100;
            assert!(
                has_it || !has_room || !can_be_asked_for,
                "{vocabulary:?} {text:?}: {found:#?}"
            );
        }
    }
    let mut totals = Totals::new(oracle, Vocabulary::Places);
    let places = oracle
        .company_rows()
        .filter_map(|company| company.location.clone());
    let cities = places.filter_map(|location| location.city.or(location.country));
    for city in cities.collect::<BTreeSet<_>>() {
        if words(&city).is_empty() {
            continue;
        }
        for suggestion in ask(served, position, Vocabulary::Places, &city).await {
            let counted = (suggestion.companies, suggestion.people);
            assert_eq!(counted, totals.of(&suggestion.filter), "{suggestion:?}");
            assert_ne!(counted, (0, 0));
        }
    }
}
