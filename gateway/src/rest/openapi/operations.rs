//! The list of operations: what each asks for, answers, and may be refused with.

use proto::error_code::ErrorCode::{
    self, IdempotencyKeyReused, InsufficientCredits, Internal, InvalidApiKey, InvalidToken, KeyLimitReached,
    KeyNotFound, KeyRevoked, MethodNotAllowed, PayloadTooLarge, RateLimitExceeded, Timeout, Unavailable,
    UnsupportedMediaType, ValidationError,
};

/// An operation.
pub(in crate::rest) struct Operation {
    pub(super) id: &'static str,
    pub(in crate::rest) method: &'static str,
    /// Below [`crate::rest::BASE_PATH`].
    pub(in crate::rest) path: &'static str,
    pub(super) tag: &'static str,
    pub(in crate::rest) summary: &'static str,
    pub(in crate::rest) description: &'static str,
    /// Alternatives of credentials.
    pub(super) security: &'static [&'static str],
    /// Names of the parameters that may stand in its query string.
    pub(super) query: &'static [&'static str],
    /// Name of the schema of its body, and whether there has to be one.
    pub(super) body: Option<(&'static str, bool)>,
    /// Status, description and name of the schema when it has worked.
    pub(super) success: (&'static str, &'static str, &'static str),
    /// What it may be refused with.
    pub(super) errors: &'static [ErrorCode],
}

/// What a request shows of who makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rest) enum Credential {
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
    pub(in crate::rest) fn credential(&self) -> Credential {
        match self.security {
            [] => Credential::None,
            SESSION => Credential::Session,
            EITHER => Credential::Either,
            _ => Credential::ApiKey,
        }
    }

    /// Whether it counts against the rate.
    pub(super) fn is_rated(&self) -> bool {
        self.errors.contains(&RateLimitExceeded)
    }

    /// Whether it costs credits.
    pub(super) fn is_charged(&self) -> bool {
        self.errors.contains(&InsufficientCredits)
    }
}

const API_KEY: &[&str] = &["ApiKeyHeader", "ApiKeyBearer"];
const SESSION: &[&str] = &["SessionJwt"];
/// What any request may be refused with, whatever it asks for: its head breaks a rule.
pub(super) const EVERY_REQUEST: [ErrorCode; 1] = [ValidationError];
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
pub(super) const EITHER: &[&str] = &["ApiKeyHeader", "ApiKeyBearer", "SessionJwt"];

/// Every operation.
pub(in crate::rest) const OPERATIONS: [Operation; 14] = [
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
