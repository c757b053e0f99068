//! The description of the interface, OpenAPI 3.1: made from what parses and what answers.
//!
//! - Bodies of searches: the table by which they are parsed ([`proto::search_properties::PROPERTIES`]), and the names
//!   and limits of `proto`.
//! - Responses: the types that are answered, by their `ToSchema` ([`schemas`]).
//! - Bounds: the constants of the rules that hold them ([`bounds`]).
//! - Errors: the table of error codes and the texts that go with them ([`responses`]).
//! - Examples of responses are written by the same code that writes responses ([`examples`]).
//!
//! What is left is prose and the list of operations, below. The document never changes while the process runs: it is
//! made once.

mod bounds;
mod examples;
mod parameters;
mod responses;
mod schemas;

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use proto::error_code::ErrorCode::{
    self, IdempotencyKeyReused, InsufficientCredits, Internal, InvalidApiKey, InvalidToken, KeyLimitReached,
    KeyNotFound, KeyRevoked, MethodNotAllowed, PayloadTooLarge, RateLimitExceeded, Timeout, Unavailable,
    UnsupportedMediaType, ValidationError,
};
use proto::search_query::{MAX_ITEM_CHARS, MAX_ITEMS, MAX_PAGED_RECORDS, MAX_TERMS, MAX_TEXT_CHARS};
use serde_json::{Map, Value, json};

use super::BASE_PATH;
use crate::body::json::MAX_DEPTH;
use crate::server::{MAX_HEAD_BYTES, MAX_HEADERS};

/// Version of OpenAPI.
const OPENAPI_VERSION: &str = "3.1.0";

/// How long the document may be kept by whoever asks for it.
pub(super) const CACHED: &str = "public, max-age=300";

/// Name of the interface.
pub(super) const TITLE: &str = "Developer Search API";

/// What it is for.
pub(super) const SUMMARY: &str = "Search people and companies; manage API keys.";

/// Version of the interface.
const VERSION: &str = "1.0.0";

/// What all operations have in common, in prose.
const DESCRIPTION: &str = "\
People search and company search over business lead data, and management of the API keys that searches are made with.

**Credentials.** A search, and what is asked before one, shows an API key, as `X-API-Key: <key>` or \
`Authorization: Bearer <key>`; both are fine if they are the same. The key operations show a session token of the \
dashboard (a JWT) as `Authorization: Bearer <token>`; an API key is of no worth there. The credits are told to either.

**Requests.** Bodies are JSON in UTF-8. Unknown and repeated properties are refused, and so is `null` where it is not \
named; a refusal lists every problem at once. A blank text or an empty list is the same as leaving the property out.

**Responses.** Every response carries `X-Request-Id`: the caller's own if it is usable, else a new one. Every error is \
JSON with `success: false`, `code`, `message` and `requestId`; addresses that are none answer 404 `NOT_FOUND`, methods \
that an address does not know 405 with `Allow`. `HEAD` is known where `GET` is. Times are RFC 3339 in UTC with \
milliseconds.

**Credits.** A search is charged exactly when it is answered 200; an empty result is one. With an `Idempotency-Key`, \
which is kept for 24 hours for the account and the operation, a repeat of the same body is answered anew and never \
charged again; the same key with another body is refused with 422. Only a charge binds a key.

**Rate.** All keys of an account share one allowance, and every authenticated request counts but for those on keys. A full allowance may be \
used at once and then fills evenly. `X-RateLimit-Reset` is the number of seconds until it is full again, not a time. A \
client that has shown many unknown API keys is answered 429 for a while too, without the headers of a rate.";

/// An operation.
pub(super) struct Operation {
    id: &'static str,
    pub(super) method: &'static str,
    /// Below [`BASE_PATH`].
    pub(super) path: &'static str,
    tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    /// Alternatives of credentials.
    security: &'static [&'static str],
    /// Names of the parameters that may stand in its query string.
    query: &'static [&'static str],
    /// Name of the schema of its body, and whether there has to be one.
    body: Option<(&'static str, bool)>,
    /// Status, description and name of the schema when it has worked.
    success: (&'static str, &'static str, &'static str),
    /// What it may be refused with.
    errors: &'static [ErrorCode],
}

/// What a request shows of who makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credential {
    /// An API key.
    ApiKey,
    /// A session token.
    Session,
    /// Either of them.
    Either,
    /// Nothing.
    None,
}

