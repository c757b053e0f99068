//! Responses and their headers.

use proto::error_code::{self, ErrorCode};
use serde_json::{Map, Value, json};

use super::examples;

/// The headers of every search's response from the rate limit on.
const RATE_HEADERS: [(&str, &str); 5] = [
    ("X-RateLimit-Limit", "XRateLimitLimit"),
    ("X-RateLimit-Remaining", "XRateLimitRemaining"),
    ("X-RateLimit-Reset", "XRateLimitReset"),
    ("RateLimit-Policy", "RateLimitPolicy"),
    ("RateLimit", "RateLimit"),
];

/// Every header of a response.
pub(super) fn headers() -> Value {
    let integer = |description: &str, minimum: u64, example: u64| {
        json!({
            "description": description, "schema": {"type": "integer", "minimum": minimum}, "example": example,
        })
    };
    let text = |description: &str, example: &str| json!({"description": description, "schema": {"type": "string"}, "example": example});
    let replayed = "Set to `true` where the request had been charged before and was not charged again.";
    let mut headers = json!({
        "XRequestId": text("Id of the request.", examples::REQUEST_ID),
        "XRateLimitLimit": integer("Requests of the account in a window.", 1, 120),
        "XRateLimitRemaining": integer("Requests that would pass now.", 0, 119),
        "XRateLimitReset": integer("Seconds until the allowance is full again, rounded up.", 0, 1),
        "RateLimitPolicy": text(
            "The rate (draft-ietf-httpapi-ratelimit-headers): `q` requests in `w` seconds.",
            "\"default\";q=120;w=60",
        ),
        "RateLimit": text(
            "The state of the rate: `r` requests remain, all are there again in `t` seconds.",
            "\"default\";r=119;t=1",
        ),
        "RetryAfter": integer("Seconds after which to try again.", 1, 1),
        "WwwAuthenticate": text("How to show a credential.", "Bearer"),
        "Allow": text("The methods that the address knows.", "POST"),
        "IdempotencyReplayed": {"description": replayed, "schema": {"type": "string", "const": "true"}, "example": "true"},
    });
    // The 401, the 429 of an address that shows too many unknown keys and failures before the rate limit have none of
    // the rate headers; all responses have an id.
    headers["XRequestId"]["required"] = true.into();
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
    let mut headers = Map::from_iter([header("X-Request-Id", "XRequestId")]);
    if is_rated {
        headers.extend(RATE_HEADERS.map(|(name, component)| header(name, component)));
    }
    if is_charged {
        headers.extend([header("Idempotency-Replayed", "IdempotencyReplayed")]);
    }
    let mut content = json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
    if let Some(example) = examples::response(operation) {
        content["example"] = example;
    }
    json!({"description": description, "headers": headers, "content": {"application/json": content}})
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
    let mut headers = Map::from_iter([header("X-Request-Id", "XRequestId")]);
    if is_search && !matches!(code, ErrorCode::InvalidApiKey | ErrorCode::MethodNotAllowed) {
        headers.extend(RATE_HEADERS.map(|(name, component)| header(name, component)));
    }
    match code.http_status() {
        401 => headers.extend([header("WWW-Authenticate", "WwwAuthenticate")]),
        405 => headers.extend([header("Allow", "Allow")]),
        429 | 503 => headers.extend([header("Retry-After", "RetryAfter")]),
        _ => {}
    }
    json!({
        "description": format!("`{}`: {}.", code.as_str(), crate::error::message(code)),
        "headers": headers,
        "content": {"application/json": {
            "schema": {"$ref": "#/components/schemas/Error"},
            "example": examples::error(code),
        }},
    })
}

fn header(name: &str, component: &str) -> (String, Value) {
    (
        name.to_owned(),
        json!({"$ref": format!("#/components/headers/{component}")}),
    )
}
