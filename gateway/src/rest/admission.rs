//! Who asks, and how often: the first two steps of every operation on business data, in the contract's order. From the
//! second on, every response tells of the rate.

use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use proto::account::AccountId;
use tracing::Span;

use super::Gateway;
use super::envelope::{ACCOUNT_FIELD, KEY_FIELD};
use crate::auth::api_key;
use crate::auth::client_address::Peer;
use crate::error::ApiError;
use crate::rate;
use crate::rate::gcra::Pace;
use crate::upstream::Deadline;

/// Answers who shows an API key, at the rate of its account.
pub async fn by_key(
    gateway: &Gateway,
    head: &Parts,
    deadline: Deadline,
    work: impl AsyncFnOnce(AccountId) -> Result<Response, ApiError>,
) -> Response {
    let peer = Peer::of(&head.extensions);
    match gateway.api_keys.authenticate(peer, &head.headers, deadline).await {
        Ok(caller) => {
            Span::current().record(KEY_FIELD, &*caller.key_id);
            at_pace(gateway, caller.account_id, caller.pace, work).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Answers who shows an API key or a session token of the dashboard. A session does not tell the account's own rate: with
/// it the default counts, against the same allowance.
pub async fn by_key_or_session(
    gateway: &Gateway,
    head: &Parts,
    deadline: Deadline,
    work: impl AsyncFnOnce(AccountId) -> Result<Response, ApiError>,
) -> Response {
    if api_key::is_meant(&head.headers) {
        return by_key(gateway, head, deadline, work).await;
    }
    match gateway.sessions.authenticate(&head.headers).await {
        Ok(account_id) => at_pace(gateway, account_id, None, work).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn at_pace(
    gateway: &Gateway,
    account_id: AccountId,
    pace: Option<Pace>,
    work: impl AsyncFnOnce(AccountId) -> Result<Response, ApiError>,
) -> Response {
    Span::current().record(ACCOUNT_FIELD, account_id.as_str());
    let allowance = gateway.rate.take(account_id.as_str(), pace).await;
    let answer = if allowance.decision.passes {
        work(account_id).await
    } else {
        let after = Duration::from_secs(allowance.retry_after_seconds());
        Err(ApiError::rate_limited(after))
    };
    let mut response = answer.unwrap_or_else(ApiError::into_response);
    rate::headers::write(allowance, response.headers_mut());
    response
}
