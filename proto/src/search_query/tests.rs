use proptest::prelude::*;

use super::*;
use crate::search::v1::Sort;

type Set = fn(&mut SearchQuery, &str);
type SetItems = fn(&mut SearchQuery, Vec<String>);

/// Each text filter, with a text that is fine.
const TEXTS: [(&str, Set, &str); 9] = [
    (
        "businessType",
        |query, text| query.business_type = text.into(),
        "plumber",
    ),
    ("location", |query, text| query.location = text.into(), "Paris"),
    ("website", |query, text| query.website = text.into(), "acme.com"),
    (
        "companyName",
        |query, text| query.company_name = text.into(),
        "acme",
    ),
    (
        "companyDomain",
        |query, text| query.company_domain = text.into(),
        "acme.com",
    ),
    (
        "businessEmail",
        |query, text| query.business_email = text.into(),
        "acme.com",
    ),
    (
        "businessPhone",
        |query, text| query.business_phone = text.into(),
        "1234",
    ),
    (
        "descriptionKeywords",
        |query, text| query.description_keywords = text.into(),
        "pumps",
    ),
    (
        "excludeKeywords",
        |query, text| query.exclude_keywords = text.into(),
        "retail",
    ),
];

const LISTS: [(&str, SetItems); 2] = [
    ("jobTitles", |query, items| query.job_titles = items),
    ("searchTags", |query, items| query.search_tags = items),
];

fn told(query: &SearchQuery, kind: RecordKind) -> Vec<(String, ViolationCode)> {
    check(query, kind)
        .into_iter()
        .map(|violation| (violation.field(), violation.code))
        .collect()
}

fn with(change: impl FnOnce(&mut SearchQuery)) -> Vec<(String, ViolationCode)> {
    let mut query = SearchQuery::default();
    change(&mut query);
    let found = told(&query, RecordKind::Company);
    assert_eq!(
        found,
        told(&query, RecordKind::Person),
        "the rule is the same for both kinds"
    );
    found
}

fn at(field: &str, code: ViolationCode) -> Vec<(String, ViolationCode)> {
    vec![(field.to_owned(), code)]
}

#[test]
fn an_empty_query_asks_for_everything() {
    assert_eq!(with(|_| {}), []);
}

#[test]
fn blank_texts_and_lists_are_left_out() {
    for (_, set, fine) in TEXTS {
        assert_eq!(with(|query| set(query, " \t\n\u{a0}")), []);
        assert_eq!(with(|query| set(query, fine)), []);
    }
    for (_, set) in LISTS {
        assert_eq!(with(|query| set(query, vec![String::new(), " ".into()])), []);
        assert_eq!(with(|query| set(query, vec![" ".into(), "CEO".into()])), []);
    }
    let blank = |query: &mut SearchQuery| {
        query.info_updated_from = " ".into();
        query.info_updated_to = " ".into();
        query.cursor = Some(String::new());
        query.fields = vec![" ".into()];
        query.sort = Some(Sort::default());
    };
    assert_eq!(with(blank), []);
}

#[test]
fn a_text_has_at_most_2000_characters() {
    for (property, set, fine) in TEXTS {
        // Trailing spaces and characters of several bytes count as one character each.
        let padded = |chars: usize| format!("{fine}{}", "\u{2003}".repeat(chars - fine.len()));
        assert_eq!(with(|query| set(query, &padded(2_000))), [], "{property}");
        assert_eq!(with(|query| set(query, &padded(2_001))), at(property, TooLong));
    }
}

#[test]
fn a_text_has_at_most_100_terms() {
    for (property, set, fine) in TEXTS {
        let separator = match property {
            "location" => ";",
            "companyName" => " ",
            _ => ",",
        };
        let terms = |count: usize| vec![fine; count].join(separator);
        assert_eq!(with(|query| set(query, &terms(100))), [], "{property}");
        assert_eq!(with(|query| set(query, &terms(101))), at(property, TooBig));
        assert_eq!(
            with(|query| set(query, &format!(" {} ", terms(100)))),
            [],
            "{property}"
        );
    }
    let quoted = format!("\"{}\"", vec!["a"; 300].join(","));
    assert_eq!(with(|query| query.business_type.clone_from(&quoted)), []);
}

