//! What the gateway answers by itself: everything but a search or a key.

use axum::body::Body;
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use runtime::settings::Settings;
use runtime::shutdown::Shutdown;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::auth::key_changes::KeyChanges;
use crate::config::Config;
use crate::upstream::UpstreamConfig;

const SECRET: &str = "a secret of the tests, with 32 characters or more";
const KEY: &str = "dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV0lYb4h";

/// A gateway as configured by default, without anything behind it: port 1 is nobody's.
pub(super) fn gateway() -> Gateway {
    let nowhere = "http://127.0.0.1:1".to_owned();
    let variables = [
        ("SEARCH_URL", nowhere.clone()),
        ("KEYS_URL", nowhere.clone()),
        ("BILLING_URL", nowhere),
        ("SERVICE_TOKEN", "a-token-of-the-tests-0123456789".to_owned()),
        ("REDIS_URL", "redis://127.0.0.1:1".to_owned()),
        ("SESSION_SECRET", SECRET.to_owned()),
        ("MAX_BODY_BYTES", "1000".to_owned()),
    ];
    let environment = variables.map(|(name, value)| (format!("DS_GATEWAY__{name}"), value));
    let (mut settings, _) = Settings::read("gateway", [], environment);
    let config = Config::read(&mut settings);
    settings.finish().unwrap();
    let (ambient, shutdown) = (Ambient::system(), Shutdown::new());
    let upstreams = Upstreams::connect(
        &config.grpc,
        UpstreamConfig {
            search_url: &config.search_url,
            keys_url: &config.keys_url,
            billing_url: &config.billing_url,
            max_calls: config.max_calls,
        },
        &shutdown,
    )
    .unwrap();
    Gateway {
        api_keys: ApiKeys::new(
            upstreams.clone(),
            Arc::new(KeyChanges::default()),
            config.unknown_keys,
        ),
        sessions: Sessions::new(&config.session_rules, config.session_keys, ambient.clone()),
        rate: RateLimiter::start(config.pace, config.redis, config.redis_budget, &shutdown),
        credits: Credits::new(upstreams.clone(), config.costs, ambient.clone(), shutdown),
        upstreams,
        bodies: Bodies::new(config.limits.max_body_bytes),
        limits: config.limits,
        ambient,
        cors: Arc::new(config.cors),
    }
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// It is the error of this code, in the one shape, with the id of its header.
    pub(super) fn is_error(&self, code: ErrorCode) -> Value {
        let body = self.json();
        assert_eq!(
            (self.status.as_u16(), &body["code"]),
            (code.http_status(), &json!(code.as_str())),
            "{body}"
        );
        assert_eq!(body["success"], false);
        assert!(body["message"].is_string());
        assert_eq!(body["requestId"], self.headers["x-request-id"].to_str().unwrap());
        assert_eq!(self.headers[CONTENT_TYPE], "application/json");
        assert_eq!(self.headers["cache-control"], "no-store");
        assert_eq!(self.headers["access-control-allow-origin"], "*");
        body
    }
}

pub(super) async fn send(router: &Router, request: Request<Body>) -> Answer {
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Answer {
        status: head.status,
        headers: head.headers,
        body,
    }
}

pub(super) async fn ask(method: Method, path: &str) -> Answer {
    send(
        &router(gateway()),
        Request::builder()
            .method(method)
            .uri(path)
            .body(Body::empty())
            .unwrap(),
    )
    .await
}

fn session() -> String {
    let claims = json!({"account_id": "acme", "exp": Ambient::system().now().timestamp() + 60});
    let token = encode(
        &Header::new(Algorithm::HS256),
        &claims,
        &EncodingKey::from_secret(SECRET.as_bytes()),
    );
    format!("Bearer {}", token.unwrap())
}

#[tokio::test]
async fn a_head_that_is_too_large_is_told_as_such() {
    let router = router(gateway());
    let with = |headers: usize, bytes: usize| {
        let mut request = Request::get("/api/v1/openapi.json");
        for number in 0..headers {
            request = request.header(format!("x-{number}"), "a".repeat(bytes));
        }
        request.body(Body::empty()).unwrap()
    };
    assert_eq!(send(&router, with(99, 600)).await.status, StatusCode::OK);
    for (headers, bytes) in [(101, 1), (1, 70_000)] {
        let body = send(&router, with(headers, bytes))
            .await
            .is_error(ErrorCode::ValidationError);
        assert_eq!(body["issues"][0]["code"], "too_big");
    }
}

