//! Section 2, Credentials; section 7, JWT.

use std::time::SystemTime;

use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, Answer, sign, world};

fn search(account: &Account, headers: &[(&str, &str)]) -> Answer {
    let mut request = account
        .request(Method::POST, "/companies/search")
        .json(&json!({"limit": 1}));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::of(request)
}

#[test]
fn a_key_is_taken_from_either_header() {
    let account = world().account();
    let key = account.key.as_str();
    for value in [
        format!("Bearer {key}"),
        format!("bearer {key}"),
        format!("BEARER   {key}  "),
    ] {
        let _ = search(&account, &[("Authorization", &value)]).expect(200);
    }
    let _ = search(&account, &[("X-API-Key", key)]).expect(200);
    let _ = search(&account, &[("X-API-Key", &format!("  {key} "))]).expect(200);
    let both = format!("Bearer {key}");
    let _ = search(&account, &[("X-API-Key", key), ("Authorization", &both)]).expect(200);
}

#[test]
fn whatever_is_no_key_is_401_with_one_message() {
    let (account, other) = (world().account(), world().account());
    let revoked = account.keys(Method::POST, "", None).expect(201);
    let revoked_secret = revoked.body["secret"].as_str().unwrap().to_owned();
    let _ = account
        .keys(
            Method::DELETE,
            &format!("/{}", revoked.body["key"]["id"].as_str().unwrap()),
            None,
        )
        .expect(200);
    let key = account.key.clone();
    let mistyped = format!(
        "{}{}",
        &key[..key.len() - 1],
        if key.ends_with('a') { 'b' } else { 'a' }
    );
    let jwt = format!("Bearer {}", account.jwt);
    let others = format!("Bearer {}", other.key);
    let basic = format!("Basic {key}");
    let cases: Vec<Vec<(&str, &str)>> = vec![
        vec![],
        vec![("X-API-Key", "")],
        vec![("Authorization", "")],
        vec![("Authorization", "Bearer")],
        vec![("Authorization", "Bearer ")],
        vec![("Authorization", &basic)],
        vec![("Authorization", &key)],
        vec![("Authorization", &jwt)],
        vec![("X-API-Key", &account.jwt)],
        vec![("X-API-Key", &mistyped)],
        vec![("X-API-Key", &revoked_secret)],
        vec![("X-API-Key", "dsk_")],
        vec![("X-API-Key", &key), ("Authorization", &others)],
        vec![("X-API-Key", &key), ("X-API-Key", &other.key)],
    ];
    let mut messages = std::collections::HashSet::new();
    for case in cases {
        let answer = search(&account, &case).refused(401, "INVALID_API_KEY");
        assert!(
            answer
                .header("www-authenticate")
                .is_some_and(|value| value.starts_with("Bearer")),
            "{case:?}"
        );
        messages.insert(answer.body["message"].as_str().unwrap().to_owned());
    }
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[test]
fn an_unknown_key_with_a_good_checksum_is_401() {
    let account = world().account();
    // Of the right form, but never handed out: the key of an account of another stack would look like this.
    let unknown = "dsk_".to_owned() + &"A".repeat(32);
    let checksum = proto::api_key::checksum(&unknown);
    let _ =
        search(&account, &[("X-API-Key", &format!("{unknown}{checksum}"))]).refused(401, "INVALID_API_KEY");
}

#[test]
fn on_keys_only_a_session_counts() {
    let account = world().account();
    let list = |headers: &[(&str, &str)]| {
        let mut request = account.request(Method::GET, "/keys");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(request)
    };
    let key = format!("Bearer {}", account.key);
    for headers in [
        vec![],
        vec![("X-API-Key", account.key.as_str())],
        vec![("Authorization", key.as_str())],
        vec![("Authorization", "Bearer x.y.z")],
        vec![("X-API-Key", account.jwt.as_str())],
    ] {
        let answer = list(&headers).refused(401, "INVALID_TOKEN");
        assert!(
            answer
                .header("www-authenticate")
                .is_some_and(|value| value.starts_with("Bearer"))
        );
    }
    let session = format!("bearer  {}", account.jwt);
    let _ = list(&[("Authorization", &session)]).expect(200);
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test signs for the clock of the processes"
)]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

fn list_with(claims: &Value) -> Answer {
    let account = world().account();
    let token = sign(claims, &world().environment.jwt_secret);
    Answer::of(account.request(Method::GET, "/keys").bearer_auth(token))
}

#[test]
fn sessions_are_checked_in_every_claim() {
    let now = now();
    let good = [
        json!({"account_id": "a-good-one", "exp": now + 60}),
        json!({"sub": "a-good-one", "exp": now + 60}),
        json!({"account_id": "a-good-one", "sub": "another", "exp": now + 60, "nbf": now - 5}),
        json!({"account_id": "a-good-one", "exp": now - 10}),
        json!({"account_id": "a-good-one", "exp": now + 60, "nbf": now + 15}),
    ];
    for claims in good {
        assert_eq!(list_with(&claims).status, 200, "{claims}");
    }
    let bad = [
        json!({"account_id": "a"}),
        json!({"exp": now + 60}),
        json!({"account_id": "a", "exp": now - 60}),
        json!({"account_id": "a", "exp": now + 60, "nbf": now + 90}),
        json!({"account_id": "", "exp": now + 60}),
        json!({"account_id": 7, "exp": now + 60}),
        json!({"account_id": "a", "exp": "soon"}),
        json!({"account_id": "a".repeat(129), "exp": now + 60}),
    ];
    for claims in bad {
        let _ = list_with(&claims).refused(401, "INVALID_TOKEN");
    }
}

#[test]
fn the_algorithm_is_never_taken_from_the_token() {
    let account = world().account();
    let claims = json!({"account_id": account.id, "exp": now() + 600});
    let secret = jsonwebtoken_secret();
    for algorithm in [jsonwebtoken::Algorithm::HS384, jsonwebtoken::Algorithm::HS512] {
        let token = jsonwebtoken::encode(&jsonwebtoken::Header::new(algorithm), &claims, &secret).unwrap();
        let list = account.request(Method::GET, "/keys").bearer_auth(token);
        let _ = Answer::of(list).refused(401, "INVALID_TOKEN");
    }
    // {"alg":"none","typ":"JWT"} with the payload of a good token and no signature.
    let payload = account.jwt.split('.').nth(1).unwrap();
    for token in [
        format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}."),
        format!("{}x", account.jwt),
    ] {
        let list = account.request(Method::GET, "/keys").bearer_auth(token);
        let _ = Answer::of(list).refused(401, "INVALID_TOKEN");
    }
}

fn jsonwebtoken_secret() -> jsonwebtoken::EncodingKey {
    jsonwebtoken::EncodingKey::from_secret(world().environment.jwt_secret.as_bytes())
}
