//! Section 1: every response.

use reqwest::Method;
use serde_json::json;
use system_tests::{Answer, raw, world};

#[test]
fn the_callers_own_request_id_is_used_if_it_is_well_formed() {
    let account = world().account();
    let longest = "a".repeat(128);
    for id in ["x", "A-b_c.9", longest.as_str()] {
        let answer = account
            .search_with("companies", &json!({}), &[("X-Request-Id", id)])
            .expect(200);
        assert_eq!(answer.header("x-request-id"), Some(id));
        let answer = account.search_with("companies", &json!({"limit": 0}), &[("X-Request-Id", id)]);
        assert_eq!(answer.refused(400, "VALIDATION_ERROR").body["requestId"], id);
    }
}

#[test]
fn another_request_id_is_replaced_by_a_new_uuid_v7() {
    let account = world().account();
    let too_long = "a".repeat(129);
    for id in ["", "a b", "a/b", "ä", too_long.as_str()] {
        let answer = account
            .search_with("companies", &json!({}), &[("X-Request-Id", id)])
            .expect(200);
        let given = answer.header("x-request-id").unwrap().to_owned();
        assert_ne!(given, id);
        assert_eq!(given.len(), 36);
        assert_eq!(given.as_bytes()[14], b'7', "{given}");
    }
}

#[test]
fn unknown_routes_are_json_404() {
    let account = world().account();
    for path in [
        "/",
        "",
        "/people",
        "/people/search/",
        "/people/search/x",
        "/nothing",
        "/key",
        "/keys/",
        "/openapi",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let request = account
                .request(method.clone(), path)
                .header("X-API-Key", &account.key);
            let _ = Answer::of(request).refused(404, "NOT_FOUND");
        }
    }
}

