//! How many unknown API keys a client address may have looked up.
//!
//! A key that is well-formed can be made up by anybody, and each costs a call, a query and room in a cache. So each
//! address has an allowance of look-ups in a minute, by the rule of [`crate::rate::gcra`], in this process alone. A
//! look-up is counted before it is made and given back if it finds a key, or fails; so only what is of no worth
//! counts, and not even all at once get through more. Beyond the allowance nothing is looked up for the address: what
//! it shows may be a good key, so the answer is 429 and not 401.
//!
//! Callers with good keys behind an address that somebody floods from go on: a key that was found to be good within the
//! last hour needs no allowance (`super::api_key`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::HeaderMap;

use super::client_address::{ClientAddress, Peer, TrustedProxies};
use crate::rate::gcra::{Allowance, Pace};
use crate::rate::local::LocalLimiter;

/// The allowances of all addresses.
#[derive(Debug)]
pub struct UnknownKeys {
    pace: Pace,
    proxies: TrustedProxies,
    limiter: LocalLimiter<ClientAddress>,
    has_told: AtomicBool,
}

/// Where a request comes from: its client, and whether a proxy may hide behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) client: ClientAddress,
    is_claim: bool,
}

impl UnknownKeys {
    /// At most this many for each address; these proxies tell which it is.
    #[must_use]
    pub fn new(pace: Pace, proxies: TrustedProxies) -> Self {
        Self {
            pace,
            proxies,
            limiter: LocalLimiter::new(),
            has_told: AtomicBool::new(false),
        }
    }

    /// Where a request with these headers comes from.
    pub(super) fn origin(&self, peer: Peer, headers: &HeaderMap) -> Origin {
        Origin {
            client: self.proxies.client(peer, headers),
            is_claim: self.proxies.is_claim(peer, headers),
        }
    }

    /// Counts a look-up that is about to be made; if there is no allowance for it, how long to wait for one.
    pub(super) fn take(&self, origin: Origin) -> Result<(), Duration> {
        let decision = self.limiter.take(&origin.client, self.pace);
        if decision.passes {
            return Ok(());
        }
        metrics::counter!(crate::meters::UNKNOWN_KEYS_LIMITED).increment(1);
        if origin.is_claim && !self.has_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "unknown API keys are limited for an address that tells of other clients behind it: if it is a proxy, \
                 name it in trusted_proxies, or all its clients count as one"
            );
        }
        let allowance = Allowance {
            pace: self.pace,
            decision,
        };
        Err(Duration::from_secs(allowance.retry_after_seconds()))
    }

    /// Gives back a look-up that has found a key, or nothing out.
    pub(super) fn give_back(&self, origin: Origin) {
        self.limiter.give_back(&origin.client, self.pace);
    }
}