#[test]
fn a_list_has_at_most_100_items_of_at_most_200_characters() {
    for (property, set) in LISTS {
        let items = |count: usize, chars: usize| vec!["é".repeat(chars); count];
        assert_eq!(with(|query| set(query, items(100, 200))), [], "{property}");
        assert_eq!(with(|query| set(query, items(101, 200))), at(property, TooBig));
        let mut long = items(5, 200);
        long[3] = "é".repeat(201);
        assert_eq!(
            with(|query| set(query, long)),
            at(&format!("{property}[3]"), TooLong)
        );
    }
}

#[test]
fn a_nul_is_never_text() {
    for (property, set, fine) in TEXTS {
        assert_eq!(
            with(|query| set(query, &format!("{fine}\0"))),
            at(property, InvalidValue)
        );
    }
    for (property, set) in LISTS {
        let items = vec!["CEO".into(), "C\0O".into()];
        assert_eq!(
            with(|query| set(query, items)),
            at(&format!("{property}[1]"), InvalidValue)
        );
    }
}

#[test]
fn a_text_without_anything_to_search_for_is_not_everything() {
    for (property, set, _) in TEXTS {
        for nothing in ["*", "!!!", ",", ";", "\u{200b}", "\"\"", "—", "., ."] {
            assert_eq!(
                with(|query| set(query, nothing)),
                at(property, InvalidValue),
                "{property}: {nothing}"
            );
        }
    }
    for (property, set) in LISTS {
        let first = format!("{property}[1]");
        assert_eq!(
            with(|query| set(query, vec![" ".into(), "*".into()])),
            at(&first, InvalidValue)
        );
        assert_eq!(with(|query| set(query, vec!["*".into(), "CEO".into()])), []);
    }
    for (_, set, fine) in TEXTS {
        assert_eq!(with(|query| set(query, &format!("{fine},,{fine}"))), []);
    }
    for text in ["!!!, plumber", "C++", "株式会社", "７"] {
        assert_eq!(with(|query| query.business_type = text.into()), [], "{text}");
    }
}

#[test]
fn a_telephone_number_has_at_least_4_digits() {
    for (text, fine) in [
        ("1234", true),
        ("+1 (23) 4", true),
        ("１２３４", true),
        ("٠٥٠١", true),
        ("123", false),
        ("1234, 123", false),
        ("call me", false),
    ] {
        let expected = if fine {
            vec![]
        } else {
            at("businessPhone", InvalidValue)
        };
        assert_eq!(
            with(|query| query.business_phone = text.into()),
            expected,
            "{text}"
        );
    }
    let twice = with(|query| query.business_phone = "1, 1234, 2".into());
    assert_eq!(twice.len(), 2);
}

#[test]
fn a_domain_is_a_domain() {
    for text in [
        "acme.com",
        "https://www.acme.co.uk/x, BÜCHER.example",
        "acme.com.",
    ] {
        assert_eq!(with(|query| query.company_domain = text.into()), [], "{text}");
    }
    for text in [
        "acme",
        "com",
        "co.uk",
        "acme corp.com",
        "-acme.com",
        "info@acme.com",
        "127.0.0.1",
        "acme.com, acme",
    ] {
        assert_eq!(
            with(|query| query.company_domain = text.into()),
            at("companyDomain", InvalidFormat),
            "{text}"
        );
    }
    for text in [".", "https://", "http:///"] {
        assert_eq!(
            with(|query| query.company_domain = text.into()),
            at("companyDomain", InvalidValue),
            "{text}"
        );
    }
}