#[tokio::test]
async fn what_is_nowhere_is_not_found() {
    for path in [
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v1/people",
        "/api/v1/people/search/",
        "/api/v1//people/search",
        "/api/v2/people/search",
        "/people/search",
        "/api/v1/keys/",
        "/api/v1/openapi.yaml",
        "/API/V1/openapi.json",
        "/favicon.ico",
        "/api/v1/keys/..",
        "/api/v1/keys/%2e%2e/x",
        "/api/v1/keys/../keys",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let answer = ask(method, path).await;
            let told = answer.is_error(ErrorCode::NotFound);
            assert!(told["message"].as_str().unwrap().ends_with(BASE_PATH), "{told}");
        }
    }
}

#[tokio::test]
async fn a_method_that_an_address_does_not_know_is_told_those_it_knows() {
    let cases = [
        (
            "/api/v1/people/search",
            "POST",
            vec![
                Method::GET,
                Method::PUT,
                Method::PATCH,
                Method::OPTIONS,
                Method::TRACE,
            ],
        ),
        (
            "/api/v1/companies/search",
            "POST",
            vec![Method::GET, Method::DELETE],
        ),
        (
            "/api/v1/keys",
            "GET,HEAD,POST",
            vec![Method::PUT, Method::DELETE, Method::OPTIONS],
        ),
        (
            "/api/v1/keys/x",
            "PATCH,DELETE",
            vec![Method::GET, Method::POST, Method::PUT],
        ),
        ("/api/v1/keys/x/regenerate", "POST", vec![Method::GET]),
        ("/api/v1/openapi.json", "GET,HEAD", vec![Method::POST]),
    ];
    for (path, allowed, methods) in cases {
        for method in methods {
            let answer = ask(method, path).await;
            answer.is_error(ErrorCode::MethodNotAllowed);
            assert_eq!(answer.headers[ALLOW], allowed, "{path}");
        }
    }
    let head = ask(Method::HEAD, "/api/v1/people/search").await;
    assert_eq!(
        (head.status, &head.headers[ALLOW]),
        (StatusCode::METHOD_NOT_ALLOWED, &"POST".parse().unwrap())
    );
}

#[tokio::test]
async fn the_description_is_served_to_everybody_with_and_without_its_body() {
    let got = ask(Method::GET, "/api/v1/openapi.json").await;
    assert_eq!(
        (got.status, &got.headers[CONTENT_TYPE]),
        (StatusCode::OK, &"application/json".parse().unwrap())
    );
    assert_eq!(got.json()["info"]["version"], "1.0.0");
    assert!(got.headers.contains_key("x-request-id"));
    let head = ask(Method::HEAD, "/api/v1/openapi.json").await;
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
    assert_eq!(head.headers["content-length"], got.body.len().to_string());
}

#[tokio::test]
async fn a_callers_usable_id_comes_back() {
    let router = router(gateway());
    let request = |id: &str| {
        Request::get("/nowhere")
            .header("x-request-id", id)
            .body(Body::empty())
            .unwrap()
    };
    let answer = send(&router, request("my.own-ID_1")).await;
    assert_eq!(answer.is_error(ErrorCode::NotFound)["requestId"], "my.own-ID_1");
    let answer = send(&router, request("not usable")).await;
    assert_ne!(answer.is_error(ErrorCode::NotFound)["requestId"], "not usable");
}

#[tokio::test]
async fn a_browser_may_ask_first_without_a_credential_and_read_what_is_refused() {
    let router = router(gateway());
    let preflight = Request::options("/api/v1/people/search")
        .header(ORIGIN, "https://app.example.com")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "x-api-key,content-type");
    let answer = send(&router, preflight.body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::NO_CONTENT, 0));
    assert_eq!(answer.headers["access-control-allow-origin"], "*");
    assert!(
        answer.headers["access-control-allow-headers"]
            .to_str()
            .unwrap()
            .contains("x-api-key")
    );
    assert!(
        answer.headers["access-control-allow-methods"]
            .to_str()
            .unwrap()
            .contains("PATCH")
    );
    assert!(answer.headers.contains_key("x-request-id"));
    let refused = Request::post("/api/v1/people/search").header(ORIGIN, "https://app.example.com");
    let answer = send(&router, refused.body(Body::empty()).unwrap()).await;
    answer.is_error(ErrorCode::InvalidApiKey);
    let exposed = answer.headers["access-control-expose-headers"].to_str().unwrap();
    for name in [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-request-id",
        "retry-after",
    ] {
        assert!(exposed.contains(name), "{name}");
    }
}

