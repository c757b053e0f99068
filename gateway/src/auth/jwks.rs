//! The keys that an issuer publishes as a JSON Web Key Set, with their rotation.
//!
//! One task fetches ([`Jwks::keep_fresh`]), requests only ask it to: every [`REFRESH_EVERY`], and when a token names a key
//! that is not in the set, but then at most every [`REFRESH_AT_MOST_EVERY`]. So made-up names cause no traffic, also not by
//! callers who leave before they are answered, and requests that need the same fetch wait for one.
//!
//! What can go wrong at the issuer's address:
//! - **It is down, slow, tells nonsense, too much, or no key that could be used.** The set that was there stays: sessions
//!   signed with its keys go on. A token that names another key may be good or bad, and nobody can tell: its caller is
//!   told to come again, not that it is bad.
//! - **A key is not in the set any more.** Its tokens are refused after the next fetch.
//! - **It publishes what is no public key for the configured algorithm** (a shared secret, a key for encryption, another
//!   kind). That key is left out; no key of the set can change the algorithm.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use proto::error_code::ErrorCode;
use runtime::process::{BoxError, with_causes};
use serde::Deserialize;
use tokio::sync::{Notify, watch};

use crate::error::ApiError;

/// Age at which the set is fetched again.
const REFRESH_EVERY: Duration = Duration::from_mins(5);

/// Shortest time from one fetch to the next.
const REFRESH_AT_MOST_EVERY: Duration = Duration::from_secs(5);

/// Longest fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(3);

/// Largest set.
const MAX_BYTES: usize = 1024 * 1024;

/// The keys of one issuer.
pub struct Jwks {
    url: String,
    algorithm: Algorithm,
    client: reqwest::Client,
    at_most_every: Duration,
    latest: watch::Sender<Latest>,
    /// Somebody needs a key that is not in the set.
    wanted: Notify,
}

/// What the fetches so far have brought.
#[derive(Default)]
struct Latest {
    /// Of the last fetch that succeeded.
    keys: Vec<PublishedKey>,
    /// When the last fetch ended; none before the first.
    ended: Option<Instant>,
    /// Whether it succeeded.
    succeeded: bool,
}

struct PublishedKey {
    id: Option<String>,
    key: Arc<DecodingKey>,
}

/// A key that nobody here can read does not spoil the others.
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<serde_json::Value>,
}

impl Jwks {
    /// The keys at this address that are for this algorithm. Nothing is fetched but by [`Jwks::keep_fresh`].
    pub fn new(url: String, algorithm: Algorithm) -> Result<Self, BoxError> {
        let client = reqwest::Client::builder()
            .timeout(FETCH_TIMEOUT)
            .connect_timeout(FETCH_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self {
            url,
            algorithm,
            client,
            at_most_every: REFRESH_AT_MOST_EVERY,
            latest: watch::Sender::default(),
            wanted: Notify::new(),
        })
    }

    /// With another shortest time from one fetch to the next.
    #[cfg(test)]
    pub(super) fn at_most_every(mut self, pause: Duration) -> Self {
        self.at_most_every = pause;
        self
    }

    /// The key of this name; without a name, the only one there is. None if the issuer has no such key.
    pub async fn key(&self, id: Option<&str>) -> Result<Option<Arc<DecodingKey>>, ApiError> {
        let mut latest = self.latest.subscribe();
        {
            let latest = latest.borrow_and_update();
            if let Some(key) = latest.find(id) {
                return Ok(Some(key));
            }
            if latest.ended.is_some_and(|at| at.elapsed() < self.at_most_every) {
                return latest.or_unknown(None);
            }
        }
        self.wanted.notify_one();
        // Nobody fetches any more at the end of the process.
        if tokio::time::timeout(FETCH_TIMEOUT, latest.changed())
            .await
            .is_err()
        {
            return Err(ApiError::new(ErrorCode::Unavailable));
        }
        let latest = latest.borrow();
        latest.or_unknown(latest.find(id))
    }

    /// Keeps the set fresh, for ever.
    pub async fn keep_fresh(&self) {
        loop {
            let fetched = self.fetch().await;
            if let Err(error) = &fetched {
                tracing::warn!(
                    error = with_causes(&**error),
                    "the issuer's keys can't be fetched"
                );
                metrics::counter!(crate::meters::JWKS_FAILURES).increment(1);
            }
            self.latest.send_modify(|latest| {
                latest.ended = Some(Instant::now());
                latest.succeeded = fetched.is_ok();
                if let Ok(keys) = fetched {
                    latest.keys = keys;
                }
            });
            tokio::time::sleep(self.at_most_every).await;
            // Whether somebody wants it or the time has come: the set is fetched.
            let _ = tokio::time::timeout(REFRESH_EVERY, self.wanted.notified()).await;
        }
    }

    async fn fetch(&self) -> Result<Vec<PublishedKey>, BoxError> {
        let mut response = self.client.get(&self.url).send().await?.error_for_status()?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err("the set is too large".into());
            }
            body.extend_from_slice(&chunk);
        }
        let set = serde_json::from_slice::<KeySet>(&body)?;
        let keys: Vec<_> = set
            .keys
            .into_iter()
            .filter_map(|key| self.published(key))
            .collect();
        if keys.is_empty() {
            return Err(format!("the set holds no key for {:?}", self.algorithm).into());
        }
        Ok(keys)
    }

    /// A key that can be read and is for signatures with the algorithm.
    fn published(&self, key: serde_json::Value) -> Option<PublishedKey> {
        let jwk = serde_json::from_value::<Jwk>(key).ok()?;
        let common = &jwk.common;
        let is_for_signatures = matches!(common.public_key_use, None | Some(PublicKeyUse::Signature));
        let operations = common.key_operations.as_ref();
        let verifies = operations.is_none_or(|operations| operations.contains(&KeyOperations::Verify));
        let named = common.key_algorithm.map(|algorithm| algorithm.to_string());
        let is_of_algorithm = named.is_none_or(|named| named == format!("{:?}", self.algorithm));
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        let is_of_family = key.family() == self.algorithm.family();
        (is_for_signatures && verifies && is_of_algorithm && is_of_family).then(|| PublishedKey {
            id: jwk.common.key_id,
            key: Arc::new(key),
        })
    }
}

impl Latest {
    fn find(&self, id: Option<&str>) -> Option<Arc<DecodingKey>> {
        let found = match (id, self.keys.as_slice()) {
            (Some(id), keys) => keys.iter().find(|key| key.id.as_deref() == Some(id)),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        found.map(|key| Arc::clone(&key.key))
    }

    /// What was found; that nothing was can be told only by what the issuer says now.
    fn or_unknown(&self, found: Option<Arc<DecodingKey>>) -> Result<Option<Arc<DecodingKey>>, ApiError> {
        if found.is_none() && !self.succeeded {
            return Err(ApiError::new(ErrorCode::Unavailable));
        }
        Ok(found)
    }
}