#[test]
fn a_website_is_a_host_or_a_word() {
    for text in [
        "acme",
        "acme.com",
        "https://www.acme.com/shop, other",
        "my-shop",
        "10.0.0.1",
    ] {
        assert_eq!(with(|query| query.website = text.into()), [], "{text}");
    }
    for text in ["two words", "acme/shop", "acme.com:port"] {
        assert_eq!(
            with(|query| query.website = text.into()),
            at("website", InvalidFormat),
            "{text}"
        );
    }
    assert_eq!(
        with(|query| query.website = "https://".into()),
        at("website", InvalidValue)
    );
}

#[test]
fn an_email_is_an_address_or_a_domain() {
    for text in [
        "info@acme.com",
        "@acme.com",
        "acme.com",
        "info@acme.com, acme.org",
    ] {
        assert_eq!(with(|query| query.business_email = text.into()), [], "{text}");
    }
    for text in ["info", "in fo@acme.com", "a@b@c.com", "info@acme.com, x"] {
        assert_eq!(
            with(|query| query.business_email = text.into()),
            at("businessEmail", InvalidFormat),
            "{text}"
        );
    }
}

#[test]
fn enums_are_of_the_list() {
    assert_eq!(
        with(|query| query.website_status = 4),
        at("websiteStatus", InvalidValue)
    );
    assert_eq!(
        with(|query| query.new_business = -1),
        at("newBusiness", InvalidValue)
    );
    for known in 0..=3 {
        assert_eq!(
            with(|query| (query.website_status, query.new_business) = (known, known)),
            []
        );
    }
}

#[test]
fn days_are_real_and_in_order() {
    let days = |from: &str, to: &str| {
        with(|query| (query.info_updated_from, query.info_updated_to) = (from.into(), to.into()))
    };
    assert_eq!(days("2024-02-29", "2024-02-29"), []);
    assert_eq!(days("1900-01-01", "2100-12-31"), []);
    assert_eq!(days("2024-03-01", "2024-02-29"), at("infoUpdatedFrom", Conflict));
    for text in [
        "2023-02-29",
        "1899-12-31",
        "2101-01-01",
        "01.02.2024",
        "2024-2-1",
        "2024-02-01T00:00:00Z",
    ] {
        assert_eq!(days(text, ""), at("infoUpdatedFrom", InvalidFormat), "{text}");
        assert_eq!(days("", text), at("infoUpdatedTo", InvalidFormat), "{text}");
    }
}

#[test]
fn pages_reach_10000_records() {
    let paged =
        |page: Option<i64>, limit: Option<i64>| with(|query| (query.page, query.limit) = (page, limit));
    for (page, limit) in [(1, 1), (1, 250), (40, 250), (10_000, 1), (400, 25)] {
        assert_eq!(paged(Some(page), Some(limit)), [], "{page} x {limit}");
    }
    assert_eq!(paged(Some(400), None), []);
    assert_eq!(paged(Some(401), None), at("page", TooBig));
    for (page, limit) in [
        (41, 250),
        (10_001, 1),
        (i64::from(i32::MAX), 250),
        (i64::MAX, 250),
    ] {
        assert_eq!(
            paged(Some(page), Some(limit)),
            at("page", TooBig),
            "{page} x {limit}"
        );
    }
    for page in [0, -1, i64::MIN] {
        assert_eq!(paged(Some(page), None), at("page", TooSmall));
    }
    for (limit, code) in [
        (0, TooSmall),
        (i64::MIN, TooSmall),
        (251, TooBig),
        (i64::MAX, TooBig),
    ] {
        assert_eq!(paged(None, Some(limit)), at("limit", code), "{limit}");
    }
    let mut query = SearchQuery {
        page: Some(401),
        ..SearchQuery::default()
    };
    let violations = check(&query, RecordKind::Company);
    assert!(
        violations[0]
            .hint
            .as_deref()
            .is_some_and(|hint| hint.contains("cursor"))
    );
    query.cursor = Some(String::new());
    assert_eq!(told(&query, RecordKind::Company), at("page", Conflict));
}

