//! Responses and their headers.

use proto::error_code::{self, ErrorCode};
use proto::rate::{MAX_REQUESTS, MAX_WINDOW};
use serde_json::{Map, Value, json};

use super::bounds::{self, Bound};
use super::{CACHED, examples};

/// The headers of every response.
const COMMON_HEADERS: [&str; 3] = ["X-Request-Id", "Cache-Control", "Access-Control-Allow-Origin"];

/// The headers of every search's response from the rate limit on.
pub(super) const RATE_HEADERS: [&str; 5] = [
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "RateLimit-Policy",
    "RateLimit",
];

/// Every header of a response, by its name.
pub(super) fn headers() -> Value {
    let header = |description: &str, bound: Bound, example: Value| json!({"description": description, "schema": bound.schema(), "example": example});
    let requests = |least| Bound::Integer(least, MAX_REQUESTS.into());
    let seconds = |least| Bound::Integer(least, i64::try_from(MAX_WINDOW.as_secs()).unwrap_or(i64::MAX));
    let mut headers = json!({
        "X-Request-Id": header("Id of the request.", bounds::REQUEST_ID, json!(examples::REQUEST_ID)),
        "Cache-Control": header(
            "Whether the response may be kept: none may but the description of the interface.",
            Bound::Words(|| vec!["no-store", CACHED]),
            json!("no-store"),
        ),
        "Access-Control-Allow-Origin": {
            "description": "Which web pages may read the response: `*` for all, or the one that asks if it is among \
                            those that the operator allows; else the header is not there.",
            "schema": {"type": "string", "pattern": r"^(\*|[^/]+://[^/]+)$"},
            "example": "*",
        },
        "X-RateLimit-Limit": header("Requests of the account in a window.", requests(1), json!(120)),
        "X-RateLimit-Remaining": header("Requests that would pass now.", requests(0), json!(119)),
        "X-RateLimit-Reset": header(
            "Seconds until the allowance is full again, rounded up: a delay, not a time of day.",
            seconds(0),
            json!(1),
        ),
        "RateLimit-Policy": header(
            "The rate (draft-ietf-httpapi-ratelimit-headers): `q` requests in `w` seconds.",
            Bound::Form("^\"default\";q=[0-9]+;w=[0-9]+$", "\"default\";q=1000000;w=86400".len()),
            json!("\"default\";q=120;w=60"),
        ),
        "RateLimit": header(
            "The state of the rate: `r` requests remain, all are there again in `t` seconds.",
            Bound::Form("^\"default\";r=[0-9]+;t=[0-9]+$", "\"default\";r=1000000;t=86400".len()),
            json!("\"default\";r=119;t=1"),
        ),
        "Retry-After": header("Seconds after which to try again.", seconds(1), json!(1)),
        "WWW-Authenticate": header("How to show a credential.", Bound::Words(|| vec!["Bearer"]), json!("Bearer")),
        "Allow": header(
            "The methods that the address knows.",
            Bound::Form("^[A-Z]+(,[A-Z]+)*$", "GET,HEAD,POST,PUT,DELETE,PATCH".len()),
            json!("POST"),
        ),
        "Idempotency-Replayed": header(
            "Present if the request had been charged before and was not charged again.",
            Bound::Words(|| vec!["true"]),
            json!("true"),
        ),
    });
    // The 401, the 429 of an address that shows too many unknown keys and failures before the rate limit have none of
    // the rate headers; all responses have these.
    for name in ["X-Request-Id", "Cache-Control"] {
        headers[name]["required"] = true.into();
    }
    headers
}

/// What is answered when it has worked.
pub(super) fn success(
    operation: &str,
    description: &str,
    schema: &str,
    is_rated: bool,
    is_charged: bool,
) -> Value {
    let rate: &[&str] = if is_rated { &RATE_HEADERS } else { &[] };
    let replayed = is_charged.then_some(&"Idempotency-Replayed");
    let mut content = examples::responses(operation);
    content["schema"] = json!({"$ref": format!("#/components/schemas/{schema}")});
    json!({
        "description": description,
        "headers": references(COMMON_HEADERS.iter().chain(rate).chain(replayed)),
        "content": {"application/json": content},
    })
}

/// Every refusal, by the name that [`reference()`] uses.
pub(super) fn errors() -> Value {
    // An address that is none is no operation: the text of the document tells of it.
    let codes = error_code::ALL
        .into_iter()
        .filter(|code| !matches!(code, ErrorCode::GrantIdReused | ErrorCode::NotFound));
    let mut errors = Map::new();
    for code in codes {
        if code != ErrorCode::InvalidToken && !is_of_keys(code) {
            errors.insert(name(code, true), error(code, true));
        }
        if !is_of_searches(code) {
            errors.insert(name(code, false), error(code, false));
        }
    }
    errors.insert(CREDENTIAL_REFUSED.to_owned(), either_credential());
    errors.into()
}

/// The refusal of who may show an API key or a session token.
const CREDENTIAL_REFUSED: &str = "CredentialRefused";

/// The refusal of who may show an API key or a session token and has shown neither.
pub(super) fn credential_refused() -> Value {
    json!({"$ref": format!("#/components/responses/{CREDENTIAL_REFUSED}")})
}

fn either_credential() -> Value {
    let mut refusal = error(ErrorCode::InvalidApiKey, true);
    refusal["description"] =
        "`INVALID_API_KEY`: The API key is missing or invalid; or `INVALID_TOKEN`: the session token \
                              is invalid."
            .into();
    refusal
}

/// The refusal with this code.
pub(super) fn reference(code: ErrorCode, is_search: bool) -> Value {
    json!({"$ref": format!("#/components/responses/{}", name(code, is_search))})
}

const fn is_of_keys(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::KeyNotFound | ErrorCode::KeyRevoked | ErrorCode::KeyLimitReached
    )
}

const fn is_of_searches(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::InvalidApiKey
            | ErrorCode::InsufficientCredits
            | ErrorCode::IdempotencyKeyReused
            | ErrorCode::RateLimitExceeded
    )
}

/// `INSUFFICIENT_CREDITS` of a search is `SearchInsufficientCredits`.
fn name(code: ErrorCode, is_search: bool) -> String {
    let words = code.as_str().split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        format!("{first}{}", rest.to_lowercase())
    });
    let prefix = if is_search { "Search" } else { "" };
    format!("{prefix}{}", words.collect::<String>())
}

fn error(code: ErrorCode, is_search: bool) -> Value {
    let tells_rate = is_search && !matches!(code, ErrorCode::InvalidApiKey | ErrorCode::MethodNotAllowed);
    let rate: &[&str] = if tells_rate { &RATE_HEADERS } else { &[] };
    let own: &[&str] = match code.http_status() {
        401 => &["WWW-Authenticate"],
        405 => &["Allow"],
        429 | 503 => &["Retry-After"],
        _ => &[],
    };
    json!({
        "description": format!("`{}`: {}.", code.as_str(), crate::error::message(code)),
        "headers": references(COMMON_HEADERS.iter().chain(rate).chain(own)),
        "content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": examples::error(code, is_search),
        }},
    })
}

fn references<'a>(names: impl Iterator<Item = &'a &'a str>) -> Map<String, Value> {
    let reference = |name: &&str| json!({"$ref": format!("#/components/headers/{name}")});
    names.map(|name| ((*name).to_owned(), reference(name))).collect()
}
