//! Section 3: validation.

use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, world};

fn issues(account: &Account, body: &Value) -> Vec<String> {
    account.companies(body).issues()
}

#[test]
fn every_problem_is_told_at_once() {
    let account = world().account();
    let body = json!({
        "companyNam": "x", "limit": 0, "page": "1", "websiteStatus": "maybe", "infoUpdatedFrom": "2026-02-30",
        "jobTitles": ["ok", 5, "a".repeat(201)], "fields": ["nam"], "sort": {"field": "size", "dir": "up", "x": 1},
        "location": null, "cursor": "???", "companyDomain": "not a domain",
    });
    let answer = account.companies(&body).refused(400, "VALIDATION_ERROR");
    let message = answer.body["message"].as_str().unwrap().to_owned();
    let mut found = answer.issues();
    found.sort();
    let mut expected = vec![
        "companyNam unrecognized_key",
        "limit too_small",
        "page invalid_type",
        "websiteStatus invalid_value",
        "infoUpdatedFrom invalid_format",
        "jobTitles[1] invalid_type",
        "jobTitles[2] too_long",
        "fields[0] invalid_format",
        "sort.field invalid_format",
        "sort.dir invalid_value",
        "sort.x unrecognized_key",
        "location invalid_type",
        "cursor invalid_format",
        "companyDomain invalid_format",
    ];
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(message.contains(&expected.len().to_string()), "{message}");
}

#[test]
fn a_misspelt_name_is_told_with_the_nearest_one() {
    let account = world().account();
    for (wrong, right) in [
        ("companyNam", "companyName"),
        ("jobTitle", "jobTitles"),
        ("Limit", "limit"),
    ] {
        let answer = account
            .people(&json!({wrong: "x"}))
            .refused(400, "VALIDATION_ERROR");
        let issue = &answer.body["issues"][0];
        assert_eq!(issue["code"], "unrecognized_key");
        assert!(
            issue["hint"].as_str().is_some_and(|hint| hint.contains(right)),
            "{issue}"
        );
    }
    let answer = account
        .companies(&json!({"fields": ["busnessTypes"]}))
        .refused(400, "VALIDATION_ERROR");
    assert!(
        answer.body["issues"][0]["hint"]
            .as_str()
            .unwrap()
            .contains("businessTypes")
    );
    let answer = account
        .people(&json!({"sort": {"field": "fulName"}}))
        .refused(400, "VALIDATION_ERROR");
    assert!(
        answer.body["issues"][0]["hint"]
            .as_str()
            .unwrap()
            .contains("fullName")
    );
}

/// (The answers are held against the OpenAPI document as well.)
#[test]
fn a_name_is_told_as_it_was_sent_and_in_words_without_what_controls_a_terminal() {
    let account = world().account();
    for name in [
        "",
        "\0",
        "a\0b",
        "\u{1b}[2J",
        "\u{85}",
        "\n",
        "\"",
        "\u{fffe}",
        "👩\u{200d}💻",
        " ",
    ] {
        for answer in [
            account.people(&json!({name: 1})),
            account.companies(&json!({"sort": {"field": "name", name: 1}})),
            account.keys(Method::POST, "", Some(json!({name: 1}))),
        ] {
            let answer = answer.refused(400, "VALIDATION_ERROR");
            let paths = answer.body["issues"].as_array().unwrap().iter();
            let told = paths.filter_map(|issue| issue["path"].as_array().unwrap().last());
            assert!(
                told.into_iter().any(|step| step == name),
                "{name:?}: {}",
                answer.body
            );
            let message = answer.body["message"].as_str().unwrap();
            assert!(!message.contains(char::is_control), "{message:?}");
        }
    }
}

#[test]
fn a_value_is_told_in_words_without_what_controls_a_terminal() {
    let account = world().account();
    for body in [
        json!({"fields": ["\u{1b}[2J"]}),
        json!({"sort": {"field": "a\u{7}b"}}),
    ] {
        let answer = account.people(&body).refused(400, "VALIDATION_ERROR");
        let message = answer.body["message"].as_str().unwrap();
        assert!(
            message.contains(r"\u{") && !message.contains(char::is_control),
            "{message:?}"
        );
    }
}

