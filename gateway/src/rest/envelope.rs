//! What holds for every request and every response, whatever is asked: the request's id, one log line, one span, CORS,
//! no caching, an answer in JSON to addresses that are none and to our own panics.
//!
//! Log, span and metric tell the route and never the path: people put their keys into paths by mistake. A method that is
//! none of HTTP's own is `_OTHER`: what a caller makes up has no series and no span name of its own.

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
use runtime::request_id;
use runtime::telemetry::{self, REQUEST};
use tracing::{Instrument as _, Span};

use super::Gateway;
use super::cors::Cors;
use crate::error::ApiError;
use crate::head_refusals;
use crate::meters::PANICS;

/// The header with the request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static(request_id::HEADER);

/// The field of the request's span that the handlers fill in with the account.
pub const ACCOUNT_FIELD: &str = "account.id";

/// The same for the id of the API key, which tells nothing of its secret.
pub const KEY_FIELD: &str = "key.id";

/// Target of the one line of each request.
const ACCESS: &str = "access";

/// What is told of a request whose caller has left before the answer: no status was sent. (nginx has made the number known.)
const ABANDONED: u16 = 499;

/// How long requests took, as a metric.
pub(crate) const DURATION: &str = "http_server_request_duration_seconds";

/// Wraps the answering of a request.
pub async fn wrap(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let id = id_of(request.headers(), &gateway.ambient);
    let origin = request.headers().get(ORIGIN).cloned();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none", MatchedPath::as_str)
        .to_owned();
    let method = known(request.method());
    let span = tracing::info_span!(
        target: REQUEST,
        "request",
        otel.name = if method == OTHER { format!("HTTP {route}") } else { format!("{method} {route}") },
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        request.id = id,
        account.id = tracing::field::Empty,
        key.id = tracing::field::Empty,
        trace_id = tracing::field::Empty,
    );
    telemetry::continue_trace(&span, request.headers());
    let told = Told {
        started: Instant::now(),
        method,
        route,
        span: span.clone(),
        outcome: None,
    };
    let work = async move {
        let mut told = told;
        let mut response = answer(&gateway.cors, request, next).await;
        told.outcome = Some(response.status());
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
        metrics::counter!(PANICS).increment(1);
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

/// What is told of a request when it is answered, or when its caller has left before that: one line, one duration, the end
/// of its span.
struct Told {
    started: Instant,
    method: &'static str,
    route: String,
    span: Span,
    outcome: Option<StatusCode>,
}

impl Drop for Told {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        let status = self.outcome.map_or(ABANDONED, |status| status.as_u16());
        telemetry::set(&self.span, "http.response.status_code", i64::from(status));
        if status == ABANDONED {
            telemetry::set(&self.span, "error.type", "abandoned");
        } else if status >= 500 {
            telemetry::fail(&self.span, status_class(status));
        }
        tracing::info!(
            target: ACCESS,
            {
                http.request.method = self.method,
                http.route = self.route,
                http.response.status_code = status,
                duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
            },
            "{} {}",
            self.method,
            self.route,
        );
        metrics::histogram!(
            DURATION,
            "http_request_method" => self.method,
            "http_route" => std::mem::take(&mut self.route),
            "http_response_status_code" => status.to_string()
        )
        .record(took.as_secs_f64());
    }
}

/// A method that is none of HTTP's own.
const OTHER: &str = "_OTHER";

/// The method's name.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::CONNECT => "CONNECT",
        Method::OPTIONS => "OPTIONS",
        Method::TRACE => "TRACE",
        Method::PATCH => "PATCH",
        _ => OTHER,
    }
}

/// What went wrong, by the status of our own answer.
const fn status_class(status: u16) -> &'static str {
    match status {
        500 => "500",
        503 => "503",
        504 => "504",
        _ => OTHER,
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
    fn a_made_up_method_has_no_name_of_its_own() {
        assert_eq!(known(&Method::PATCH), "PATCH");
        for made_up in ["BREW", "get", "X-1"] {
            assert_eq!(known(&Method::from_bytes(made_up.as_bytes()).unwrap()), OTHER);
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
