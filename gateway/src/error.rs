//! What a refusal looks like to a REST caller: one type, one place where it becomes a response.
//!
//! The code decides the status and the text; no text of a service, a library or the system reaches a caller. What has
//! gone wrong on our side is logged here, once, with its cause.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use proto::error_code::ErrorCode;
use proto::violation::{self, PathSegment, Violation, ViolationCode};
use serde::Serialize;
use tonic::Status;
use utoipa::ToSchema;

/// Most problems listed; all are counted. More than this comes from no honest caller.
pub const MAX_ISSUES: usize = 1_000;

/// Most characters of a text for people in an answer. What is told of a request is cut long before (held by `fuzz`).
pub const MAX_MESSAGE_CHARS: usize = 2_000;

/// When to try again after our side was not there.
const UNAVAILABLE_RETRY_AFTER: Duration = Duration::from_secs(1);

/// A refusal.
#[derive(Clone, Debug)]
pub struct ApiError {
    code: ErrorCode,
    violations: Vec<Violation>,
    retry_after: Option<Duration>,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Error {
    /// Always `false`.
    #[schema(example = false)]
    pub success: bool,
    /// Which error.
    #[schema(schema_with = error_code_schema)]
    pub code: &'static str,
    /// The error in words, for people: decide by `code`.
    #[schema(example = "The request is invalid")]
    pub message: String,
    /// The `X-Request-Id` of this response.
    #[schema(example = "0198c2d4-7a10-7c3e-9f52-3b1d8e6f4a20")]
    pub request_id: String,
    /// Every problem of the request; only where `code` is `VALIDATION_ERROR`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub issues: Vec<Issue>,
}

/// One problem of a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct Issue {
    /// Where: names of properties and indices of items, from 0. Empty for the body as a whole; the name of the header
    /// where a header is the problem.
    #[schema(value_type = Vec<IssuePathSegment>)]
    pub path: Vec<IssuePathSegment>,
    /// Which kind of problem.
    #[schema(schema_with = issue_code_schema)]
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it, where that is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hint: Option<String>,
}

/// A step of the way to a problem.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum IssuePathSegment {
    /// Into a property.
    Name(String),
    /// Into an item.
    Index(usize),
}

impl ApiError {
    /// A refusal with this code.
    #[must_use]
    pub const fn new(code: ErrorCode) -> Self {
        Self {
            code,
            violations: Vec::new(),
            retry_after: None,
        }
    }

    /// A refusal of a request that breaks these rules.
    #[must_use]
    pub const fn invalid(violations: Vec<Violation>) -> Self {
        Self {
            code: ErrorCode::ValidationError,
            violations,
            retry_after: None,
        }
    }

    /// A refusal for now: the next request passes after this time.
    #[must_use]
    pub const fn rate_limited(retry_after: Duration) -> Self {
        Self {
            code: ErrorCode::RateLimitExceeded,
            violations: Vec::new(),
            retry_after: Some(retry_after),
        }
    }

    /// Which refusal it is.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// The body of the response to the request with this id.
    #[must_use]
    pub fn body(self, request_id: String) -> Error {
        let message = if self.violations.is_empty() {
            message(self.code).to_owned()
        } else {
            violation::summary(&self.violations)
        };
        Error {
            success: false,
            code: self.code.as_str(),
            message,
            request_id,
            issues: self
                .violations
                .into_iter()
                .take(MAX_ISSUES)
                .map(Issue::from)
                .collect(),
        }
    }
}

/// The answer of a service that did not do as asked.
impl From<Status> for ApiError {
    fn from(status: Status) -> Self {
        let violations = violation::from_status(&status);
        let code = match ErrorCode::of(&status) {
            // Credentials between our own processes are no matter of the caller's; nor are rules it can't have broken.
            ErrorCode::InvalidApiKey | ErrorCode::InvalidToken | ErrorCode::GrantIdReused => {
                ErrorCode::Internal
            }
            ErrorCode::ValidationError if violations.is_empty() => ErrorCode::Internal,
            code => code,
        };
        match code {
            ErrorCode::Internal => {
                tracing::error!(rpc.code = ?status.code(), error = status.message(), "a service failed");
            }
            ErrorCode::Unavailable | ErrorCode::Timeout => {
                tracing::warn!(rpc.code = ?status.code(), error = status.message(), "a service did not answer");
            }
            _ => {}
        }
        Self {
            code,
            violations,
            retry_after: None,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let unavailable = (self.code == ErrorCode::Unavailable).then_some(UNAVAILABLE_RETRY_AFTER);
        let retry_after = self.retry_after.or(unavailable);
        let body = self.body(runtime::request_id::current().unwrap_or_default());
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(delay) = retry_after {
            headers.insert(RETRY_AFTER, delay.as_secs().max(1).into());
        }
        response
    }
}

impl From<Violation> for Issue {
    fn from(violation: Violation) -> Self {
        let segment = |segment| match segment {
            PathSegment::Name(name) => IssuePathSegment::Name(name),
            PathSegment::Index(index) => IssuePathSegment::Index(index),
        };
        Self {
            path: violation.path.into_iter().map(segment).collect(),
            code: violation.code.as_str(),
            message: violation.message,
            hint: violation.hint,
        }
    }
}

/// What a refusal says where no violations say it.
#[must_use]
pub const fn message(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::ValidationError => "The request is invalid",
        ErrorCode::InvalidApiKey => {
            "The API key is missing or invalid: send an active one as X-API-Key, or as Authorization: Bearer"
        }
        ErrorCode::InvalidToken => {
            "The session token is missing or invalid: send the dashboard's JWT, not an API key, as Authorization: Bearer"
        }
        ErrorCode::InsufficientCredits => "The account does not have enough credits for this request",
        ErrorCode::NotFound => "There is nothing at this path; the operations are below /api/v1",
        ErrorCode::KeyNotFound => "The account has no such API key",
        ErrorCode::MethodNotAllowed => {
            "This path does not support this method; the Allow header lists those that it does"
        }
        ErrorCode::KeyRevoked => "The API key is revoked, which is for good",
        ErrorCode::KeyLimitReached => {
            "The account has as many active API keys as it may have; revoke one first"
        }
        ErrorCode::PayloadTooLarge => "The body is too large",
        ErrorCode::UnsupportedMediaType => {
            "The body has to be sent as Content-Type: application/json, uncompressed"
        }
        ErrorCode::IdempotencyKeyReused => "This Idempotency-Key was used for another request",
        ErrorCode::GrantIdReused => "This grant id was used for another grant",
        ErrorCode::RateLimitExceeded => {
            "Too many requests; try again after the seconds in the Retry-After header"
        }
        ErrorCode::Internal => "Something went wrong on our side",
        ErrorCode::Unavailable => "The service is not available now; try again shortly",
        ErrorCode::Timeout => "The request took too long",
    }
}

