//! Parameters of paths, query strings and headers.

use proto::credits::MAX_IDEMPOTENCY_KEY_CHARS;
use proto::suggestions::{self, MAX_TYPED_CHARS, VOCABULARIES};
use serde_json::{Value, json};

use super::bounds::{self, Bound};
use super::examples;
use crate::credits::IDEMPOTENCY_KEY_NAME;
use crate::rest::{credits, suggest};

/// Every parameter.
pub(super) fn all() -> Value {
    json!({
        "KeyId": {
            "name": "id", "in": "path", "required": true,
            "description": "Id of a key. One that is malformed or another account's is as unknown as any other.",
            "schema": {"type": "string", "format": "uuid", "maxLength": examples::KEY_ID.len()},
            "example": examples::KEY_ID,
        },
        "XRequestId": {
            "name": "X-Request-Id", "in": "header", "required": false,
            "description": "The caller's own id of the request. One of another form is replaced, not refused.",
            "schema": {"type": "string"},
            "example": examples::REQUEST_ID,
        },
        "IdempotencyKey": {
            "name": IDEMPOTENCY_KEY_NAME, "in": "header", "required": false,
            "description": "Marks repeats of the same request, which are answered anew but charged once. Kept for 24 \
                            hours, for the account and the operation.",
            "schema": Bound::Form("^[ -~]+$", MAX_IDEMPOTENCY_KEY_CHARS).schema(),
            "example": "4f1d7c1e-order-7",
        },
        "CreditsLimit": {
            "name": credits::LIMIT, "in": "query", "required": false,
            "description": format!("Entries a page; {} unless given.", credits::DEFAULT_LIMIT),
            "schema": Bound::Integer(1, credits::MAX_LIMIT).schema(),
            "example": 10,
        },
        "Vocabulary": {
            "name": suggest::VOCABULARY, "in": "path", "required": true,
            "description": "What is looked for.",
            "schema": {"type": "string", "enum": VOCABULARIES.map(|(name, _)| name)},
            "example": "jobTitles",
        },
        "SuggestTyped": {
            "name": suggest::TYPED, "in": "query", "required": true,
            "description": "What has been typed so far; a letter or a digit has to be among it.",
            "schema": Bound::Text(MAX_TYPED_CHARS).schema(),
            "example": "head of m",
        },
        "SuggestLimit": {
            "name": suggest::LIMIT, "in": "query", "required": false,
            "description": format!("Most suggestions; {} unless given.", suggestions::DEFAULT_LIMIT),
            "schema": Bound::Integer(1, suggestions::MAX_LIMIT).schema(),
            "example": 5,
        },
        "CreditsCursor": {
            "name": credits::CURSOR, "in": "query", "required": false,
            "description": "`nextCursor` of the page before.",
            "schema": bounds::ENTRY_CURSOR.schema(),
            "example": "17",
        },
    })
}
