//! Keys that are worth nothing, from one client: they cost it, and nobody else.

use devstack::{Options, Service};
use reqwest::Method;
use serde_json::json;
use system_tests::{Account, Answer, World};

/// A client behind the proxy that this test is, and another one.
const FLOODER: &str = "203.0.113.7";
const NEIGHBOUR: &str = "203.0.113.8";

fn search_from(account: &Account, key: &str, forwarded_for: &str) -> Answer {
    let request = account
        .request(Method::POST, "/companies/search")
        .header("X-API-Key", key)
        .header("X-Forwarded-For", forwarded_for);
    Answer::of(request.json(&json!({"limit": 1})))
}

/// The key with another end.
fn mistyped(mut key: String) -> String {
    let end = if key.pop() == Some('0') { '1' } else { '0' };
    key.push(end);
    key
}

/// A key of the right form that nobody has.
fn unknown(number: usize) -> String {
    let body = format!("dsk_{number:032}");
    let checksum = proto::api_key::checksum(&body);
    body + &checksum
}

#[test]
fn unknown_keys_cost_their_client_alone() {
    let options = Options::new()
        .setting("DS_GATEWAY__UNKNOWN_KEYS_PER_MINUTE", "1")
        .setting("DS_GATEWAY__TRUSTED_PROXIES", "127.0.0.0/8");
    let world = World::start(options);
    let (known, new, another) = (world.account(), world.account(), world.account());
    let look_ups = || {
        world
            .metric(Service::Keys, "keys_verifications_total")
            .unwrap_or(0.0)
    };
    let _ = search_from(&known, &known.key, FLOODER).expect(200);

    // Keys of the wrong form are refused without a look-up.
    let before = look_ups();
    for number in 0..50 {
        let _ = search_from(&known, &mistyped(unknown(number)), FLOODER).refused(401, "INVALID_API_KEY");
    }
    assert!(look_ups() <= before, "a mistyped key was looked up");

    // Of unknown ones one is looked up. (A minute later, one more.)
    let answers: Vec<Answer> = (0..50)
        .map(|number| search_from(&known, &unknown(number), FLOODER))
        .collect();
    let _ = search_from(&known, &unknown(0), FLOODER).refused(401, "INVALID_API_KEY");
    let refused = answers.iter().filter(|answer| answer.status == 401).count();
    assert!((1..25).contains(&refused), "{refused} were looked up");
    for answer in answers.into_iter().filter(|answer| answer.status != 401) {
        let answer = answer.refused(429, "RATE_LIMIT_EXCEEDED");
        assert!((1..=60).contains(&answer.number("retry-after")));
        assert!(answer.header("x-ratelimit-limit").is_none(), "{answer:?}");
    }

    // Whoever is known goes on there, who is new is not told that the key is bad, and is let in from anywhere else.
    let _ = search_from(&known, &known.key, FLOODER).expect(200);
    let limited = search_from(&new, &new.key, FLOODER);
    assert!([200, 429].contains(&limited.status), "{limited:?}");
    let claims_to_be_the_flooder = format!("{FLOODER}, {NEIGHBOUR}");
    let _ = search_from(&new, &new.key, &claims_to_be_the_flooder).expect(200);
    let _ = search_from(&new, &new.key, FLOODER).expect(200);

    // Good keys use up nothing.
    for account in [&known, &new, &another] {
        let _ = search_from(account, &account.key, NEIGHBOUR).expect(200);
    }
    let _ = search_from(&another, &unknown(1_000), NEIGHBOUR).refused(401, "INVALID_API_KEY");
}