fn error_code_schema() -> utoipa::openapi::schema::Object {
    let codes = proto::error_code::ALL
        .into_iter()
        .filter(|code| *code != ErrorCode::GrantIdReused);
    string_enum(codes.map(ErrorCode::as_str), "Which error.")
}

fn issue_code_schema() -> utoipa::openapi::schema::Object {
    string_enum(
        violation::ALL_CODES.into_iter().map(ViolationCode::as_str),
        "Which kind of problem.",
    )
}

fn string_enum(
    values: impl Iterator<Item = &'static str>,
    description: &'static str,
) -> utoipa::openapi::schema::Object {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::String)
        .enum_values(Some(values.collect::<Vec<_>>()))
        .description(Some(description))
        .build()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use serde_json::Value;

    use super::*;

    async fn rendered(error: ApiError) -> (http::response::Parts, Value) {
        let (parts, body) = error.into_response().into_parts();
        (
            parts,
            serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap(),
        )
    }

    #[tokio::test]
    async fn every_code_is_rendered_in_the_one_shape() {
        for code in proto::error_code::ALL {
            let work = rendered(ApiError::new(code));
            let (parts, body) = runtime::request_id::scope("the-id".to_owned(), work).await;
            assert_eq!(parts.status.as_u16(), code.http_status());
            assert_eq!(parts.headers["content-type"], "application/json");
            assert_eq!(
                parts.headers.contains_key("www-authenticate"),
                parts.status == 401
            );
            assert_eq!(
                parts.headers.contains_key("retry-after"),
                parts.status == 503,
                "{code:?}"
            );
            let expected = serde_json::json!({
                "success": false, "code": code.as_str(), "message": message(code), "requestId": "the-id",
            });
            assert_eq!(body, expected);
        }
    }

    #[tokio::test]
    async fn problems_are_listed_and_the_first_is_named() {
        let violations = vec![
            Violation::at("jobTitles", ViolationCode::TooLong, "has 201 characters").item(3),
            Violation::at("limit", ViolationCode::TooBig, "is 300").hint("at most 250"),
        ];
        let (parts, body) = rendered(ApiError::invalid(violations)).await;
        assert_eq!(parts.status, 400);
        assert_eq!(
            body["message"],
            "2 problems, the first: jobTitles[3]: has 201 characters"
        );
        assert_eq!(
            body["issues"],
            serde_json::json!([
                {"path": ["jobTitles", 3], "code": "too_long", "message": "has 201 characters"},
                {"path": ["limit"], "code": "too_big", "message": "is 300", "hint": "at most 250"},
            ])
        );
    }

    #[tokio::test]
    async fn nothing_of_ours_is_told() {
        let secrets = [
            Status::internal("SELECT * FROM secrets at 10.0.0.1"),
            Status::unauthenticated("the service token is wrong"),
            Status::unknown("panicked"),
            ErrorCode::InvalidToken.status("the service token is wrong"),
            ErrorCode::ValidationError.status("without violations"),
        ];
        for status in secrets {
            let (parts, body) = rendered(status.into()).await;
            assert_eq!(parts.status, 500);
            assert_eq!(body["message"], message(ErrorCode::Internal));
        }
    }

    #[tokio::test]
    async fn the_refusals_of_the_services_keep_their_code() {
        for code in [
            ErrorCode::KeyNotFound,
            ErrorCode::KeyRevoked,
            ErrorCode::KeyLimitReached,
        ] {
            let (parts, body) = rendered(code.status("internal words").into()).await;
            assert_eq!(
                (parts.status.as_u16(), &body["code"]),
                (code.http_status(), &code.as_str().into())
            );
            assert_eq!(body["message"], message(code));
        }
        let violations = vec![Violation::at(
            "cursor",
            ViolationCode::InvalidFormat,
            "is of another query",
        )];
        let (_, body) = rendered(violation::to_status(&violations).into()).await;
        assert_eq!(body["issues"][0]["path"], serde_json::json!(["cursor"]));
    }

    #[tokio::test]
    async fn a_rate_limited_caller_is_told_when_to_come_again() {
        let (parts, _) = rendered(ApiError::rate_limited(Duration::from_secs(7))).await;
        assert_eq!(
            (parts.status.as_u16(), &parts.headers["retry-after"]),
            (429, &HeaderValue::from_static("7"))
        );
    }
}