#[test]
fn pages_end_at_ten_thousand_records() {
    let account = world().account();
    for (page, limit) in [(10_000, 1), (40, 250), (400, 25)] {
        assert_eq!(
            account.people(&json!({"page": page, "limit": limit})).status,
            200,
            "{page} x {limit}"
        );
    }
    for (page, limit) in [(10_001, 1), (41, 250), (2_147_483_647_i64, 250), (i64::MAX, 250)] {
        let answer = account
            .people(&json!({"page": page, "limit": limit}))
            .refused(400, "VALIDATION_ERROR");
        let issue = &answer.body["issues"][0];
        assert_eq!(
            (&issue["path"], &issue["code"]),
            (&json!(["page"]), &json!("too_big"))
        );
        assert!(
            issue["hint"].as_str().is_some_and(|hint| hint.contains("cursor")),
            "{issue}"
        );
    }
    assert_eq!(issues(&account, &json!({"page": 0})), ["page too_small"]);
    assert_eq!(
        issues(&account, &json!({"page": 2, "cursor": null})),
        ["page conflict"]
    );
    assert_eq!(account.companies(&json!({"page": 1, "cursor": null})).status, 200);
}

#[test]
fn blank_filters_are_left_out() {
    let account = world().account();
    let everything = account.companies(&json!({"limit": 1})).total();
    for blank in [
        json!({"companyName": ""}),
        json!({"companyName": "  \t"}),
        json!({"jobTitles": []}),
        json!({"searchTags": [""]}),
        json!({"location": " "}),
        json!({"businessPhone": ""}),
        json!({"companyDomain": " "}),
        json!({"website": ""}),
        json!({"infoUpdatedFrom": ""}),
        json!({"fields": []}),
        json!({"sort": {}}),
        json!({"excludeKeywords": ""}),
    ] {
        let answer = account.companies(&blank).expect(200);
        // Other tests add records meanwhile, none takes any away.
        assert!(answer.total() >= everything, "{blank}");
    }
}

#[test]
fn a_filter_without_anything_to_search_for_is_never_everything() {
    let account = world().account();
    for (name, value) in [
        ("companyName", "*"),
        ("companyName", "!!!"),
        ("companyName", "\"\""),
        ("businessType", "%"),
        ("businessType", ",,"),
        ("businessType", "*,?"),
        ("descriptionKeywords", "-"),
        ("excludeKeywords", "(){}"),
        ("location", ";"),
        ("location", "-,-"),
        ("businessPhone", "+"),
        ("businessPhone", "12-3"),
        ("businessPhone", "abcdef"),
        ("companyDomain", "."),
        ("companyDomain", "https://"),
        ("website", "//"),
        ("businessEmail", "@"),
    ] {
        let found = issues(&account, &json!({name: value}));
        assert_eq!(found.len(), 1, "{name} {value}: {found:?}");
        let allowed = [format!("{name} invalid_value"), format!("{name} invalid_format")];
        assert!(allowed.contains(&found[0]), "{name} {value}: {found:?}");
    }
    let found = issues(&account, &json!({"jobTitles": ["***"], "searchTags": ["--"]}));
    assert_eq!(
        found,
        ["jobTitles[0] invalid_value", "searchTags[0] invalid_value"]
    );
}

#[test]
fn an_empty_alternative_beside_real_ones_is_skipped() {
    let account = world().account();
    let word = world().word();
    let none = account
        .companies(&json!({"businessType": format!("{word},,  ,")}))
        .expect(200);
    assert_eq!(none.total(), 0);
}

#[test]
fn sizes_are_bounded_to_the_character() {
    let account = world().account();
    let text = |length: usize| "ä".repeat(length);
    let list = |length: usize| vec!["a"; length].join(",");
    assert_eq!(
        account.companies(&json!({"companyName": text(2_000)})).status,
        200
    );
    assert_eq!(
        issues(&account, &json!({"companyName": text(2_001)})),
        ["companyName too_long"]
    );
    assert_eq!(account.companies(&json!({"businessType": list(100)})).status, 200);
    assert_eq!(
        issues(&account, &json!({"businessType": list(101)})),
        ["businessType too_big"]
    );
    assert_eq!(
        account.companies(&json!({"searchTags": vec!["a"; 100]})).status,
        200
    );
    assert_eq!(
        issues(&account, &json!({"searchTags": vec!["a"; 101]})),
        ["searchTags too_big"]
    );
    assert_eq!(account.companies(&json!({"jobTitles": [text(200)]})).status, 200);
    assert_eq!(
        issues(&account, &json!({"jobTitles": [text(201)]})),
        ["jobTitles[0] too_long"]
    );
}

