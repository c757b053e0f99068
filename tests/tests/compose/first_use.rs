//! What a newcomer tries: searches of the sample, a slip, keys, credits, pages.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::json;
use system_tests::{Containers, until};

#[test]
#[ignore = "on containers: ./dev test --compose"]
fn the_sample_is_searchable_in_both_replicas_and_everything_in_it_is_found() {
    let system = Containers::of_environment();
    let account = system.account("sample-totals");
    system.other_replica.wait_for(system.operator.position());
    for (kind, body, total) in [
        ("companies", json!({"limit": 1}), 24_069),
        ("people", json!({"limit": 1}), 120_000),
        (
            "companies",
            json!({"companyName": "siemens", "location": "Munich"}),
            2,
        ),
        (
            "companies",
            json!({"companyName": "there is none of this name"}),
            0,
        ),
    ] {
        assert_eq!(account.search(kind, &body).expect(200).total(), total, "{body}");
    }
}

#[test]
#[ignore = "on containers: ./dev test --compose"]
fn a_slip_is_told_with_all_others_and_costs_nothing() {
    let system = Containers::of_environment();
    let account = system.account("slip");
    let before = system.operator.balance(&account.id);
    let issues = account.people(&json!({"jobTitle": "CEO", "limit": 999})).issues();
    assert_eq!(issues, ["jobTitle unrecognized_key", "limit too_big"]);
    assert_eq!(system.operator.balance(&account.id), before);
}

#[test]
#[ignore = "on containers: ./dev test --compose"]
fn a_key_lives_and_dies_by_the_session() {
    let system = Containers::of_environment();
    let account = system.account("key-life");
    let search = |secret: &str| {
        let mut caller = account.clone();
        caller.key = secret.to_owned();
        caller.companies(&json!({"limit": 1}))
    };
    // Everywhere within a second, it is promised; how fast is no matter here.
    let stops = |secret: &str| {
        until("it has stopped", || search(secret).status != 200);
        let _ = search(secret).refused(401, "INVALID_API_KEY");
    };
    let created = account
        .keys(Method::POST, "", Some(json!({"name": "first"})))
        .expect(201);
    let id = created.body["key"]["id"].as_str().unwrap().to_owned();
    let secret = created.body["secret"].as_str().unwrap().to_owned();
    let _ = search(&secret).expect(200);
    let path = format!("/{id}");
    let renamed = account
        .keys(Method::PATCH, &path, Some(json!({"name": "second"})))
        .expect(200);
    assert_eq!(renamed.body["key"]["name"], "second");
    let regenerated = account
        .keys(Method::POST, &format!("{path}/regenerate"), None)
        .expect(200);
    let next = regenerated.body["secret"].as_str().unwrap().to_owned();
    let _ = search(&next).expect(200);
    stops(&secret);
    let _ = account.keys(Method::DELETE, &path, None).expect(200);
    stops(&next);
    let _ = account.companies(&json!({"limit": 1})).expect(200);
}

#[test]
#[ignore = "on containers: ./dev test --compose"]
fn each_search_costs_what_its_answer_says() {
    let system = Containers::of_environment();
    let account = system.account("credits");
    let mut balance = system.operator.balance(&account.id);
    for kind in ["people", "companies"] {
        let answer = account.search(kind, &json!({"limit": 1})).expect(200);
        balance -= answer.body["credits"]["cost"].as_i64().unwrap();
        assert_eq!(answer.body["credits"]["balance"], balance);
    }
    assert_eq!(system.operator.balance(&account.id), balance);
    assert_eq!(
        system.operator.ledger(&account.id).len(),
        3,
        "a grant and two charges"
    );
}

/// Each page is answered by the replica that the one before was not answered by.
#[test]
#[ignore = "on containers: ./dev test --compose"]
fn a_cursor_goes_on_with_the_other_replica() {
    let system = Containers::of_environment();
    let account = system.account("cursor");
    let mut body = json!({"location": "Switzerland", "limit": 100, "fields": ["id"]});
    let mut ids = BTreeSet::new();
    let mut away = ["search-1", "search-2"].into_iter().cycle();
    let total = loop {
        let stopped = away.next().unwrap();
        let _ = system.compose_well(&["stop", stopped]);
        let answer = account.companies(&body).expect(200);
        let _ = system.compose_well(&["start", stopped]);
        system.wait_healthy(stopped);
        let rows = answer.rows().len();
        for id in answer.column("id") {
            assert!(ids.insert(id.to_string()), "{id} came twice");
        }
        let cursor = answer.body["data"]["nextCursor"].clone();
        if cursor.is_null() || rows == 0 {
            break answer.total();
        }
        body["cursor"] = cursor;
    };
    assert!(total > 200, "{total}: too few for three pages");
    assert_eq!(i64::try_from(ids.len()).unwrap(), total);
}
