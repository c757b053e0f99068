//! `GET /credits`: an extension of the contract. Balance and ledger, by an API key or a session.

use std::collections::BTreeSet;

use reqwest::Method;
use reqwest::blocking::RequestBuilder;
use serde_json::{Value, json};
use system_tests::{Account, Answer, world};

fn get(account: &Account, query: &str) -> RequestBuilder {
    account.request(Method::GET, &format!("/credits{query}"))
}

fn answer(request: RequestBuilder) -> Answer {
    Answer::of(request)
}

#[test]
fn the_balance_is_told_with_what_has_moved_it() {
    let account = world().poor_account();
    let nothing = account.get("/credits").expect(200).body["data"].clone();
    assert_eq!(nothing, json!({"balance": 0, "entries": [], "nextCursor": null}));

    world().operator.grant(&account.id, 10);
    let _ = account.people(&json!({"limit": 1})).expect(200);
    let _ = account.companies(&json!({"limit": 1})).expect(200);
    let data = account.get("/credits").expect(200).body["data"].clone();
    assert_eq!(data["balance"], 8);
    let told: Vec<Value> = data["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            assert!(
                entry["id"].is_i64() && entry["createdAt"].as_str().unwrap().ends_with('Z'),
                "{entry}"
            );
            json!([
                entry["type"],
                entry["operation"],
                entry["amount"],
                entry["balance"],
                entry["corrects"]
            ])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["charge", "searchCompanies", -1, 8, null]),
            json!(["charge", "searchPeople", -1, 9, null]),
            json!(["grant", null, 10, 10, null]),
        ]
    );
    assert_eq!(data["nextCursor"], Value::Null);
}

#[test]
fn pages_lose_no_entry_while_others_come() {
    let account = world().poor_account();
    for amount in 1..=5 {
        world().operator.grant(&account.id, amount);
    }
    let (mut amounts, mut cursor) = (Vec::new(), String::new());
    let mut others = 100..;
    loop {
        let page = account.get(&format!("/credits?limit=2{cursor}")).expect(200).body["data"].clone();
        let entries = page["entries"].as_array().unwrap();
        assert!(entries.len() <= 2);
        amounts.extend(entries.iter().map(|entry| entry["amount"].as_i64().unwrap()));
        world().operator.grant(&account.id, others.next().unwrap());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(amounts, [5, 4, 3, 2, 1]);
}

#[test]
fn a_key_or_a_session_is_shown() {
    let account = world().account();
    for request in [
        get(&account, "").header("X-API-Key", &account.key),
        get(&account, "").bearer_auth(&account.key),
        get(&account, "").bearer_auth(&account.jwt),
    ] {
        assert_eq!(answer(request).expect(200).body["data"]["balance"], 100_000);
    }
    for (request, code) in [
        (get(&account, ""), "INVALID_API_KEY"),
        (
            get(&account, "").header("X-API-Key", "dsk_nothing"),
            "INVALID_API_KEY",
        ),
        (get(&account, "").bearer_auth("dsk_nothing"), "INVALID_API_KEY"),
        (
            get(&account, "").header("X-API-Key", &account.jwt),
            "INVALID_API_KEY",
        ),
        // Both, and different: nobody knows which is meant.
        (
            get(&account, "")
                .header("X-API-Key", &account.key)
                .bearer_auth(&account.jwt),
            "INVALID_API_KEY",
        ),
        (get(&account, "").bearer_auth("nothing"), "INVALID_TOKEN"),
        (
            get(&account, "").header("Authorization", "Basic eDp5"),
            "INVALID_TOKEN",
        ),
    ] {
        let refused = answer(request).refused(401, code);
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        assert!(refused.header("x-ratelimit-limit").is_none());
    }
    let other = world().poor_account();
    assert_eq!(other.get("/credits").expect(200).body["data"]["balance"], 0);
}

#[test]
fn nothing_that_operators_have_named_is_told() {
    let account = world().account();
    let entry = account.get("/credits").expect(200).body["data"]["entries"][0].clone();
    let names: BTreeSet<_> = entry.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "id",
        "type",
        "operation",
        "amount",
        "balance",
        "corrects",
        "createdAt",
    ];
    assert_eq!(names, BTreeSet::from(expected));
}

#[test]
fn every_problem_of_the_query_string_is_told_at_once() {
    let account = world().account();
    for (query, issues) in [
        ("?limit=0", vec!["limit too_small"]),
        ("?limit=101", vec!["limit too_big"]),
        ("?limit=x", vec!["limit invalid_type"]),
        ("?limit=1&limit=2", vec!["limit duplicate_key"]),
        ("?cursor=x", vec!["cursor invalid_format"]),
        ("?cursor=007", vec!["cursor invalid_format"]),
        ("?cursor=-1", vec!["cursor invalid_format"]),
        ("?limt=1", vec!["limt unrecognized_key"]),
        (
            "?Limit=1&cursor=!&limit=9999",
            vec!["Limit unrecognized_key", "limit too_big", "cursor invalid_format"],
        ),
    ] {
        assert_eq!(
            account.get(&format!("/credits{query}")).issues(),
            issues,
            "{query}"
        );
    }
    // What is blank is left out.
    let _ = account.get("/credits?limit=&cursor=").expect(200);
}

#[test]
fn it_counts_against_the_accounts_one_allowance() {
    let account = world().account();
    world().operator.set_rate(&account.id, 3, 60);
    let first = account.get("/credits").expect(200);
    assert_eq!(
        (
            first.number("x-ratelimit-limit"),
            first.number("x-ratelimit-remaining")
        ),
        (3, 2)
    );
    let second = account.get("/credits?limit=x");
    assert_eq!(second.number("x-ratelimit-remaining"), 1);
    let _ = account.people(&json!({"limit": 1})).expect(200);
    let _ = account.get("/credits").refused(429, "RATE_LIMIT_EXCEEDED");
    // With a session the default rate counts; its headers say so.
    let by_session = answer(get(&account, "").bearer_auth(&account.jwt));
    assert_eq!(by_session.number("x-ratelimit-limit"), 120);
}
