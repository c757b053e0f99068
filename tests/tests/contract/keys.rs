//! Section 7: keys.

use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, Answer, until, world};

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}

fn create(account: &Account, body: Option<Value>) -> Value {
    account.keys(Method::POST, "", body).expect(201).body
}

fn search_status(account: &Account, secret: &str) -> u16 {
    let request = account
        .request(Method::POST, "/companies/search")
        .header("X-API-Key", secret);
    Answer::of(request.json(&json!({"limit": 1}))).status
}

#[test]
fn a_new_key_has_the_form_of_the_contract() {
    let account = world().account();
    let created = create(&account, Some(json!({"name": "  Zürich  "})));
    assert_eq!(created["success"], true);
    assert!(!text(&created["message"]).is_empty());
    let secret = text(&created["secret"]);
    assert_eq!(secret.len(), 4 + 32 + 6);
    assert!(
        secret.starts_with("dsk_") && secret[4..].bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "{secret}"
    );
    let key = &created["key"];
    assert_eq!(text(&key["keyPrefix"]), secret[..12]);
    assert_eq!(key["name"], "Zürich");
    assert_eq!(key["active"], true);
    assert_eq!(key["lastUsedAt"], Value::Null);
    assert_eq!(key["revokedAt"], Value::Null);
    assert_eq!(text(&key["id"]).as_bytes()[14], b'7');
    let properties: Vec<&String> = key.as_object().unwrap().keys().collect();
    assert_eq!(properties.len(), 7, "{properties:?}");
    assert!(key.get("secret").is_none());
}

#[test]
fn a_key_is_made_without_a_body_too() {
    let account = world().account();
    let bare = account.request(Method::POST, "/keys").bearer_auth(&account.jwt);
    assert_eq!(Answer::of(bare).expect(201).body["key"]["name"], "API key");
    assert_eq!(create(&account, Some(json!({})))["key"]["name"], "API key");
    let empty = account
        .request(Method::POST, "/keys")
        .bearer_auth(&account.jwt)
        .body("");
    assert_eq!(Answer::of(empty).expect(201).body["key"]["name"], "API key");
}

#[test]
fn names_are_checked() {
    let account = world().account();
    let longest = "ü".repeat(100);
    assert_eq!(
        create(&account, Some(json!({"name": longest})))["key"]["name"],
        longest.as_str()
    );
    let id = account.key_id.clone();
    for (body, issue) in [
        (json!({"name": "ü".repeat(101)}), "name too_long"),
        (json!({"name": ""}), "name too_small"),
        (json!({"name": "   "}), "name too_small"),
        (json!({"name": "a\u{7}b"}), "name invalid_value"),
        (json!({"name": "a\u{0}b"}), "name invalid_value"),
        (json!({"name": 5}), "name invalid_type"),
        (json!({"name": null}), "name invalid_type"),
        (json!({"nam": "x", "name": "x"}), "nam unrecognized_key"),
        (json!([]), "invalid_type"),
    ] {
        assert_eq!(
            account.keys(Method::POST, "", Some(body.clone())).issues(),
            [issue],
            "{body}"
        );
        assert_eq!(
            account
                .keys(Method::PATCH, &format!("/{id}"), Some(body.clone()))
                .issues(),
            [issue],
            "{body}"
        );
    }
    assert_eq!(
        account
            .keys(Method::PATCH, &format!("/{id}"), Some(json!({})))
            .issues(),
        ["name missing"]
    );
    assert_eq!(
        account.keys(Method::PATCH, &format!("/{id}"), None).issues(),
        ["missing"]
    );
}

