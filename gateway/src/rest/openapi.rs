//! The description of the interface, OpenAPI 3.1: made from what parses and what answers.
//!
//! - Bodies of searches: the table by which they are parsed ([`proto::search_properties::PROPERTIES`]), and the names
//!   and limits of `proto`.
//! - Responses: the types that are answered, by their `ToSchema` ([`schemas`]).
//! - Bounds: the constants of the rules that hold them ([`bounds`]).
//! - Errors: the table of error codes and the texts that go with them ([`responses`]).
//! - Examples of responses are written by the same code that writes responses ([`examples`]).
//! - Operations: one list ([`operations`]).
//!
//! What is left is prose. The document never changes while the process runs: it is made once.

mod bounds;
mod examples;
mod operations;
mod parameters;
mod responses;
mod schemas;

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use proto::search_query::{MAX_ITEM_CHARS, MAX_ITEMS, MAX_PAGED_RECORDS, MAX_TERMS, MAX_TEXT_CHARS};
use serde_json::{Map, Value, json};

pub(super) use self::operations::{Credential, OPERATIONS, Operation};
use self::operations::{EITHER, EVERY_REQUEST};
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
dashboard (a JWT) as `Authorization: Bearer <token>`; an API key is not accepted there. `GET /credits` takes either.

**Requests.** Bodies are JSON in UTF-8. Unknown and repeated properties are refused, and so is `null` where it is not \
named; a refusal lists every problem at once. A blank text or an empty list is the same as leaving the property out.

**Responses.** Every response carries `X-Request-Id`: the caller's own if it is usable, else a new one. Every error is \
JSON with `success: false`, `code`, `message` and `requestId`; unknown paths answer 404 `NOT_FOUND`, methods \
that a path does not support 405 with `Allow`. `HEAD` is supported where `GET` is. Times are RFC 3339 in UTC with \
milliseconds.

**Credits.** A search is charged exactly when it is answered 200; an empty result is one. With an `Idempotency-Key`, \
which is kept for 24 hours for the account and the operation, a repeat of the same body is answered anew and never \
charged again; the same key with another body is refused with 422. Only a charge binds a key.

**Rate.** All keys of an account share one allowance, and every authenticated request counts but for those on keys. A full allowance may be \
used at once and then fills evenly. `X-RateLimit-Reset` is the number of seconds until it is full again, not a time. A \
client that has shown many unknown API keys is answered 429 for a while too, without the headers of a rate.";

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
