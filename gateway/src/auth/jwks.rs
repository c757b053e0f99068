//! The keys that an issuer publishes as a JSON Web Key Set, with their rotation.
//!
//! The set is fetched every [`REFRESH_EVERY`], and when a token names a key that is not in it, but then at most every
//! [`REFRESH_AT_MOST_EVERY`], so that made-up names cause no traffic. A fetch that fails keeps the set that was there.
//! Requests that need the same fetch wait for one.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use proto::error_code::ErrorCode;
use runtime::process::{BoxError, with_causes};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::error::ApiError;

/// Age at which the set is fetched again.
const REFRESH_EVERY: Duration = Duration::from_mins(5);

/// Shortest time between two fetches.
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
    /// None until the first fetch has succeeded.
    keys: RwLock<Option<Vec<PublishedKey>>>,
    /// When the last fetch ended, however it ended; held while one runs.
    fetched: Mutex<Option<Instant>>,
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
    /// The keys at this address that are for this algorithm. Nothing is fetched yet.
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
            keys: RwLock::new(None),
            fetched: Mutex::new(None),
        })
    }

    /// The key of this name; without a name, the only one there is.
    pub async fn key(&self, id: Option<&str>) -> Result<Option<Arc<DecodingKey>>, ApiError> {
        if let Ok(Some(key)) = self.find(id) {
            return Ok(Some(key));
        }
        self.refresh(REFRESH_AT_MOST_EVERY).await;
        self.find(id)
    }

    /// Keeps the set fresh, for ever.
    pub async fn keep_fresh(&self) {
        loop {
            self.refresh(REFRESH_AT_MOST_EVERY).await;
            tokio::time::sleep(REFRESH_EVERY).await;
        }
    }

    fn find(&self, id: Option<&str>) -> Result<Option<Arc<DecodingKey>>, ApiError> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let keys = keys
            .as_ref()
            .ok_or_else(|| ApiError::new(ErrorCode::Unavailable))?;
        let found = match (id, keys.as_slice()) {
            (Some(id), keys) => keys.iter().find(|key| key.id.as_deref() == Some(id)),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        Ok(found.map(|key| Arc::clone(&key.key)))
    }

    async fn refresh(&self, at_most_every: Duration) {
        let mut fetched = self.fetched.lock().await;
        if fetched.is_some_and(|at| at.elapsed() < at_most_every) {
            return;
        }
        match self.fetch().await {
            Ok(keys) => *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Some(keys),
            Err(error) => {
                tracing::warn!(error = with_causes(&*error), "the issuer's keys can't be fetched");
                metrics::counter!("gateway_jwks_failures_total").increment(1);
            }
        }
        *fetched = Some(Instant::now());
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
        Ok(set
            .keys
            .into_iter()
            .filter_map(|key| self.published(key))
            .collect())
    }

    /// A key that can be read and is for signatures with the algorithm.
    fn published(&self, key: serde_json::Value) -> Option<PublishedKey> {
        let jwk = serde_json::from_value::<Jwk>(key).ok()?;
        let is_for_signatures = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
        let named = jwk.common.key_algorithm.map(|algorithm| algorithm.to_string());
        let is_of_algorithm = named.is_none_or(|named| named == format!("{:?}", self.algorithm));
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        (is_for_signatures && is_of_algorithm && key.family() == self.algorithm.family()).then(|| {
            PublishedKey {
                id: jwk.common.key_id,
                key: Arc::new(key),
            }
        })
    }
}