impl Operation {
    /// What it asks for.
    pub(super) fn credential(&self) -> Credential {
        match self.security {
            [] => Credential::None,
            SESSION => Credential::Session,
            EITHER => Credential::Either,
            _ => Credential::ApiKey,
        }
    }

    /// Whether it counts against the rate.
    fn is_rated(&self) -> bool {
        self.errors.contains(&RateLimitExceeded)
    }

    /// Whether it costs credits.
    fn is_charged(&self) -> bool {
        self.errors.contains(&InsufficientCredits)
    }
}

/// Every operation.
pub(super) fn operations() -> &'static [Operation] {
    &OPERATIONS
}

const API_KEY: &[&str] = &["ApiKeyHeader", "ApiKeyBearer"];
const SESSION: &[&str] = &["SessionJwt"];
/// What any request may be refused with, whatever it asks for: its head breaks a rule.
const EVERY_REQUEST: [ErrorCode; 1] = [ValidationError];
const SEARCH_ERRORS: &[ErrorCode] = &[
    ValidationError,
    InvalidApiKey,
    InsufficientCredits,
    MethodNotAllowed,
    PayloadTooLarge,
    UnsupportedMediaType,
    IdempotencyKeyReused,
    RateLimitExceeded,
    Internal,
    Unavailable,
    Timeout,
];

/// Of an operation with a search's body that costs nothing.
const FREE_ERRORS: &[ErrorCode] = &[
    ValidationError,
    InvalidApiKey,
    MethodNotAllowed,
    PayloadTooLarge,
    UnsupportedMediaType,
    RateLimitExceeded,
    Internal,
    Unavailable,
    Timeout,
];
const EITHER: &[&str] = &["ApiKeyHeader", "ApiKeyBearer", "SessionJwt"];

