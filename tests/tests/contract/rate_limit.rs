//! Section 2, Rate limit.

use reqwest::Method;
use serde_json::json;
use system_tests::{Account, Answer, world};

fn account_with_rate(requests: i64, seconds: i64) -> Account {
    let account = world().account();
    world().operator.set_rate(&account.id, requests, seconds);
    account
}

fn assert_headers(answer: &Answer, limit: i64) {
    assert_eq!(answer.number("x-ratelimit-limit"), limit);
    assert!((0..=limit).contains(&answer.number("x-ratelimit-remaining")));
    assert!(answer.number("x-ratelimit-reset") >= 0);
    assert!(
        answer
            .header("ratelimit-policy")
            .is_some_and(|policy| policy.contains(&format!("q={limit}")))
    );
    assert!(
        answer
            .header("ratelimit")
            .is_some_and(|state| state.contains("r=") && state.contains("t="))
    );
}

#[test]
fn an_account_without_a_rate_of_its_own_has_the_default() {
    let account = world().account();
    let rate = proto::keys::v1::SetRateRequest {
        account_id: account.id.clone(),
        rate: None,
    };
    world().operator.set_rate_to(rate);
    let answer = account.companies(&json!({"limit": 1})).expect(200);
    assert_headers(&answer, 120);
    assert_eq!(answer.number("x-ratelimit-remaining"), 119);
    assert_eq!(answer.number("x-ratelimit-reset"), 1);
    assert!(answer.header("ratelimit-policy").unwrap().contains("w=60"));
}

#[test]
fn beyond_the_rate_it_is_429_until_the_time_told() {
    let account = account_with_rate(3, 86_400);
    for remaining in [2, 1, 0] {
        let answer = account.companies(&json!({"limit": 1})).expect(200);
        assert_headers(&answer, 3);
        assert_eq!(answer.number("x-ratelimit-remaining"), remaining);
    }
    let answer = account
        .companies(&json!({"limit": 1}))
        .refused(429, "RATE_LIMIT_EXCEEDED");
    assert_headers(&answer, 3);
    assert_eq!(answer.number("x-ratelimit-remaining"), 0);
    let (retry, reset) = (answer.number("retry-after"), answer.number("x-ratelimit-reset"));
    assert!((28_700..=28_800).contains(&retry), "{retry}");
    assert!((86_300..=86_400).contains(&reset), "{reset}");
    assert_eq!(world().operator.balance(&account.id), 100_000 - 3);
}

#[test]
fn waiting_as_long_as_told_lets_the_next_request_pass() {
    let account = account_with_rate(1, 1);
    let mut answer = account.companies(&json!({"limit": 1}));
    while answer.status == 200 {
        answer = account.companies(&json!({"limit": 1}));
    }
    let wait = answer.refused(429, "RATE_LIMIT_EXCEEDED").number("retry-after");
    assert_eq!(wait, 1);
    // What is tested is that this wait is enough, so it has to be waited.
    let (_alive, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv_timeout(std::time::Duration::from_secs(1));
    let _ = account.companies(&json!({"limit": 1})).expect(200);
}

#[test]
fn every_authenticated_request_counts_and_tells_whatever_its_outcome() {
    let account = account_with_rate(5, 86_400);
    let key = account.key.clone();
    let post = |media: &str, body: &str| {
        let request = account
            .request(Method::POST, "/people/search")
            .header("X-API-Key", &key);
        Answer::of(request.header("Content-Type", media).body(body.to_owned()))
    };
    let answers = [
        post("application/json", "{}").expect(200),
        post("application/json", "{").refused(400, "VALIDATION_ERROR"),
        post("text/plain", "{}").refused(415, "UNSUPPORTED_MEDIA_TYPE"),
        post("application/json", &" ".repeat(1 << 21)).refused(413, "PAYLOAD_TOO_LARGE"),
        account
            .companies(&json!({"limit": 0}))
            .refused(400, "VALIDATION_ERROR"),
    ];
    for (answer, remaining) in answers.iter().zip([4, 3, 2, 1, 0]) {
        assert_headers(answer, 5);
        assert_eq!(answer.number("x-ratelimit-remaining"), remaining);
    }
    // The limit comes before the body: a bad one gets 429 too.
    let _ = post("application/json", "{").refused(429, "RATE_LIMIT_EXCEEDED");
}

#[test]
fn the_keys_of_an_account_share_its_rate() {
    let account = account_with_rate(2, 86_400);
    let second = account.keys(Method::POST, "", None).expect(201).body["secret"]
        .as_str()
        .unwrap()
        .to_owned();
    let search = |key: &str| {
        let request = account
            .request(Method::POST, "/companies/search")
            .header("X-API-Key", key);
        Answer::of(request.json(&json!({"limit": 1})))
    };
    assert_eq!(
        search(&account.key).expect(200).number("x-ratelimit-remaining"),
        1
    );
    assert_eq!(search(&second).expect(200).number("x-ratelimit-remaining"), 0);
    let _ = search(&account.key).refused(429, "RATE_LIMIT_EXCEEDED");
    let _ = search(&second).refused(429, "RATE_LIMIT_EXCEEDED");
}

#[test]
fn without_a_credential_there_are_no_rate_headers() {
    let account = world().account();
    let answer = Answer::of(account.request(Method::POST, "/people/search").json(&json!({})));
    assert!(
        answer
            .refused(401, "INVALID_API_KEY")
            .header("x-ratelimit-limit")
            .is_none()
    );
}

#[test]
fn many_at_once_pass_exactly_the_limit() {
    let account = account_with_rate(20, 86_400);
    let passed = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    (0..10)
                        .filter(|_| account.companies(&json!({"limit": 1})).status == 200)
                        .count()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum::<usize>()
    });
    assert_eq!(passed, 20);
}
