//! The rate limit of an account: the shared limiter, and the local one that stands in for it.
//!
//! A request is decided by exactly one of them: the shared one if it answers within its budget, else the local one. It
//! is never let through unlimited, and never fails for Redis' sake.

pub mod gcra;
pub mod headers;
pub(crate) mod local;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use runtime::shutdown::Shutdown;

use self::gcra::{Allowance, Pace};
use self::local::LocalLimiter;
use self::shared::SharedLimiter;
use crate::meters::RATE_DECISIONS;

/// Limits each account to its rate.
#[derive(Clone)]
pub struct RateLimiter {
    default_pace: Pace,
    shared: Arc<SharedLimiter>,
    local: Arc<LocalLimiter<String>>,
}

impl RateLimiter {
    /// Starts the limiter; it works at once, by itself until Redis is reached. `budget` is the longest that a request
    /// waits for Redis.
    #[must_use]
    pub fn start(default_pace: Pace, redis: redis::Client, budget: Duration, shutdown: &Shutdown) -> Self {
        let shared = Arc::new(SharedLimiter::new(redis, budget));
        let (connecting, draining) = (Arc::clone(&shared), shutdown.drain_token());
        shutdown.spawn(async move {
            // While it drains, the connection that is there serves on.
            draining.run_until_cancelled(connecting.keep_connected()).await;
        });
        Self {
            default_pace,
            shared,
            local: Arc::new(LocalLimiter::new()),
        }
    }

    /// Counts a request of the account, at its own rate or the default, and decides whether it passes.
    pub async fn take(&self, account_id: &str, own_pace: Option<Pace>) -> Allowance {
        let pace = own_pace.unwrap_or(self.default_pace);
        let remembered_us = self.local.ahead_us(account_id);
        let (limiter, decision) = match self.shared.take(account_id, pace, remembered_us).await {
            Some(decision) => {
                self.local.note(account_id, decision);
                ("shared", decision)
            }
            None => ("local", self.local.take(account_id, pace)),
        };
        let outcome = if decision.passes { "passed" } else { "limited" };
        metrics::counter!(RATE_DECISIONS, "limiter" => limiter, "outcome" => outcome).increment(1);
        Allowance { pace, decision }
    }
}

#[cfg(test)]
mod tests;