/// Every operation.
const OPERATIONS: [Operation; 14] = [
    Operation {
        id: "searchPeople",
        method: "post",
        path: "/people/search",
        tag: "Search",
        summary: "Search people",
        description: "Finds people. Company filters apply to the company a person works at. E-mail addresses are \
                      locked (null) unless this account has revealed them.",
        security: API_KEY,
        query: &[],
        body: Some(("PeopleSearchRequest", true)),
        success: ("200", "One page of people.", "PeopleSearchResponse"),
        errors: SEARCH_ERRORS,
    },
    Operation {
        id: "searchCompanies",
        method: "post",
        path: "/companies/search",
        tag: "Search",
        summary: "Search companies",
        description: "Finds companies. A location is looked for in the company's own place and in those of its people.",
        security: API_KEY,
        query: &[],
        body: Some(("CompanySearchRequest", true)),
        success: ("200", "One page of companies.", "CompanySearchResponse"),
        errors: SEARCH_ERRORS,
    },
    Operation {
        id: "countPeople",
        method: "post",
        path: "/people/count",
        tag: "Search",
        summary: "Count people",
        description: "Tells how many people meet a search, exactly: the `total` that the search with the same body would \
                      have. Free of charge; it counts against the rate.",
        security: API_KEY,
        query: &[],
        body: Some(("PeopleSearchRequest", true)),
        success: ("200", "The count.", "CountResponse"),
        errors: FREE_ERRORS,
    },
    Operation {
        id: "countCompanies",
        method: "post",
        path: "/companies/count",
        tag: "Search",
        summary: "Count companies",
        description: "Tells how many companies meet a search, exactly: the `total` that the search with the same body \
                      would have. Free of charge; it counts against the rate.",
        security: API_KEY,
        query: &[],
        body: Some(("CompanySearchRequest", true)),
        success: ("200", "The count.", "CountResponse"),
        errors: FREE_ERRORS,
    },
    Operation {
        id: "explainPeople",
        method: "post",
        path: "/people/explain",
        tag: "Search",
        summary: "Explain a search for people",
        description: "Tells how a search for people would be understood, without searching: each filter after \
                      normalisation, the places that a location may mean, order, page and cost. Free of charge; it \
                      counts against the rate.",
        security: API_KEY,
        query: &[],
        body: Some(("PeopleSearchRequest", true)),
        success: ("200", "The explanation.", "ExplainResponse"),
        errors: FREE_ERRORS,
    },
    Operation {
        id: "explainCompanies",
        method: "post",
        path: "/companies/explain",
        tag: "Search",
        summary: "Explain a search for companies",
        description: "Tells how a search for companies would be understood, without searching: each filter after \
                      normalisation, the places that a location may mean, order, page and cost. Free of charge; it \
                      counts against the rate.",
        security: API_KEY,
        query: &[],
        body: Some(("CompanySearchRequest", true)),
        success: ("200", "The explanation.", "ExplainResponse"),
        errors: FREE_ERRORS,
    },
    Operation {
        id: "getCredits",
        method: "get",
        path: "/credits",
        tag: "Credits",
        summary: "Balance and ledger",
        description: "Tells the balance of the account and what has moved it, newest first, a page at a time. Free of \
                      charge; it counts against the rate (with a session token, at the default rate).",
        security: EITHER,
        query: &["CreditsLimit", "CreditsCursor"],
        body: None,
        success: ("200", "Balance and ledger.", "CreditsResponse"),
        errors: &[
            ValidationError,
            InvalidApiKey,
            InvalidToken,
            MethodNotAllowed,
            RateLimitExceeded,
            Internal,
            Unavailable,
            Timeout,
        ],
    },
    Operation {
        id: "suggest",
        method: "get",
        path: "/suggest/{vocabulary}",
        tag: "Search",
        summary: "Suggest values",
        description: "Tells what the beginning of a text may become, among all places, business types, job titles or \
                      tags that records have, typing errors allowed, and how many a search would find; some seconds \
                      behind while records change. Free of charge; it counts against the rate.",
        security: API_KEY,
        query: &["SuggestTyped", "SuggestLimit"],
        body: None,
        success: ("200", "Suggestions, the best first.", "SuggestResponse"),
        errors: &[
            ValidationError,
            InvalidApiKey,
            MethodNotAllowed,
            RateLimitExceeded,
            Internal,
            Unavailable,
            Timeout,
        ],
    },
    Operation {
        id: "listKeys",
        method: "get",
        path: "/keys",
        tag: "Keys",
        summary: "List API keys",
        description: "All keys of the account, newest first, revoked ones too. Never their secrets.",
        security: SESSION,
        query: &[],
        body: None,
        success: ("200", "The keys.", "ApiKeyList"),
        errors: &[InvalidToken, MethodNotAllowed, Internal, Unavailable, Timeout],
    },
    Operation {
        id: "createKey",
        method: "post",
        path: "/keys",
        tag: "Keys",
        summary: "Create an API key",
        description: "Makes a key. Its secret is in this response and nowhere else. The body may be left out.",
        security: SESSION,
        query: &[],
        body: Some(("CreateKeyRequest", false)),
        success: ("201", "The key and its secret.", "ApiKeyCreated"),
        errors: &[
            ValidationError,
            InvalidToken,
            MethodNotAllowed,
            KeyLimitReached,
            PayloadTooLarge,
            UnsupportedMediaType,
            Internal,
            Unavailable,
            Timeout,
        ],
    },
    Operation {
        id: "renameKey",
        method: "patch",
        path: "/keys/{id}",
        tag: "Keys",
        summary: "Rename an API key",
        description: "Gives an active key another name.",
        security: SESSION,
        query: &[],
        body: Some(("RenameKeyRequest", true)),
        success: ("200", "The key.", "ApiKeyRenamed"),
        errors: &[
            ValidationError,
            InvalidToken,
            KeyNotFound,
            MethodNotAllowed,
            KeyRevoked,
            PayloadTooLarge,
            UnsupportedMediaType,
            Internal,
            Unavailable,
            Timeout,
        ],
    },
    Operation {
        id: "revokeKey",
        method: "delete",
        path: "/keys/{id}",
        tag: "Keys",
        summary: "Revoke an API key",
        description: "Ends a key for good, within a second. Again: the same answer, with the time of the first.",
        security: SESSION,
        query: &[],
        body: None,
        success: ("200", "Key revoked.", "ApiKeyRevoked"),
        errors: &[
            InvalidToken,
            KeyNotFound,
            MethodNotAllowed,
            Internal,
            Unavailable,
            Timeout,
        ],
    },
    Operation {
        id: "regenerateKey",
        method: "post",
        path: "/keys/{id}/regenerate",
        tag: "Keys",
        summary: "Replace the secret of an API key",
        description: "Gives an active key a new secret, which is in this response and nowhere else. The one before \
                      stops working within a second.",
        security: SESSION,
        query: &[],
        body: None,
        success: ("200", "The key and its new secret.", "ApiKeyCreated"),
        errors: &[
            InvalidToken,
            KeyNotFound,
            MethodNotAllowed,
            KeyRevoked,
            Internal,
            Unavailable,
            Timeout,
        ],
    },
    Operation {
        id: "getOpenApi",
        method: "get",
        path: "/openapi.json",
        tag: "Description",
        summary: "This description",
        description: "The OpenAPI document of this interface. No credential is needed.",
        security: &[],
        query: &[],
        body: None,
        success: ("200", "The document.", "OpenApiDocument"),
        errors: &[MethodNotAllowed, Internal],
    },
];

