//! Section 2, Credits.

use devstack::Options;
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Answer, World, world};
use tokio::task::JoinSet;

fn poor(credits: i64) -> system_tests::Account {
    let account = world().poor_account();
    if credits > 0 {
        world().operator.grant(&account.id, credits);
    }
    account
}

#[test]
fn a_successful_search_costs_one_credit_and_tells_the_balance_after_it() {
    let account = poor(10);
    for (search, balance) in [("people", 9), ("companies", 8)] {
        let answer = account.search(search, &json!({"limit": 1})).expect(200);
        assert_eq!(answer.body["success"], true);
        assert_eq!(answer.body["credits"], json!({"cost": 1, "balance": balance}));
    }
    assert_eq!(world().operator.balance(&account.id), 8);
}

#[test]
fn an_empty_result_is_charged() {
    let account = poor(1);
    let answer = account
        .companies(&json!({"companyName": world().word()}))
        .expect(200);
    assert_eq!(answer.total(), 0);
    assert_eq!(answer.body["credits"]["balance"], 0);
}

#[test]
fn whatever_is_not_200_is_not_charged() {
    let account = poor(5);
    let _ = account
        .companies(&json!({"limit": 0}))
        .refused(400, "VALIDATION_ERROR");
    let _ = account
        .companies(&json!({"companyNam": "x"}))
        .refused(400, "VALIDATION_ERROR");
    let _ = account
        .companies(&json!({"cursor": "A".repeat(80)}))
        .refused(400, "VALIDATION_ERROR");
    let bad = account
        .request(Method::POST, "/people/search")
        .header("X-API-Key", &account.key)
        .body("x");
    let _ = Answer::of(bad).refused(415, "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(world().operator.balance(&account.id), 5);
    assert_eq!(world().operator.ledger(&account.id).len(), 1);
}

#[test]
fn without_credits_it_is_402_and_no_rows_are_returned() {
    let account = poor(0);
    let answer = account.people(&json!({})).refused(402, "INSUFFICIENT_CREDITS");
    assert!(answer.body.get("data").is_none());
    let account = poor(2);
    let _ = account.people(&json!({"limit": 1})).expect(200);
    let _ = account.companies(&json!({"limit": 1})).expect(200);
    let _ = account
        .companies(&json!({"limit": 1}))
        .refused(402, "INSUFFICIENT_CREDITS");
    let _ = account
        .people(&json!({"limit": 1}))
        .refused(402, "INSUFFICIENT_CREDITS");
    world().operator.grant(&account.id, 1);
    let _ = account.people(&json!({"limit": 1})).expect(200);
}

#[test]
fn a_bad_body_is_told_before_the_credits() {
    let account = poor(0);
    let _ = account
        .people(&json!({"limit": 0}))
        .refused(400, "VALIDATION_ERROR");
}

#[test]
fn many_at_once_never_take_the_balance_below_zero() {
    let account = poor(10);
    let statuses = std::thread::scope(|scope| {
        let search = || account.companies(&json!({"limit": 1})).status;
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(move || (0..5).map(|_| search()).collect::<Vec<_>>()))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 10);
    assert_eq!(statuses.iter().filter(|status| **status == 402).count(), 30);
    assert_eq!(world().operator.balance(&account.id), 0);
    let ledger = world().operator.ledger(&account.id);
    assert_eq!(ledger.iter().map(|entry| entry.amount).sum::<i64>(), 0);
    assert_eq!(ledger.len(), 11);
}

#[test]
fn a_thousand_at_once_on_a_balance_of_a_hundred_are_a_hundred() {
    // So many take their time on a busy machine, and time is not what this is about.
    let patient = [
        ("DS_GATEWAY__REQUEST_BUDGET", "5m"),
        ("DS_SEARCH__SEARCH_TIMEOUT", "5m"),
        ("DS_SEARCH__GRPC_TIMEOUT", "5m"),
        ("DS_KEYS__GRPC_TIMEOUT", "5m"),
        ("DS_BILLING__GRPC_TIMEOUT", "5m"),
        ("DS_BILLING__CHARGE_PATIENCE", "1m"),
        ("DS_BILLING__DATABASE_ACQUIRE_TIMEOUT", "5m"),
    ];
    let options = patient.iter().fold(Options::new(), |options, (name, value)| {
        options.setting(name, value)
    });
    let world = World::start(options);
    let account = world.poor_account();
    world.operator.grant(&account.id, 100);
    let address = format!("{}/companies/search", account.base);
    let answers = world.operator.block_on(async {
        let client = reqwest::Client::new();
        let searches: JoinSet<_> = (0..1_000)
            .map(|_| {
                let search = client
                    .post(&address)
                    .header("X-API-Key", &account.key)
                    .json(&json!({"limit": 1}));
                async move {
                    let answer = search.send().await.unwrap();
                    (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
                }
            })
            .collect();
        searches.join_all().await
    });
    let with_status = |wanted: u16| answers.iter().filter(move |(status, _)| *status == wanted);
    let mut balances: Vec<i64> = with_status(200)
        .map(|(_, body)| body["credits"]["balance"].as_i64().unwrap())
        .collect();
    balances.sort_unstable();
    assert_eq!(
        balances,
        (0..100).collect::<Vec<_>>(),
        "each is told a balance of its own"
    );
    assert_eq!(with_status(402).count(), 900);
    assert!(
        with_status(402)
            .all(|(_, body)| body["code"] == "INSUFFICIENT_CREDITS" && body.get("data").is_none())
    );
    assert_eq!(world.operator.balance(&account.id), 0);
    let amounts: Vec<i64> = world
        .operator
        .ledger(&account.id)
        .iter()
        .map(|entry| entry.amount)
        .collect();
    assert_eq!(amounts, [vec![-1; 100], vec![100]].concat());
}

#[test]
fn a_repeat_with_the_same_idempotency_key_is_answered_and_not_charged_again() {
    let account = poor(1);
    let body = json!({"limit": 2, "sort": {"field": "name"}});
    let first = account
        .search_with("companies", &body, &[("Idempotency-Key", "one")])
        .expect(200);
    assert_eq!(first.header("idempotency-replayed"), None);
    assert_eq!(first.body["credits"], json!({"cost": 1, "balance": 0}));
    // At balance 0 too; and order and blanks of the JSON make no other body.
    let text = "{ \"sort\" : {\"field\":\"name\"},\n\"limit\": 2.0 }";
    let again = account
        .request(Method::POST, "/companies/search")
        .header("X-API-Key", &account.key)
        .header("Idempotency-Key", "one")
        .header("Content-Type", "application/json")
        .body(text);
    let again = Answer::of(again).expect(200);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.body["credits"], json!({"cost": 1, "balance": 0}));
    assert_eq!(again.body["data"]["limit"], 2);
    assert_eq!(world().operator.ledger(&account.id).len(), 2);
}

#[test]
fn an_idempotency_key_is_bound_to_its_body() {
    let account = poor(5);
    let _ = account
        .search_with("people", &json!({"limit": 1}), &[("Idempotency-Key", "k")])
        .expect(200);
    let other = account.search_with("people", &json!({"limit": 2}), &[("Idempotency-Key", "k")]);
    let _ = other.refused(422, "IDEMPOTENCY_KEY_REUSED");
    // Another operation and another account have keys of their own.
    let _ = account
        .search_with("companies", &json!({"limit": 2}), &[("Idempotency-Key", "k")])
        .expect(200);
    let neighbour = poor(1);
    let _ = neighbour
        .search_with("people", &json!({"limit": 9}), &[("Idempotency-Key", "k")])
        .expect(200);
    assert_eq!(world().operator.balance(&account.id), 3);
}

#[test]
fn only_a_charge_binds_an_idempotency_key() {
    let account = poor(0);
    let key = [("Idempotency-Key", "later")];
    let _ = account
        .search_with("people", &json!({"limit": 0}), &key)
        .refused(400, "VALIDATION_ERROR");
    let _ = account
        .search_with("people", &json!({"limit": 1}), &key)
        .refused(402, "INSUFFICIENT_CREDITS");
    world().operator.grant(&account.id, 1);
    let answer = account
        .search_with("people", &json!({"limit": 3}), &key)
        .expect(200);
    assert_eq!(answer.header("idempotency-replayed"), None);
}

#[test]
fn two_at_once_with_one_key_are_both_answered_and_charged_once() {
    let account = poor(5);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let answer = account
                    .search_with("companies", &json!({"limit": 1}), &[("Idempotency-Key", "both")])
                    .expect(200);
                assert_eq!(answer.body["credits"]["cost"], 1);
            });
        }
    });
    assert_eq!(world().operator.balance(&account.id), 4);
}

#[test]
fn an_ill_formed_idempotency_key_is_400() {
    let account = poor(5);
    let too_long = "k".repeat(256);
    for key in ["", "ä", "a\tb", too_long.as_str()] {
        let answer = account.search_with("companies", &json!({"limit": 1}), &[("Idempotency-Key", key)]);
        let _ = answer.refused(400, "VALIDATION_ERROR");
    }
    let longest = "k".repeat(255);
    let _ = account
        .search_with(
            "companies",
            &json!({"limit": 1}),
            &[("Idempotency-Key", &longest)],
        )
        .expect(200);
    assert_eq!(world().operator.balance(&account.id), 4);
}
