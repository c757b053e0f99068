use proto::search::v1::{NewBusiness, SortDirection, WebsiteStatus};
use proto::search_query::RecordKind::{Company, Person};
use serde_json::json;

use super::*;

fn told(body: &str) -> Vec<(String, &'static str)> {
    let problems = parse(body.as_bytes(), Company).unwrap_err();
    problems
        .into_iter()
        .map(|violation| (violation.field(), violation.code.as_str()))
        .collect()
}

fn only(body: &str) -> Violation {
    let mut problems = parse(body.as_bytes(), Company).unwrap_err();
    assert_eq!(problems.len(), 1, "{body}: {problems:?}");
    problems.remove(0)
}

fn at(field: &str, code: &'static str) -> Vec<(String, &'static str)> {
    vec![(field.to_owned(), code)]
}

#[test]
fn every_property_goes_where_it_belongs() {
    let body = json!({
        "businessType": "a", "location": "b", "website": "c.example", "websiteStatus": "no", "companyName": "d",
        "companyDomain": "e.example", "businessEmail": "f@g.example", "businessPhone": "12345",
        "descriptionKeywords": "h", "jobTitles": ["i", "j"], "excludeKeywords": "k", "searchTags": ["l"],
        "newBusiness": "yes", "infoUpdatedFrom": "2026-01-01", "infoUpdatedTo": "2026-02-01", "page": 2,
        "limit": 250, "sort": {"field": "name", "dir": "desc"}, "fields": ["name"],
    });
    let query = parse(body.to_string().as_bytes(), Company).unwrap();
    for (text, expected) in [
        (&query.business_type, "a"),
        (&query.location, "b"),
        (&query.website, "c.example"),
        (&query.company_name, "d"),
        (&query.company_domain, "e.example"),
        (&query.business_email, "f@g.example"),
        (&query.business_phone, "12345"),
        (&query.description_keywords, "h"),
        (&query.exclude_keywords, "k"),
        (&query.info_updated_from, "2026-01-01"),
        (&query.info_updated_to, "2026-02-01"),
    ] {
        assert_eq!(text, expected);
    }
    assert_eq!(query.job_titles, ["i", "j"]);
    assert_eq!(query.search_tags, ["l"]);
    assert_eq!(query.fields, ["name"]);
    assert_eq!(query.website_status(), WebsiteStatus::No);
    assert_eq!(query.new_business(), NewBusiness::Yes);
    assert_eq!(
        (query.page, query.limit, &query.cursor),
        (Some(2), Some(250), &None)
    );
    let sort = Sort {
        field: SortField::Name.into(),
        direction: SortDirection::Desc.into(),
    };
    assert_eq!(query.sort, Some(sort));
    assert_eq!(parse(b"{}", Person), Ok(SearchQuery::default()));
}

#[test]
fn a_body_has_to_be_there_and_to_be_an_object() {
    for (body, code) in [
        ("", "missing"),
        (" \n", "missing"),
        ("[]", "invalid_type"),
        ("null", "invalid_type"),
        ("\"{}\"", "invalid_type"),
        ("7", "invalid_type"),
        ("{", "invalid_json"),
        ("{} {}", "invalid_json"),
        ("{\"page\":1,}", "invalid_json"),
    ] {
        assert_eq!(told(body), at("", code), "{body}");
    }
    assert_eq!(
        told(&format!("{{\"x\":{}1{}}}", "[".repeat(16), "]".repeat(16))),
        at("", "invalid_json")
    );
}