#[tokio::test]
async fn without_a_well_formed_key_no_search_asks_anybody() {
    let router = router(gateway());
    for path in ["/api/v1/people/search", "/api/v1/companies/search"] {
        for (name, value) in [
            ("x-other", KEY),
            ("x-api-key", "dsk_x"),
            ("authorization", &session()),
        ] {
            let request = Request::post(path)
                .header(name, value)
                .body(Body::from("not even JSON"))
                .unwrap();
            let answer = send(&router, request).await;
            answer.is_error(ErrorCode::InvalidApiKey);
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            assert!(!answer.headers.contains_key("x-ratelimit-limit"));
        }
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_is_told_as_unavailable() {
    let router = router(gateway());
    let search = Request::post("/api/v1/people/search").header("x-api-key", KEY);
    let list = Request::get("/api/v1/keys").header(AUTHORIZATION, session());
    for request in [search, list] {
        let answer = send(&router, request.body(Body::empty()).unwrap()).await;
        answer.is_error(ErrorCode::Unavailable);
        assert_eq!(answer.headers["retry-after"], "1");
    }
}

#[tokio::test]
async fn on_keys_only_a_session_counts() {
    let router = router(gateway());
    for (method, path) in [
        (Method::GET, "/api/v1/keys"),
        (Method::HEAD, "/api/v1/keys"),
        (Method::POST, "/api/v1/keys"),
        (Method::PATCH, "/api/v1/keys/x"),
        (Method::DELETE, "/api/v1/keys/x"),
        (Method::POST, "/api/v1/keys/x/regenerate"),
    ] {
        for (name, value) in [
            ("x-other", String::new()),
            ("x-api-key", KEY.to_owned()),
            ("authorization", format!("Bearer {KEY}")),
        ] {
            let request = Request::builder().method(&method).uri(path).header(name, value);
            let answer = send(&router, request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            if method == Method::HEAD {
                assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
            } else {
                answer.is_error(ErrorCode::InvalidToken);
            }
        }
    }
}

#[tokio::test]
async fn bodies_are_bounded_declared_and_checked_before_anything_is_done() {
    let router = router(gateway());
    let json_type = Some("application/json");
    let large = "x".repeat(1001);
    let cases = [
        (
            Method::POST,
            "/api/v1/keys",
            json_type,
            large.as_str(),
            ErrorCode::PayloadTooLarge,
        ),
        (
            Method::POST,
            "/api/v1/keys",
            None,
            "{}",
            ErrorCode::UnsupportedMediaType,
        ),
        (
            Method::POST,
            "/api/v1/keys",
            Some("text/plain"),
            "{}",
            ErrorCode::UnsupportedMediaType,
        ),
        (
            Method::POST,
            "/api/v1/keys",
            json_type,
            "{",
            ErrorCode::ValidationError,
        ),
        (
            Method::POST,
            "/api/v1/keys",
            json_type,
            r#"{"name": 1}"#,
            ErrorCode::ValidationError,
        ),
        (
            Method::PATCH,
            "/api/v1/keys/x",
            json_type,
            "",
            ErrorCode::ValidationError,
        ),
        (
            Method::PATCH,
            "/api/v1/keys/x",
            json_type,
            "{}",
            ErrorCode::ValidationError,
        ),
        // What is fine goes on, to a service that is not there.
        (Method::POST, "/api/v1/keys", None, "", ErrorCode::Unavailable),
        (
            Method::POST,
            "/api/v1/keys",
            json_type,
            "{}",
            ErrorCode::Unavailable,
        ),
        (
            Method::PATCH,
            "/api/v1/keys/x",
            json_type,
            r#"{"name": "x"}"#,
            ErrorCode::Unavailable,
        ),
    ];
    for (method, path, media_type, body, code) in cases {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(AUTHORIZATION, session());
        if let Some(media_type) = media_type {
            request = request.header(CONTENT_TYPE, media_type);
        }
        let answer = send(&router, request.body(Body::from(body.to_owned())).unwrap()).await;
        let error = answer.is_error(code);
        assert_eq!(
            error["issues"].is_array(),
            code == ErrorCode::ValidationError,
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_panic_is_answered_like_any_other_fault() {
    async fn panics() -> StatusCode {
        panic!("on purpose")
    }
    let envelope = axum::middleware::from_fn_with_state(Arc::new(gateway()), envelope::wrap);
    let router = Router::new().route("/panics", get(panics)).layer(envelope);
    let error = send(&router, Request::get("/panics").body(Body::empty()).unwrap())
        .await
        .is_error(ErrorCode::Internal);
    assert!(!error.to_string().contains("purpose"));
}