#[test]
fn paths_outside_and_odd_ones_are_json_404() {
    for path in [
        "/nothing",
        "/api",
        "/api/v2/people/search",
        "/api/v1/../v1/people/search",
        "/api/v1/people%2Fsearch",
        "/api/v1/keys/..",
        "/api/v1/%zz",
        "/api/v1//people/search",
        "/metrics",
        "/readyz",
    ] {
        let request =
            format!("POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        let answer = raw(world(), request.as_bytes());
        let _ = answer.refused(404, "NOT_FOUND");
    }
}

#[test]
fn wrong_methods_are_405_and_name_the_right_ones() {
    let account = world().account();
    let cases = [
        (
            "/people/search",
            vec![Method::GET, Method::PUT, Method::DELETE, Method::PATCH],
            vec!["POST"],
        ),
        (
            "/companies/search",
            vec![Method::GET, Method::PUT, Method::DELETE, Method::PATCH],
            vec!["POST"],
        ),
        (
            "/keys",
            vec![Method::PUT, Method::DELETE, Method::PATCH],
            vec!["GET", "POST"],
        ),
        (
            "/keys/0190a7c4-0000-7000-8000-000000000000",
            vec![Method::GET, Method::POST, Method::PUT],
            vec!["DELETE", "PATCH"],
        ),
        (
            "/keys/0190a7c4-0000-7000-8000-000000000000/regenerate",
            vec![Method::GET, Method::DELETE],
            vec!["POST"],
        ),
        ("/openapi.json", vec![Method::POST, Method::DELETE], vec!["GET"]),
    ];
    for (path, methods, allowed) in cases {
        for method in methods {
            let request = account.request(method.clone(), path).bearer_auth(&account.jwt);
            let answer = Answer::of(request).refused(405, "METHOD_NOT_ALLOWED");
            let allow = answer.header("allow").expect("405 comes with Allow");
            for method in &allowed {
                assert!(allow.contains(method), "{path}: {allow} lacks {method}");
            }
        }
    }
}

#[test]
fn head_is_answered_without_a_body() {
    let answer = raw(
        world(),
        b"HEAD /api/v1/people/search HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(answer.status, 405);
    assert!(answer.body.is_empty());
    assert!(answer.header("allow").is_some());
    let answer = raw(
        world(),
        b"HEAD /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(answer.status, 200);
    assert!(answer.body.is_empty());
}

#[test]
fn browsers_may_ask_first_and_read_the_headers() {
    let account = world().account();
    let preflight = account
        .request(Method::OPTIONS, "/people/search")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "POST")
        .header(
            "Access-Control-Request-Headers",
            "x-api-key,content-type,idempotency-key",
        )
        .send()
        .unwrap();
    assert!(preflight.status().is_success());
    assert!(preflight.headers().contains_key("access-control-allow-origin"));
    let refused = account
        .request(Method::POST, "/people/search")
        .header("Origin", "https://app.example")
        .json(&json!({}));
    let refused = Answer::of(refused).refused(401, "INVALID_API_KEY");
    assert!(refused.header("access-control-allow-origin").is_some());
    let exposed = refused.header("access-control-expose-headers").unwrap();
    for header in [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "retry-after",
        "x-request-id",
    ] {
        assert!(exposed.contains(header), "{exposed} lacks {header}");
    }
}

#[test]
fn bodies_over_one_mebibyte_are_413() {
    let account = world().account();
    let body = format!("{{\"companyName\":\"{}\"}}", "a".repeat(1 << 20));
    let request = account
        .request(Method::POST, "/people/search")
        .header("X-API-Key", &account.key)
        .header("Content-Type", "application/json")
        .body(body.clone());
    let _ = Answer::of(request).refused(413, "PAYLOAD_TOO_LARGE");
    // The same in chunks, without a length to refuse by.
    let mut request = format!(
        "POST /api/v1/people/search HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        account.key
    );
    let frame = |chunk: &[u8]| format!("{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap());
    request.extend(body.as_bytes().chunks(60_000).map(frame));
    request += "0\r\n\r\n";
    let _ = raw(world(), request.as_bytes()).refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(world().operator.balance(&account.id), 100_000);
}

#[test]
fn what_is_no_http_is_told_as_every_other_error() {
    let start = "POST /api/v1/people/search HTTP/1.1\r\nHost: x\r\n";
    let many_headers = "X: x\r\n".repeat(200);
    for (request, code) in [
        (format!("{start}X-API-Key: \x01\r\n\r\n"), "invalid_format"),
        (format!("{start}Content-Length: x\r\n\r\n"), "invalid_format"),
        (
            format!("{start}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            "invalid_format",
        ),
        (
            format!("{start}Transfer-Encoding: gzip\r\n\r\n"),
            "invalid_format",
        ),
        ("nonsense\r\n\r\n".to_owned(), "invalid_format"),
        ("GET / HTTP/3.7\r\n\r\n".to_owned(), "invalid_format"),
        (format!("{start}{many_headers}\r\n"), "too_big"),
        (format!("{start}X: {}\r\n\r\n", "x".repeat(100_000)), "too_big"),
        (
            format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(100_000)),
            "too_big",
        ),
    ] {
        let answer = raw(world(), request.as_bytes());
        let head: String = request.chars().take(100).collect();
        assert_eq!(answer.header("connection"), Some("close"), "{head:?}: {answer:?}");
        let answer = answer.refused(400, "VALIDATION_ERROR");
        let body = answer.json();
        assert_eq!(body["issues"][0]["path"], json!([]), "{head:?}");
        assert_eq!(body["issues"][0]["code"], code, "{head:?}");
    }
}

#[test]
fn the_interface_description_needs_no_credential_and_is_openapi_3_1() {
    let account = world().account();
    let answer = Answer::of(account.request(Method::GET, "/openapi.json")).expect(200);
    assert_eq!(answer.body["openapi"], "3.1.0");
    assert_eq!(answer.body["info"]["version"], "1.0.0");
    let paths: Vec<&String> = answer.body["paths"].as_object().unwrap().keys().collect();
    for path in [
        "/people/search",
        "/companies/search",
        "/keys",
        "/keys/{id}",
        "/keys/{id}/regenerate",
    ] {
        assert!(
            paths.iter().any(|known| *known == path),
            "{path} is not described"
        );
    }
}

#[test]
fn timestamps_have_milliseconds_and_z() {
    let account = world().account();
    let key = account.keys(Method::GET, "", None).expect(200).body["keys"][0].clone();
    let created = key["createdAt"].as_str().unwrap();
    assert_eq!(created.len(), "2026-01-01T00:00:00.000Z".len(), "{created}");
    assert!(
        created.ends_with('Z') && created.as_bytes()[19] == b'.',
        "{created}"
    );
}
