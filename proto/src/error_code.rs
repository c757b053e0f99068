//! The one table of error codes: what the public JSON calls a refusal, its HTTP status, its gRPC status.
//!
//! A service refuses with [`ErrorCode::status`]; the code crosses the wire as `google.rpc.ErrorInfo.reason`, and
//! [`ErrorCode::of`] reads it back. The gateway adds nothing to this table: it only renders it.

use std::collections::HashMap;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// `google.rpc.ErrorInfo.domain` of every refusal of ours.
pub const DOMAIN: &str = "developer-search-api";

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The body or a header breaks a rule.
    ValidationError,
    /// No API key, or one of no worth.
    InvalidApiKey,
    /// No session token, or one of no worth.
    InvalidToken,
    /// The balance does not cover the cost.
    InsufficientCredits,
    /// Nothing is at this address.
    NotFound,
    /// The account has no such key.
    KeyNotFound,
    /// The address does not know this method.
    MethodNotAllowed,
    /// The key was revoked and nothing can be done with it.
    KeyRevoked,
    /// The account has as many active keys as it may.
    KeyLimitReached,
    /// The body is too large.
    PayloadTooLarge,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    /// The idempotency key is bound to another request.
    IdempotencyKeyReused,
    /// The grant id is bound to another grant. Internal: never reaches a REST caller.
    GrantIdReused,
    /// Too many requests.
    RateLimitExceeded,
    /// Our fault.
    Internal,
    /// Something that is needed is not there now.
    Unavailable,
    /// The time for the request ran out.
    Timeout,
}

/// Every code, in the order of the table.
pub const ALL: [ErrorCode; 17] = [
    ErrorCode::ValidationError,
    ErrorCode::InvalidApiKey,
    ErrorCode::InvalidToken,
    ErrorCode::InsufficientCredits,
    ErrorCode::NotFound,
    ErrorCode::KeyNotFound,
    ErrorCode::MethodNotAllowed,
    ErrorCode::KeyRevoked,
    ErrorCode::KeyLimitReached,
    ErrorCode::PayloadTooLarge,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::IdempotencyKeyReused,
    ErrorCode::GrantIdReused,
    ErrorCode::RateLimitExceeded,
    ErrorCode::Internal,
    ErrorCode::Unavailable,
    ErrorCode::Timeout,
];

impl ErrorCode {
    /// The table: name in JSON and in `ErrorInfo.reason`, HTTP status, gRPC status.
    const fn row(self) -> (&'static str, u16, Code) {
        match self {
            Self::ValidationError => ("VALIDATION_ERROR", 400, Code::InvalidArgument),
            Self::InvalidApiKey => ("INVALID_API_KEY", 401, Code::Unauthenticated),
            Self::InvalidToken => ("INVALID_TOKEN", 401, Code::Unauthenticated),
            Self::InsufficientCredits => ("INSUFFICIENT_CREDITS", 402, Code::FailedPrecondition),
            Self::NotFound => ("NOT_FOUND", 404, Code::NotFound),
            Self::KeyNotFound => ("KEY_NOT_FOUND", 404, Code::NotFound),
            Self::MethodNotAllowed => ("METHOD_NOT_ALLOWED", 405, Code::Unimplemented),
            Self::KeyRevoked => ("KEY_REVOKED", 409, Code::FailedPrecondition),
            Self::KeyLimitReached => ("KEY_LIMIT_REACHED", 409, Code::ResourceExhausted),
            Self::PayloadTooLarge => ("PAYLOAD_TOO_LARGE", 413, Code::ResourceExhausted),
            Self::UnsupportedMediaType => ("UNSUPPORTED_MEDIA_TYPE", 415, Code::InvalidArgument),
            Self::IdempotencyKeyReused => ("IDEMPOTENCY_KEY_REUSED", 422, Code::AlreadyExists),
            Self::GrantIdReused => ("GRANT_ID_REUSED", 422, Code::AlreadyExists),
            Self::RateLimitExceeded => ("RATE_LIMIT_EXCEEDED", 429, Code::ResourceExhausted),
            Self::Internal => ("INTERNAL", 500, Code::Internal),
            Self::Unavailable => ("UNAVAILABLE", 503, Code::Unavailable),
            Self::Timeout => ("TIMEOUT", 504, Code::DeadlineExceeded),
        }
    }

    /// Name in the public JSON and in `ErrorInfo.reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// HTTP status.
    #[must_use]
    pub const fn http_status(self) -> u16 {
        self.row().1
    }

    /// gRPC status.
    #[must_use]
    pub const fn grpc_code(self) -> Code {
        self.row().2
    }

    /// A refusal with this code and a text that a caller may read.
    #[must_use]
    pub fn status(self, message: impl Into<String>) -> Status {
        let details = ErrorDetails::with_error_info(self.as_str(), DOMAIN, HashMap::new());
        Status::with_error_details(self.grpc_code(), message, details)
    }

    /// Which code a service refused with; what carries none of ours is told by its gRPC status:
    /// unavailable and cancelled are [`Self::Unavailable`], an exceeded deadline is [`Self::Timeout`], all else is
    /// [`Self::Internal`].
    #[must_use]
    pub fn of(status: &Status) -> Self {
        let named = status
            .get_details_error_info()
            .filter(|info| info.domain == DOMAIN)
            .and_then(|info| ALL.into_iter().find(|code| code.as_str() == info.reason));
        named.unwrap_or(match status.code() {
            Code::Unavailable | Code::Cancelled => Self::Unavailable,
            Code::DeadlineExceeded => Self::Timeout,
            _ => Self::Internal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_survives_the_wire() {
        for code in ALL {
            let status = code.status("told");
            assert_eq!(ErrorCode::of(&status), code);
            assert_eq!(status.code(), code.grpc_code());
            assert_eq!(status.message(), "told");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::HashSet<_> = ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn foreign_refusals_are_told_by_their_status() {
        assert_eq!(ErrorCode::of(&Status::unavailable("x")), ErrorCode::Unavailable);
        assert_eq!(ErrorCode::of(&Status::deadline_exceeded("x")), ErrorCode::Timeout);
        assert_eq!(ErrorCode::of(&Status::unauthenticated("x")), ErrorCode::Internal);
        assert_eq!(ErrorCode::of(&Status::unknown("x")), ErrorCode::Internal);
    }
}
