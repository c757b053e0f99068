//! Counting: an extension of the contract. The `total` of the search with the same body, free of charge.

use proto::search::v1::PersonRecord;
use proto::search::v1::import_record::Change;
use serde_json::{Value, json};
use system_tests::{Account, company, person, world};

fn count(account: &Account, kind: &str, body: &Value) -> i64 {
    let answer = account.post(&format!("/{kind}/count"), body).expect(200);
    let data = answer.body["data"].as_object().unwrap();
    assert_eq!(data.len(), 1, "{data:?}");
    answer.total()
}

#[test]
fn a_count_is_the_total_of_the_search_with_the_same_body() {
    let account = world().account();
    let word = world().word();
    let names: Vec<_> = (0..7).map(|number| format!("{word} {number}")).collect();
    let companies = names.iter().map(|name| Change::Company(company(name, name)));
    world().operator.import(companies);
    let people = names.iter().map(|name| {
        Change::Person(PersonRecord {
            job_title: Some(format!("Captain {word}")),
            company_external_id: Some(names[0].clone()),
            ..person(name, name)
        })
    });
    world().operator.import(people);
    for (kind, body, expected) in [
        ("companies", json!({"companyName": word}), 7),
        ("companies", json!({"jobTitles": [format!("captain {word}")]}), 1),
        ("companies", json!({"companyName": format!("{word} 3")}), 1),
        (
            "companies",
            json!({"companyName": word, "excludeKeywords": "3, 4"}),
            5,
        ),
        ("companies", json!({"companyName": format!("{word} none")}), 0),
        ("people", json!({"companyName": format!("\"{word} 0\"")}), 7),
        ("people", json!({"jobTitles": [word]}), 7),
        // Page, order and fields change nothing.
        (
            "companies",
            json!({"companyName": word, "page": 9, "limit": 2}),
            7,
        ),
        (
            "companies",
            json!({"companyName": word, "cursor": null, "fields": ["id"]}),
            7,
        ),
        (
            "companies",
            json!({"companyName": word, "sort": {"field": "name"}}),
            7,
        ),
    ] {
        assert_eq!(count(&account, kind, &body), expected, "{kind} {body}");
        assert_eq!(account.search(kind, &body).total(), expected, "{kind} {body}");
    }
}

#[test]
fn a_cursor_of_the_same_search_counts_all_of_it() {
    let account = world().account();
    let word = world().word();
    let names: Vec<_> = (0..3).map(|number| format!("{word} {number}")).collect();
    world()
        .operator
        .import(names.iter().map(|name| Change::Company(company(name, name))));
    let body = json!({"companyName": word, "cursor": null, "limit": 2});
    let cursor = account.companies(&body).body["data"]["nextCursor"].clone();
    assert_eq!(
        count(
            &account,
            "companies",
            &json!({"companyName": word, "cursor": cursor})
        ),
        3
    );
    let another = json!({"companyName": "another", "cursor": cursor});
    let refused = account.post("/companies/count", &another);
    assert_eq!(refused.issues(), ["cursor invalid_format"]);
}

#[test]
fn a_count_is_free_and_needs_no_credits() {
    let account = world().poor_account();
    for kind in ["people", "companies"] {
        let answer = account.post(&format!("/{kind}/count"), &json!({})).expect(200);
        assert!(answer.body.get("credits").is_none());
    }
    assert!(world().operator.ledger(&account.id).is_empty());
}

#[test]
fn a_count_counts_against_the_rate_and_tells_of_it() {
    let account = world().account();
    world().operator.set_rate(&account.id, 2, 60);
    let first = account.post("/people/count", &json!({})).expect(200);
    assert_eq!(first.number("x-ratelimit-limit"), 2);
    assert_eq!(first.number("x-ratelimit-remaining"), 1);
    // One that is refused counts too.
    let second = account.post("/companies/count", &json!({"limit": 0}));
    assert_eq!(second.number("x-ratelimit-remaining"), 0);
    let third = account.post("/people/count", &json!({}));
    assert!(third.number("retry-after") >= 1);
    let _ = third.refused(429, "RATE_LIMIT_EXCEEDED");
}

#[test]
fn a_count_is_refused_as_the_search_would_be() {
    let account = world().account();
    for kind in ["people", "companies"] {
        for body in [
            json!({"companyNam": "x", "limit": 251, "jobTitles": ["*"]}),
            json!({"page": 2, "cursor": null}),
            json!({"infoUpdatedFrom": "2026-02-30"}),
            json!({"sort": {"field": "nothing"}}),
        ] {
            let expected = account.search(kind, &body).issues();
            assert_eq!(
                account.post(&format!("/{kind}/count"), &body).issues(),
                expected,
                "{body}"
            );
        }
        let path = format!("/{kind}/count");
        let stranger = account.request(reqwest::Method::POST, &path).json(&json!({}));
        let answer = system_tests::Answer::of(stranger);
        let _ = answer.refused(401, "INVALID_API_KEY");
        let by_session = account
            .request(reqwest::Method::POST, &path)
            .bearer_auth(&account.jwt);
        let answer = system_tests::Answer::of(by_session.json(&json!({})));
        let _ = answer.refused(401, "INVALID_API_KEY");
        let wrong_method = account.get(&path);
        assert_eq!(wrong_method.header("allow"), Some("POST"));
        let _ = wrong_method.refused(405, "METHOD_NOT_ALLOWED");
    }
}

#[test]
fn a_locked_address_cant_be_found_out_by_counting() {
    let account = world().account();
    let word = world().word();
    let address = format!("{word}@mail.example");
    let record = PersonRecord {
        email: Some(address.clone()),
        ..person(&word, &word)
    };
    world().operator.import([Change::Person(record)]);
    let body = json!({"businessEmail": address});
    assert_eq!(count(&account, "people", &body), 0);
    let found = account.people(&json!({"sort": {"field": "fullName"}, "limit": 250}));
    let row = found.rows().iter().find(|row| row["fullName"] == word.as_str());
    let id = row.expect("the person is found")["id"]
        .as_str()
        .unwrap()
        .to_owned();
    world().operator.reveal(&account.id, &id);
    assert_eq!(count(&account, "people", &body), 1);
    assert_eq!(count(&world().account(), "people", &body), 0);
}