#[test]
fn keys_are_listed_newest_first_and_never_with_secrets() {
    let account = world().account();
    let second = create(&account, Some(json!({"name": "second"})));
    let third = create(&account, Some(json!({"name": "third"})));
    let _ = account
        .keys(Method::DELETE, &format!("/{}", text(&second["key"]["id"])), None)
        .expect(200);
    let listed = account.keys(Method::GET, "", None).expect(200).body;
    assert_eq!(listed["success"], true);
    let names: Vec<String> = listed["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| text(&key["name"]))
        .collect();
    assert_eq!(names, ["third", "second", "test"]);
    assert_eq!(listed["keys"][1]["active"], false);
    let shown = listed.to_string();
    for secret in [&text(&second["secret"]), &text(&third["secret"]), &account.key] {
        assert!(!shown.contains(&secret[12..]), "a secret is listed");
    }
}

#[test]
fn a_key_is_renamed() {
    let account = world().account();
    let path = format!("/{}", account.key_id);
    let renamed = account
        .keys(Method::PATCH, &path, Some(json!({"name": " new "})))
        .expect(200)
        .body;
    assert_eq!(renamed["success"], true);
    assert_eq!(renamed["key"]["name"], "new");
    assert_eq!(renamed["key"]["id"], account.key_id.as_str());
    assert_eq!(search_status(&account, &account.key), 200);
}

#[test]
fn a_revoked_key_is_dead_for_good() {
    let account = world().account();
    let path = format!("/{}", account.key_id);
    assert_eq!(search_status(&account, &account.key), 200);
    let first = account.keys(Method::DELETE, &path, None).expect(200).body;
    assert_eq!(first["message"], "Key revoked");
    assert_eq!(first["key"]["active"], false);
    let again = account.keys(Method::DELETE, &path, None).expect(200).body;
    assert_eq!(again, first);
    await_status(&account, &account.key, 401);
    let _ = account
        .keys(Method::PATCH, &path, Some(json!({"name": "x"})))
        .refused(409, "KEY_REVOKED");
    let _ = account
        .keys(Method::POST, &format!("{path}/regenerate"), None)
        .refused(409, "KEY_REVOKED");
    assert_eq!(search_status(&account, &account.key), 401);
}

/// Asks until the answer is the one hoped for: an announcement takes its time. The bound is far beyond the promise.
fn await_status(account: &Account, secret: &str, status: u16) {
    until(&format!("it is {status}"), || {
        search_status(account, secret) == status
    });
}

#[test]
fn a_regenerated_key_keeps_its_name_and_loses_its_old_secret() {
    let account = world().account();
    assert_eq!(search_status(&account, &account.key), 200);
    let made = account
        .keys(Method::POST, &format!("/{}/regenerate", account.key_id), None)
        .expect(200)
        .body;
    let secret = text(&made["secret"]);
    assert_ne!(secret, account.key);
    assert_eq!(made["key"]["id"], account.key_id.as_str());
    assert_eq!(made["key"]["name"], "test");
    assert_eq!(text(&made["key"]["keyPrefix"]), secret[..12]);
    assert_eq!(made["key"]["lastUsedAt"], Value::Null);
    assert_eq!(search_status(&account, &secret), 200);
    await_status(&account, &account.key, 401);
    assert_eq!(search_status(&account, &secret), 200);
}

#[test]
fn of_two_regenerations_at_once_one_secret_works() {
    let account = world().account();
    let path = format!("/{}/regenerate", account.key_id);
    let secrets = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| text(&account.keys(Method::POST, &path, None).expect(200).body["secret"]))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    until("one secret is left", || {
        let works = |secret: &&String| search_status(&account, secret) == 200;
        secrets.iter().filter(works).count() == 1
    });
}

#[test]
fn others_unknown_and_malformed_ids_are_alike() {
    let (account, other) = (world().account(), world().account());
    let mut bodies = std::collections::HashSet::new();
    for id in [
        other.key_id.as_str(),
        "0190a7c4-0000-7000-8000-000000000000",
        "x",
        "1",
        "%20",
        "a%00b",
        "a%2Fb",
        "%ff",
        "%zz",
        "0190a7c4000070008000000000000000x",
    ] {
        for (method, path, body) in [
            (Method::PATCH, format!("/{id}"), Some(json!({"name": "x"}))),
            (Method::DELETE, format!("/{id}"), None),
            (Method::POST, format!("/{id}/regenerate"), None),
        ] {
            let answer = account.keys(method, &path, body).refused(404, "KEY_NOT_FOUND");
            bodies.insert(answer.body["message"].to_string());
        }
    }
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert_eq!(search_status(&other, &other.key), 200);
}

#[test]
fn an_account_has_at_most_fifty_active_keys() {
    let account = world().account();
    let keys: Vec<Value> = (1..50).map(|_| create(&account, None)).collect();
    let _ = account
        .keys(Method::POST, "", None)
        .refused(409, "KEY_LIMIT_REACHED");
    let _ = account
        .keys(Method::DELETE, &format!("/{}", text(&keys[0]["key"]["id"])), None)
        .expect(200);
    let _ = create(&account, None);
    let _ = account
        .keys(Method::POST, "", None)
        .refused(409, "KEY_LIMIT_REACHED");
    assert_eq!(
        account.keys(Method::GET, "", None).expect(200).body["keys"]
            .as_array()
            .unwrap()
            .len(),
        51
    );
}

#[test]
fn the_time_of_last_use_is_told() {
    let account = world().account();
    assert_eq!(search_status(&account, &account.key), 200);
    until("lastUsedAt is told", || {
        let keys = account.keys(Method::GET, "", None).expect(200).body;
        keys["keys"][0]["lastUsedAt"].is_string()
    });
}

#[test]
fn secrets_are_not_to_be_stored_on_the_way() {
    let account = world().account();
    let answer = account.keys(Method::POST, "", None).expect(201);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}