#[test]
fn a_cursor_has_its_shape_and_no_page_beside_it() {
    let shaped = cursor::encode(&[[cursor::VERSION].as_slice(), &[9; 40]].concat());
    assert_eq!(with(|query| query.cursor = Some(shaped.clone())), []);
    assert_eq!(
        with(|query| (query.cursor, query.page) = (Some(shaped.clone()), Some(1))),
        []
    );
    assert_eq!(
        with(|query| (query.cursor, query.page) = (Some(shaped.clone()), Some(2))),
        at("page", Conflict)
    );
    for text in [
        " ",
        "abc",
        &shaped[..10],
        &format!("{shaped}="),
        &shaped.replace('A', "Z"),
        "\0",
    ] {
        assert_eq!(
            with(|query| query.cursor = Some(text.to_owned())),
            at("cursor", InvalidFormat),
            "{text}"
        );
    }
}

#[test]
fn each_kind_sorts_by_its_own_names() {
    let sorted = |field: i32, direction: i32, kind| {
        let query = SearchQuery {
            sort: Some(Sort { field, direction }),
            ..SearchQuery::default()
        };
        told(&query, kind)
    };
    for kind in [RecordKind::Company, RecordKind::Person] {
        for field in (0..=8).filter_map(|number| SortField::try_from(number).ok()) {
            let known =
                field == SortField::Unspecified || sort_names(kind).iter().any(|(_, known)| *known == field);
            let expected = if known {
                vec![]
            } else {
                at("sort.field", InvalidFormat)
            };
            assert_eq!(
                sorted(field.into(), SortDirection::Desc.into(), kind),
                expected,
                "{field:?}"
            );
        }
        assert_eq!(sorted(9, 0, kind), at("sort.field", InvalidValue));
        assert_eq!(sorted(0, 3, kind), at("sort.dir", InvalidValue));
        assert_eq!(sorted(SortField::Relevance.into(), 0, kind), []);
        let ascending = SortDirection::Asc.into();
        assert_eq!(
            sorted(SortField::Relevance.into(), ascending, kind),
            at("sort.dir", Conflict)
        );
        assert_eq!(sorted(0, ascending, kind), []);
    }
    let by_default = with(|query| {
        query.company_name = "acme".into();
        query.sort = Some(Sort {
            field: 0,
            direction: SortDirection::Asc.into(),
        });
    });
    assert_eq!(by_default, at("sort.dir", Conflict));
}

#[test]
fn fields_are_those_of_the_row() {
    for kind in [RecordKind::Company, RecordKind::Person] {
        let all = field_names(kind).iter().map(|&name| name.to_owned()).collect();
        assert_eq!(
            told(
                &SearchQuery {
                    fields: all,
                    ..SearchQuery::default()
                },
                kind
            ),
            []
        );
    }
    let query = SearchQuery {
        fields: ["id", "", "nmae", "company.name", "zzz"]
            .map(str::to_owned)
            .to_vec(),
        ..SearchQuery::default()
    };
    let violations = check(&query, RecordKind::Company);
    let fields = violations.iter().map(Violation::field).collect::<Vec<_>>();
    assert_eq!(fields, ["fields[2]", "fields[3]", "fields[4]"]);
    assert_eq!(violations[0].hint.as_deref(), Some("did you mean `name`?"));
    assert!(
        violations[2]
            .hint
            .as_deref()
            .is_some_and(|hint| hint.starts_with("one of: id, name"))
    );
    assert_eq!(
        told(&query, RecordKind::Person),
        [
            ("fields[2]".to_owned(), InvalidFormat),
            ("fields[4]".to_owned(), InvalidFormat)
        ]
    );
    assert_eq!(
        with(|query| query.fields = vec!["id".into(); 101]),
        at("fields", TooBig)
    );
    assert_eq!(
        with(|query| query.fields = vec!["i".repeat(201)]),
        at("fields[0]", TooLong)
    );
}

