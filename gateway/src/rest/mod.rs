//! The public interface: what is where.

pub mod admission;
pub mod cors;
pub mod count;
pub mod credits;
pub mod docs;
pub mod envelope;
pub mod explain;
pub mod keys;
pub mod llms;
pub mod openapi;
pub mod query_string;
pub mod search;
pub mod suggest;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{any_service, get, patch, post};
use proto::error_code::ErrorCode;
use runtime::ambient::Ambient;

use self::cors::Cors;
use crate::auth::api_key::ApiKeys;
use crate::auth::session::Sessions;
use crate::body::Bodies;
use crate::credits::Credits;
use crate::error::ApiError;
use crate::mcp;
use crate::rate::RateLimiter;
use crate::upstream::{Deadline, Upstreams};

/// What every path begins with.
pub const BASE_PATH: &str = "/api/v1";

/// What the handlers work with.
pub struct Gateway {
    /// Whose API key a request carries.
    pub api_keys: ApiKeys,
    /// Whose session a request belongs to.
    pub sessions: Sessions,
    /// How many requests an account may make.
    pub rate: RateLimiter,
    /// Who pays for a search.
    pub credits: Credits,
    /// The services.
    pub upstreams: Upstreams,
    /// Bodies of requests.
    pub bodies: Bodies,
    /// Bounds of a request.
    pub limits: Limits,
    /// Time and randomness.
    pub ambient: Ambient,
    /// Which web pages may ask.
    pub cors: Arc<Cors>,
}

/// Bounds of a request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest body, in bytes.
    pub max_body_bytes: usize,
    /// Longest time from its head to its answer.
    pub budget: Duration,
}

impl Gateway {
    /// When a request that begins now has to be answered.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        Deadline::after(self.limits.budget)
    }
}

/// All paths, and an answer for all others.
pub fn router(gateway: Gateway) -> Router {
    let api = Router::new()
        .route("/people/search", post(search::people))
        .route("/companies/search", post(search::companies))
        .route("/people/count", post(count::people))
        .route("/companies/count", post(count::companies))
        .route("/people/explain", post(explain::people))
        .route("/companies/explain", post(explain::companies))
        .route("/credits", get(credits::show))
        .route("/suggest/{vocabulary}", get(suggest::suggest))
        .route("/keys", get(keys::list).post(keys::create))
        .route("/keys/{id}", patch(keys::rename).delete(keys::revoke))
        .route("/keys/{id}/regenerate", post(keys::regenerate))
        .route("/openapi.json", get(openapi::serve))
        .method_not_allowed_fallback(method_not_allowed);
    // The router clones its state for each request, and each layer of it again.
    let gateway = Arc::new(gateway);
    let envelope = axum::middleware::from_fn_with_state(Arc::clone(&gateway), envelope::wrap);
    let all = Router::new().nest(BASE_PATH, api).fallback(not_found);
    let operations = all
        .clone()
        .layer(envelope.clone())
        .with_state(Arc::clone(&gateway));
    let admission = axum::middleware::from_fn_with_state(Arc::clone(&gateway), mcp::admit);
    let pages = docs::router().route(llms::PATH, get(llms::serve));
    let mcp = any_service(mcp::service(operations, &gateway)).layer(admission);
    all.route(mcp::PATH, mcp)
        .merge(pages.method_not_allowed_fallback(method_not_allowed))
        .layer(envelope)
        .with_state(gateway)
}

async fn not_found() -> ApiError {
    ApiError::new(ErrorCode::NotFound)
}

/// The router adds the `Allow` header.
async fn method_not_allowed() -> ApiError {
    ApiError::new(ErrorCode::MethodNotAllowed)
}

#[cfg(test)]
mod tests;