#[test]
fn an_unknown_name_is_told_with_the_nearest_one() {
    let problem = only(r#"{"companyNam": "x"}"#);
    assert_eq!(
        (problem.field().as_str(), problem.code),
        ("companyNam", ViolationCode::UnrecognizedKey)
    );
    assert_eq!(problem.hint.unwrap(), "did you mean `companyName`?");
    assert!(
        only(r#"{"zzz": "x"}"#)
            .hint
            .unwrap()
            .starts_with("one of: businessType, location")
    );
    assert_eq!(
        told(r#"{"sort": {"field": "name", "order": "asc"}}"#),
        at("sort.order", "unrecognized_key")
    );
    let problem = only(r#"{"sort": {"field": "nmae"}}"#);
    assert_eq!(
        (problem.field().as_str(), problem.code),
        ("sort.field", ViolationCode::InvalidFormat)
    );
    assert_eq!(problem.hint.unwrap(), "did you mean `name`?");
    assert_eq!(
        told(r#"{"fields": ["name", "nmae"]}"#),
        at("fields[1]", "invalid_format")
    );
    let long = format!("{{\"{}\": 1}}", "x".repeat(100_000));
    assert!(only(&long).field().len() < 200);
}

#[test]
fn a_repeated_name_is_told_once_and_its_values_are_not_looked_at() {
    assert_eq!(
        told(r#"{"page": 1, "page": "x", "page": 0}"#),
        at("page", "duplicate_key")
    );
    assert_eq!(
        told(r#"{"page": 1, "p\u0061ge": 1}"#),
        at("page", "duplicate_key")
    );
    assert_eq!(told(r#"{"zzz": 1, "zzz": 1}"#), at("zzz", "unrecognized_key"));
    assert_eq!(
        told(r#"{"sort": {"dir": "asc", "dir": "asc"}}"#),
        at("sort.dir", "duplicate_key")
    );
}

#[test]
fn null_is_for_the_cursor_alone() {
    for property in &PROPERTIES {
        let body = format!("{{\"{}\": null}}", property.name);
        if property.name == "cursor" {
            assert_eq!(
                parse(body.as_bytes(), Company).unwrap().cursor.as_deref(),
                Some("")
            );
        } else {
            let problem = only(&body);
            assert_eq!(
                (problem.field().as_str(), problem.code),
                (property.name, ViolationCode::InvalidType)
            );
            assert_eq!(problem.hint.unwrap(), "leave it out instead");
        }
    }
    assert_eq!(
        told(r#"{"jobTitles": ["a", null]}"#),
        at("jobTitles[1]", "invalid_type")
    );
}

#[test]
fn each_property_is_of_its_type() {
    for property in &PROPERTIES {
        for (value, kind) in [
            ("true", "a boolean"),
            ("{}", "an object"),
            ("[]", "an array"),
            ("7", "a number"),
        ] {
            let fits = match property.kind {
                Kind::Sort => value == "{}",
                Kind::Texts(_) | Kind::Fields => value == "[]",
                Kind::Integer { .. } => value == "7",
                _ => false,
            };
            let body = format!("{{\"{}\": {value}}}", property.name);
            if fits {
                assert!(parse(body.as_bytes(), Company).is_ok(), "{body}");
            } else {
                let problem = only(&body);
                assert_eq!(
                    (problem.field().as_str(), problem.code),
                    (property.name, ViolationCode::InvalidType)
                );
                assert!(
                    problem.message.starts_with(&format!("is {kind}, but has to be ")),
                    "{}",
                    problem.message
                );
            }
        }
    }
    assert_eq!(told(r#"{"fields": ["name", 7, {}]}"#).len(), 2);
}

#[test]
fn an_integer_is_a_number_with_an_integral_value() {
    for (spelt, value) in [("25", 25), ("25.0", 25), ("2.5e1", 25), ("1e2", 100)] {
        let body = format!("{{\"limit\": {spelt}}}");
        assert_eq!(
            parse(body.as_bytes(), Company).unwrap().limit,
            Some(value),
            "{spelt}"
        );
    }
    for (spelt, code) in [
        ("\"25\"", "invalid_type"),
        ("25.5", "invalid_type"),
        ("1e-400", "invalid_type"),
        ("true", "invalid_type"),
        ("0", "too_small"),
        ("-1", "too_small"),
        ("251", "too_big"),
        ("1e400", "too_big"),
        ("9223372036854775808", "too_big"),
        ("-1e400", "too_small"),
    ] {
        assert_eq!(
            told(&format!("{{\"limit\": {spelt}}}")),
            at("limit", code),
            "{spelt}"
        );
    }
    let problem = only(r#"{"page": 2147483647, "limit": 250}"#);
    assert_eq!(
        (problem.field().as_str(), problem.code),
        ("page", ViolationCode::TooBig)
    );
    assert!(problem.hint.unwrap().contains("cursor"));
    assert!(parse(br#"{"page": 40, "limit": 250}"#, Company).is_ok());
    assert_eq!(
        told(r#"{"page": 10000, "limit": "1"}"#),
        at("limit", "invalid_type")
    );
}

#[test]
fn an_enum_is_one_of_its_words() {
    for (property, allowed) in [("websiteStatus", "any, has, no"), ("newBusiness", "any, yes, no")] {
        let problem = only(&format!("{{\"{property}\": \"Any\"}}"));
        assert_eq!(
            (problem.field().as_str(), problem.code),
            (property, ViolationCode::InvalidValue)
        );
        assert!(problem.message.contains(allowed));
        assert!(
            parse(format!("{{\"{property}\": \" \"}}").as_bytes(), Company).is_ok(),
            "blank is left out"
        );
    }
    assert_eq!(
        told(r#"{"sort": {"field": "name", "dir": "up"}}"#),
        at("sort.dir", "invalid_value")
    );
}

#[test]
fn a_sort_is_an_object_of_known_names() {
    let sort = |body: &str, kind| parse(body.as_bytes(), kind).unwrap().sort.unwrap();
    assert_eq!(sort(r#"{"sort": {}}"#, Company), Sort::default());
    assert_eq!(
        sort(r#"{"sort": {"field": "fullName"}}"#, Person).field(),
        SortField::FullName
    );
    assert_eq!(
        told(r#"{"sort": {"field": "fullName"}}"#),
        at("sort.field", "invalid_format")
    );
    assert_eq!(told(r#"{"sort": "name"}"#), at("sort", "invalid_type"));
    // What is wrong with the field is no fault of the direction.
    assert_eq!(
        told(r#"{"companyName": "x", "sort": {"field": 7, "dir": "asc"}}"#),
        at("sort.field", "invalid_type")
    );
    assert_eq!(
        told(r#"{"sort": {"field": "relevance", "dir": "asc"}}"#),
        at("sort.dir", "conflict")
    );
}

#[test]
fn a_cursor_is_a_text_that_is_not_empty() {
    assert_eq!(told(r#"{"cursor": ""}"#), at("cursor", "invalid_format"));
    assert_eq!(
        told(r#"{"cursor": "not a cursor"}"#),
        at("cursor", "invalid_format")
    );
    assert_eq!(told(r#"{"cursor": 7}"#), at("cursor", "invalid_type"));
    assert_eq!(told(r#"{"cursor": null, "page": 2}"#), at("page", "conflict"));
}

#[test]
fn a_text_is_unicode_without_nul() {
    for body in [
        r#"{"companyName": "a\u0000b"}"#,
        r#"{"companyName": "a\ud800b"}"#,
        r#"{"companyName": "\udc00"}"#,
    ] {
        assert_eq!(told(body), at("companyName", "invalid_value"), "{body}");
    }
    assert_eq!(
        told(r#"{"jobTitles": ["a", "\u0000"]}"#),
        at("jobTitles[1]", "invalid_value")
    );
    let paired = parse(br#"{"companyName": "a\ud83d\ude00"}"#, Company).unwrap();
    assert_eq!(paired.company_name, "a😀");
}

#[test]
fn every_problem_is_told_at_once_each_once_in_one_order() {
    let long = "x".repeat(201);
    let body = format!(
        r#"{{"companyNam": 1, "page": "1", "jobTitles": [7, "ok", "{long}"], "limit": 300, "limit": 1,
            "infoUpdatedFrom": "2026-02-30", "websiteStatus": "maybe", "businessType": "!!!",
            "sort": {{"field": "size", "x": 1}}, "fields": ["nothing"]}}"#
    );
    let expected = [
        ("companyNam", "unrecognized_key"),
        ("limit", "duplicate_key"),
        ("page", "invalid_type"),
        ("jobTitles[0]", "invalid_type"),
        ("websiteStatus", "invalid_value"),
        ("sort.x", "unrecognized_key"),
        ("sort.field", "invalid_format"),
        ("businessType", "invalid_value"),
        ("jobTitles[2]", "too_long"),
        ("infoUpdatedFrom", "invalid_format"),
        ("fields[0]", "invalid_format"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(field, code)| ((*field).to_owned(), *code))
        .collect();
    assert_eq!(told(&body), expected);
}

#[test]
fn ten_thousand_unknown_names_are_counted_without_hints_for_all() {
    let names: Vec<_> = (0..10_000).map(|number| format!("\"pag{number}\": 1")).collect();
    let problems = parse(format!("{{{}}}", names.join(",")).as_bytes(), Company).unwrap_err();
    assert_eq!(problems.len(), 10_000);
    assert!(problems[0].hint.is_some());
    assert!(problems[9_999].hint.is_none());
}