#[test]
fn dates_are_real_days() {
    let account = world().account();
    for good in ["2026-01-31", "2024-02-29", "1900-01-01", "2100-12-31"] {
        assert_eq!(
            account.companies(&json!({"infoUpdatedFrom": good})).status,
            200,
            "{good}"
        );
    }
    for bad in [
        "2026-02-29",
        "2026-13-01",
        "2026-1-1",
        "26-01-01",
        "2026/01/01",
        "1899-12-31",
        "2101-01-01",
        "2026-01-01T00:00:00Z",
        "yesterday",
        "２０２６-01-01",
    ] {
        assert_eq!(
            issues(&account, &json!({"infoUpdatedTo": bad})),
            ["infoUpdatedTo invalid_format"],
            "{bad}"
        );
    }
    assert_eq!(
        issues(&account, &json!({"infoUpdatedFrom": 20_260_101})),
        ["infoUpdatedFrom invalid_type"]
    );
    let wrong_way = json!({"infoUpdatedFrom": "2026-02-02", "infoUpdatedTo": "2026-02-01"});
    assert_eq!(issues(&account, &wrong_way), ["infoUpdatedFrom conflict"]);
    let one_day = json!({"infoUpdatedFrom": "2026-02-02", "infoUpdatedTo": "2026-02-02"});
    assert_eq!(account.companies(&one_day).status, 200);
}

#[test]
fn values_outside_a_list_are_told_with_the_allowed_ones() {
    let account = world().account();
    for (name, allowed) in [
        ("websiteStatus", ["any", "has", "no"]),
        ("newBusiness", ["any", "yes", "no"]),
    ] {
        for wrong in ["", "HAS", "true"] {
            if wrong.is_empty() {
                continue;
            }
            let answer = account
                .companies(&json!({name: wrong}))
                .refused(400, "VALIDATION_ERROR");
            let issue = answer.body["issues"][0].to_string();
            assert!(
                issue.contains("invalid_value") && allowed.iter().all(|value| issue.contains(value)),
                "{issue}"
            );
        }
        for right in allowed {
            assert_eq!(account.companies(&json!({name: right})).status, 200);
        }
    }
}

#[test]
fn sorts_and_fields_are_those_of_the_kind() {
    let account = world().account();
    for name in [
        "relevance",
        "name",
        "infoUpdatedAt",
        "foundedDate",
        "employeeCount",
    ] {
        assert_eq!(
            account.companies(&json!({"sort": {"field": name}})).status,
            200,
            "{name}"
        );
    }
    for name in [
        "relevance",
        "fullName",
        "jobTitle",
        "companyName",
        "infoUpdatedAt",
    ] {
        assert_eq!(
            account.people(&json!({"sort": {"field": name}})).status,
            200,
            "{name}"
        );
    }
    assert_eq!(
        account.people(&json!({"sort": {"field": "name"}})).issues(),
        ["sort.field invalid_format"]
    );
    assert_eq!(
        account
            .companies(&json!({"sort": {"field": "fullName"}}))
            .issues(),
        ["sort.field invalid_format"]
    );
    assert_eq!(
        account.companies(&json!({"fields": ["email"]})).issues(),
        ["fields[0] invalid_format"]
    );
    assert_eq!(
        account.people(&json!({"fields": ["company.tags"]})).issues(),
        ["fields[0] invalid_format"]
    );
    let ascending =
        account.companies(&json!({"companyName": "a", "sort": {"field": "relevance", "dir": "asc"}}));
    assert_eq!(ascending.issues(), ["sort.dir conflict"]);
}

#[test]
fn no_character_has_a_meaning_but_comma_and_quotes() {
    let account = world().account();
    for value in [
        "AT&T (UK)",
        "C++",
        "16\" M3",
        "-x",
        "foo:bar",
        "https://a.b",
        "a OR b",
        "NOT a",
        "a*",
        "a~2",
        "a^3",
        "[a TO b]",
        "{a}",
        "a\\b",
        "a/b",
        "+a -b && c || d ! (e) {f} [g] ^h \"i\" ~j *k ?l :m \\n /o",
        "'; DROP TABLE companies; --",
        "<script>",
        "${x}",
        "a\"b\"c\"",
    ] {
        for name in [
            "companyName",
            "businessType",
            "descriptionKeywords",
            "excludeKeywords",
            "location",
        ] {
            let answer = account.companies(&json!({name: value, "limit": 1}));
            assert_eq!(answer.status, 200, "{name} {value}: {:#}", answer.body);
        }
        assert_eq!(
            account.people(&json!({"jobTitles": [value], "limit": 1})).status,
            200,
            "{value}"
        );
    }
}
