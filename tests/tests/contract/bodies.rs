//! Section 3: what a body is, whatever it asks for.

use proto::names::QUERY_PROPERTIES;
use reqwest::Method;
use serde_json::json;
use system_tests::{Account, Answer, world};

fn post(account: &Account, kind: &str, media: Option<&str>, body: impl Into<Vec<u8>>) -> Answer {
    let mut request = account
        .request(Method::POST, &format!("/{kind}/search"))
        .header("X-API-Key", &account.key);
    if let Some(media) = media {
        request = request.header("Content-Type", media);
    }
    Answer::of(request.body(body.into()))
}

#[test]
fn what_is_not_json_is_told_with_its_place() {
    let account = world().account();
    let deep = format!("{}1{}", "[".repeat(17), "]".repeat(17));
    let cases: Vec<Vec<u8>> = vec![
        b"{".to_vec(),
        b"{\"limit\":}".to_vec(),
        b"{'limit':1}".to_vec(),
        b"{} x".to_vec(),
        b"{\"limit\":01}".to_vec(),
        b"{\"companyName\":\"\xff\"}".to_vec(),
        b"{\"limit\":1,}".to_vec(),
        b"{\"limit\":NaN}".to_vec(),
        format!("{{\"jobTitles\":{deep}}}").into_bytes(),
        b"\xef\xbb\xbf{".to_vec(),
        b"{\"a\":\"\n\"}".to_vec(),
    ];
    for body in cases {
        let shown = String::from_utf8_lossy(&body).into_owned();
        let answer = post(&account, "people", Some("application/json"), body);
        assert_eq!(answer.status, 400, "{shown}: {:#}", answer.body);
        let issue = &answer.body["issues"][0];
        assert_eq!(issue["code"], "invalid_json", "{shown}: {issue}");
        assert_eq!(issue["path"], json!([]), "{shown}");
        let message = issue["message"].as_str().unwrap();
        assert!(
            message.contains("line") && message.contains("column"),
            "{shown}: {message}"
        );
    }
}

#[test]
fn a_body_is_required_and_an_empty_object_is_one() {
    let account = world().account();
    for body in ["", "   \n"] {
        assert_eq!(
            post(&account, "people", Some("application/json"), body).issues(),
            ["missing"]
        );
    }
    for (body, code) in [
        ("[]", "invalid_type"),
        ("null", "invalid_type"),
        ("5", "invalid_type"),
        ("\"x\"", "invalid_type"),
    ] {
        assert_eq!(
            post(&account, "people", Some("application/json"), body).issues(),
            [code],
            "{body}"
        );
    }
    assert_eq!(
        post(&account, "people", Some("application/json"), "{}").status,
        200
    );
}

#[test]
fn the_media_type_has_to_be_json() {
    let account = world().account();
    for media in [
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/json;x=y",
    ] {
        assert_eq!(
            post(&account, "companies", Some(media), "{}").status,
            200,
            "{media}"
        );
    }
    for media in [
        None,
        Some(""),
        Some("text/plain"),
        Some("application/jsonx"),
        Some("application/x-www-form-urlencoded"),
        Some("application/xml, application/json"),
    ] {
        let _ = post(&account, "companies", media, "{}").refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }
}

#[test]
fn a_property_given_twice_is_an_error() {
    let account = world().account();
    let answer = post(
        &account,
        "companies",
        Some("application/json"),
        "{\"limit\":1,\"limit\":2}",
    );
    assert_eq!(answer.issues(), ["limit duplicate_key"]);
    let answer = post(
        &account,
        "companies",
        Some("application/json"),
        "{\"sort\":{\"dir\":\"asc\",\"dir\":\"asc\",\"field\":\"name\"}}",
    );
    assert_eq!(answer.issues(), ["sort.dir duplicate_key"]);
    let answer = post(
        &account,
        "companies",
        Some("application/json"),
        "{\"limit\":1,\"l\\u0069mit\":2}",
    );
    assert_eq!(answer.issues(), ["limit duplicate_key"]);
}

#[test]
fn null_is_only_for_the_cursor() {
    let account = world().account();
    let names = QUERY_PROPERTIES.into_iter().filter(|name| *name != "cursor");
    for name in names {
        let answer = account
            .companies(&json!({name: null}))
            .refused(400, "VALIDATION_ERROR");
        let issue = &answer.body["issues"][0];
        assert_eq!(issue["code"], "invalid_type", "{issue}");
        assert!(
            issue["hint"].as_str().is_some_and(|hint| hint.contains("leave")),
            "{issue}"
        );
    }
    assert_eq!(account.companies(&json!({"cursor": null})).status, 200);
}

#[test]
fn integers_are_numbers_with_integral_value() {
    let account = world().account();
    for (text, code) in [
        ("25.0", None),
        ("2.5e1", None),
        ("1", None),
        ("250", None),
        ("\"25\"", Some("limit invalid_type")),
        ("25.5", Some("limit invalid_type")),
        ("true", Some("limit invalid_type")),
        ("0", Some("limit too_small")),
        ("-1", Some("limit too_small")),
        ("251", Some("limit too_big")),
        ("1e300", Some("limit too_big")),
        ("99999999999999999999999", Some("limit too_big")),
        ("-99999999999999999999999", Some("limit too_small")),
        ("[1]", Some("limit invalid_type")),
    ] {
        let answer = post(
            &account,
            "companies",
            Some("application/json"),
            format!("{{\"limit\":{text}}}"),
        );
        match code {
            None => assert_eq!(answer.status, 200, "{text}: {:#}", answer.body),
            Some(code) => assert_eq!(answer.issues(), [code], "{text}"),
        }
    }
}

#[test]
fn nul_and_unpaired_surrogates_are_invalid_values() {
    let account = world().account();
    for body in [
        "{\"companyName\":\"a\\u0000b\"}",
        "{\"companyName\":\"a\\ud800\"}",
        "{\"companyName\":\"\\udc00b\"}",
        "{\"jobTitles\":[\"\\ud800\"]}",
        "{\"fields\":[\"na\\u0000me\"]}",
        "{\"searchTags\":[\"\\u0000\"]}",
    ] {
        let found = post(&account, "companies", Some("application/json"), body).issues();
        assert!(
            found
                .iter()
                .any(|issue| issue.ends_with(" invalid_value") || issue.ends_with(" invalid_format")),
            "{body}: {found:?}"
        );
    }
    let paired = post(
        &account,
        "companies",
        Some("application/json"),
        "{\"companyName\":\"\\ud83d\\ude00 x\"}",
    );
    assert_eq!(paired.status, 200);
}