#[test]
fn every_problem_is_told_at_once_in_the_order_of_the_fields() {
    let mut query = SearchQuery {
        website_status: 9,
        job_titles: vec!["x".repeat(201), "\0".into()],
        search_tags: vec!["!".into()],
        new_business: 9,
        info_updated_from: "yesterday".into(),
        info_updated_to: "today".into(),
        page: Some(0),
        limit: Some(0),
        cursor: Some("x".into()),
        sort: Some(Sort {
            field: 99,
            direction: 99,
        }),
        fields: vec!["x".into()],
        ..SearchQuery::default()
    };
    for (_, set, _) in TEXTS {
        set(&mut query, "!!!");
    }
    let fields = check(&query, RecordKind::Company)
        .iter()
        .map(Violation::field)
        .collect::<Vec<_>>();
    let expected = [
        "businessType",
        "location",
        "website",
        "websiteStatus",
        "companyName",
        "companyDomain",
        "businessEmail",
        "businessPhone",
        "descriptionKeywords",
        "jobTitles[0]",
        "jobTitles[1]",
        "excludeKeywords",
        "searchTags[0]",
        "newBusiness",
        "infoUpdatedFrom",
        "infoUpdatedTo",
        "page",
        "limit",
        "cursor",
        "sort.field",
        "sort.dir",
        "fields[0]",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn problems_stay_bounded_whatever_is_sent() {
    let query = SearchQuery {
        company_domain: "-x,".repeat(500_000),
        job_titles: vec!["\0".into(); 50_000],
        fields: vec!["x".into(); 50_000],
        ..SearchQuery::default()
    };
    assert!(check(&query, RecordKind::Person).len() < 150);
}

#[test]
fn foreign_text_is_quoted_in_part() {
    let violations = check(
        &SearchQuery {
            company_domain: "x".repeat(1_000),
            ..SearchQuery::default()
        },
        RecordKind::Person,
    );
    assert!(violations[0].message.len() < 100, "{}", violations[0]);
}

proptest! {
    /// Whatever is sent is answered, and what passes can be taken apart by those who search.
    #[test]
    fn any_text_is_judged(text in any_text()) {
        let mut query = SearchQuery {
            job_titles: vec![text.clone()],
            search_tags: vec![text.clone()],
            info_updated_from: text.clone(),
            info_updated_to: text.clone(),
            cursor: Some(text.clone()),
            fields: vec![text.clone()],
            ..SearchQuery::default()
        };
        for (_, set, _) in TEXTS {
            set(&mut query, &text);
        }
        let refused = told(&query, RecordKind::Company);
        let passes = |property: &str| !is_blank(&text) && refused.iter().all(|(field, _)| field != property);
        let alternatives = split(&text, Separator::Comma);
        if passes("website") {
            prop_assert!(alternatives.iter().all(|text| WebsiteTerm::parse(text).is_ok()));
        }
        if passes("companyDomain") {
            let domains = alternatives.iter().map(|text| Domain::parse(text)).collect::<Result<Vec<_>, _>>();
            let domains = domains.unwrap();
            prop_assert!(!domains.is_empty());
            // What a domain is compared by is one itself, and the same.
            for domain in &domains {
                let again = Domain::parse(domain.registrable()).unwrap();
                prop_assert_eq!(again.registrable(), domain.registrable());
            }
        }
        if passes("businessEmail") {
            prop_assert!(alternatives.iter().all(|text| EmailTerm::parse(text).is_ok()));
        }
        if passes("businessType") {
            prop_assert!(split(&text, Separator::CommaOutsideQuotes).iter().any(|text| is_searchable(text)));
        }
    }
}

/// Anything, and things made of what the rules look at.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "http",
        "://",
        "//",
        ":",
        "/",
        "\\",
        "?",
        "#",
        "@",
        "www.",
        ".",
        ",",
        ";",
        "\"",
        " ",
        "acme",
        "com",
        "co.uk",
        "ü",
        "ß",
        "。",
        "，",
        "xn--",
        "xn--bcher-kva",
        "-",
        "_",
        "8080",
        "[::1]",
        "127.0.0.1",
        "\u{200d}",
        "é",
        "株",
        "\u{301}",
        "١",
        "\0",
    ]);
    prop_oneof![
        any::<String>(),
        prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
    ]
}