/// Serves the document.
pub async fn serve() -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, CACHED)];
    (headers, Bytes::from_static(document())).into_response()
}

/// The document as it is served.
#[must_use]
pub fn document() -> &'static [u8] {
    static DOCUMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut text = format!("{:#}", build());
        text.push('\n');
        text.into_bytes()
    });
    &DOCUMENT
}

fn description() -> String {
    format!(
        "{DESCRIPTION}\n\n\
         **Limits.** A body has at most 1 MiB, unless the operator has set another size, and {MAX_DEPTH} levels; the head \
         of a request at most {MAX_HEADERS} headers and {} KiB. A text filter has at most {MAX_TEXT_CHARS} characters and \
         {MAX_TERMS} terms, a list {MAX_ITEMS} items of {MAX_ITEM_CHARS} characters. Page numbers reach \
         {MAX_PAGED_RECORDS} records, cursors all of them.",
        MAX_HEAD_BYTES / 1024,
    )
}

/// The words of a table.
fn words<T>(choices: &'static [(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(word, _)| *word).collect()
}

fn build() -> Value {
    let mut schemas = schemas::all();
    examples::write(&mut schemas);
    let mut paths = Map::new();
    for operation in &OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = describe(operation);
    }
    json!({
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": TITLE,
            "version": VERSION,
            "summary": SUMMARY,
            "description": description(),
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "servers": [{
            "url": BASE_PATH,
            "description": "The server that this document comes from, be it production, staging or local.",
            "x-internal": false,
        }],
        "tags": [
            {"name": "Search", "description": "Searches, made with an API key and paid for with credits."},
            {"name": "Credits", "description": "What searches are paid with."},
            {"name": "Keys", "description": "API keys, managed with a session token of the dashboard."},
            {"name": "Description", "description": "The interface itself."},
        ],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "ApiKeyHeader": {
                    "type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key.",
                },
                "ApiKeyBearer": {"type": "http", "scheme": "bearer", "description": "An API key."},
                "SessionJwt": {
                    "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "A session token of the dashboard, which is checked as RFC8725 asks: the algorithm is that of our \
                                    configuration, never the token's own word.",
                },
            },
            "parameters": parameters::all(),
            "headers": responses::headers(),
            "responses": responses::errors(),
            "schemas": schemas,
        },
    })
}

fn describe(operation: &Operation) -> Value {
    let (is_rated, is_charged) = (operation.is_rated(), operation.is_charged());
    let mut parameters = vec![json!({"$ref": "#/components/parameters/XRequestId"})];
    if operation.path.contains("{id}") {
        parameters.insert(0, json!({"$ref": "#/components/parameters/KeyId"}));
    }
    if operation.path.contains("{vocabulary}") {
        parameters.insert(0, json!({"$ref": "#/components/parameters/Vocabulary"}));
    }
    if is_charged {
        parameters.push(json!({"$ref": "#/components/parameters/IdempotencyKey"}));
    }
    let in_query = operation.query.iter();
    parameters.extend(in_query.map(|name| json!({"$ref": format!("#/components/parameters/{name}")})));
    let (status, description, schema) = operation.success;
    let mut answers = Map::new();
    answers.insert(
        status.to_owned(),
        responses::success(operation.id, description, schema, is_rated, is_charged),
    );
    for code in EVERY_REQUEST.iter().chain(operation.errors) {
        answers.insert(
            code.http_status().to_string(),
            responses::reference(*code, is_rated),
        );
    }
    if operation.security == EITHER {
        answers.insert("401".to_owned(), responses::credential_refused());
    }
    let security: Vec<_> = operation
        .security
        .iter()
        .map(|scheme| json!({*scheme: []}))
        .collect();
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "security": security,
        "parameters": parameters,
        "responses": answers,
    });
    if let Some((schema, required)) = operation.body {
        described["requestBody"] = json!({
            "description": examples::body(schema),
            "required": required,
            "content": {"application/json": {
                "schema": {"$ref": format!("#/components/schemas/{schema}")},
                "examples": examples::requests(schema),
            }},
        });
    }
    described
}

#[cfg(test)]
mod tests;
