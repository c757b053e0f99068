//! What holds for every request and every response, whatever is asked: the request's id, one log line, CORS, no caching,
//! an answer in JSON to addresses that are none and to our own panics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use http::header::{CACHE_CONTROL, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use proto::error_code::ErrorCode;
use runtime::ambient::Ambient;
use runtime::{request_id, telemetry};
use tracing::Instrument as _;

use super::Gateway;
use super::cors::Cors;
use crate::error::ApiError;
use crate::head_refusals;

/// The header with the request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static(request_id::HEADER);

/// The field of the request's span that the handlers fill in with the account.
pub const ACCOUNT_FIELD: &str = "account.id";

/// Wraps the answering of a request.
pub async fn wrap(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let id = id_of(request.headers(), &gateway.ambient);
    let origin = request.headers().get(ORIGIN).cloned();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none", MatchedPath::as_str)
        .to_owned();
    let span = tracing::info_span!(
        "request",
        otel.name = format!("{} {route}", request.method()),
        otel.kind = "server",
        http.request.method = %request.method(),
        http.route = route,
        request.id = id,
        account.id = tracing::field::Empty,
    );
    telemetry::continue_trace(&span, request.headers());
    let log = LogLine {
        started: Instant::now(),
        method: request.method().clone(),
        route,
        outcome: None,
    };
    let work = async move {
        let mut log = log;
        let mut response = answer(&gateway.cors, request, next).await;
        log.outcome = Some(response.status());
        gateway.cors.write(origin.as_ref(), response.headers_mut());
        response
            .headers_mut()
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-store"));
        response
    };
    let mut response = request_id::scope(id.clone(), work.instrument(span)).await;
    // An id that is valid is a header's value.
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

async fn answer(cors: &Cors, request: Request, next: Next) -> Response {
    if Cors::is_preflight(request.method(), request.headers()) {
        let mut response = StatusCode::NO_CONTENT.into_response();
        cors.write_preflight(response.headers_mut());
        return response;
    }
    if head_refusals::is_too_large(&request) {
        return ApiError::invalid(vec![head_refusals::too_large()]).into_response();
    }
    if request.headers().get_all(HOST).iter().nth(1).is_some() {
        return ApiError::invalid(vec![head_refusals::two_hosts()]).into_response();
    }
    if !is_address(request.uri().path()) {
        return ApiError::new(ErrorCode::NotFound).into_response();
    }
    // What a panic leaves behind is this request's own; what is shared is guarded against poison where it is.
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answered.unwrap_or_else(|_| {
        tracing::error!("a request panicked");
        metrics::counter!("gateway_panics_total").increment(1);
        ApiError::new(ErrorCode::Internal).into_response()
    })
}

/// The caller's own id if it gave one that may be used, else a new one.
fn id_of(headers: &HeaderMap, ambient: &Ambient) -> String {
    let own = headers
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| request_id::is_valid(id));
    own.map_or_else(|| ambient.uuid_v7().to_string(), str::to_owned)
}

/// Whether a path can be an address of ours: none of its steps is `.` or `..`. (What is encoded in a step is part of its
/// name, and no name of ours holds anything that has to be.)
fn is_address(path: &str) -> bool {
    path.split('/').all(|step| step != "." && step != "..")
}

/// The one line of a request, written when it is answered, or when its caller has left before that. It names the route,
/// never the address, the query or a header.
struct LogLine {
    started: Instant,
    method: Method,
    route: String,
    outcome: Option<StatusCode>,
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        let status = self
            .outcome
            .map_or_else(|| "abandoned".to_owned(), |status| status.as_u16().to_string());
        tracing::info!(
            http.response.status_code = status,
            duration_us = took.as_micros(),
            "{} {}",
            self.method,
            self.route,
        );
        let labels = [("route", self.route.clone()), ("status", status)];
        metrics::histogram!("gateway_request_duration_seconds", &labels).record(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_nowhere_else() {
        for path in [
            "/",
            "/api/v1/keys/0198",
            "/a.b/...",
            "*",
            "",
            "/a%2Fb",
            "/%2e%2e",
            "/%",
            "/%ff",
        ] {
            assert!(is_address(path), "{path}");
        }
        for path in ["/..", "/api/../v1", "/.", "/a/./b", "/a/.."] {
            assert!(!is_address(path), "{path}");
        }
    }

    #[test]
    fn a_callers_own_id_is_used_if_it_may_be() {
        let ambient = Ambient::system();
        let id = |value: &'static str| {
            id_of(
                &HeaderMap::from_iter([(REQUEST_ID, value.parse().unwrap())]),
                &ambient,
            )
        };
        assert_eq!(id("My-id_1.2"), "My-id_1.2");
        for unusable in ["", "a b", "é", "<script>"] {
            assert_ne!(id(unusable), unusable);
            assert_eq!(id(unusable).len(), 36);
        }
        assert_eq!(id_of(&HeaderMap::new(), &ambient).len(), 36);
    }
}
