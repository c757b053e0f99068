//! API keys: found in the headers, checked by their form, verified by the keys service, remembered for a moment.
//!
//! # What is remembered
//! - A verified key, under the SHA-256 of its secret (the secret itself is kept nowhere), for at most [`KEEP`] from
//!   when it was asked for, however long the answer took: the bound of a revocation while Redis is away, below the 5 s of
//!   the contract. While Redis is there, [`KeyChanges`] outdates it within milliseconds.
//! - A refused one, apart from the others, so that a flood of junk pushes no good key out. A secret that was worth
//!   nothing does not become worth something.
//! - That a key was good within the last hour: verifying it again is not limited for its client's address, as looking
//!   up unknown ones is ([`super::unknown_keys`]).
//!
//! Each of the three has its bound ([`MAX_KEPT`]). A key that is of the wrong form, its checksum included, is refused
//! without any of this.
//!
//! Many requests with one unknown key ask the keys service once. A verification that began before a change of its key
//! or account is never used after it, by whomever it was begun: the check is where an entry is read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName};
use moka::future::Cache;
use proto::account::{self, AccountId};
use proto::api_key::{ApiKeySecret, PREFIX};
use proto::error_code::ErrorCode;
use proto::key_change::KeyChange;
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::keys::v1::{VerifiedKey, VerifyKeyRequest};
use runtime::grpc_client::GrpcChannel;
use sha2::{Digest as _, Sha256};
use tonic::Status;

use super::bearer_credentials;
use super::client_address::{ClientAddress, Peer};
use super::key_changes::KeyChanges;
use super::unknown_keys::{Origin, UnknownKeys};
use crate::error::ApiError;
use crate::meters::KEY_CACHE;
use crate::rate::gcra::Pace;
use crate::upstream::{Admitted, Deadline, Upstreams};

/// The header that carries an API key and nothing else.
pub const API_KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// How long an answer of the keys service counts, from when it was asked for.
const KEEP: Duration = Duration::from_secs(4);

/// How long a secret that is worth nothing is known as such.
const KEEP_REFUSED: Duration = Duration::from_mins(1);

/// How long a secret is known to have been good.
const KEEP_GOOD: Duration = Duration::from_hours(1);

/// Most entries of each kind kept.
const MAX_KEPT: u64 = 100_000;

/// SHA-256 of a secret.
type SecretHash = [u8; 32];

/// A request that may call the keys service.
type KeysAdmitted = Admitted<KeyServiceClient<GrpcChannel>>;

/// Tells whose API key a request carries.
#[derive(Clone)]
pub struct ApiKeys {
    upstreams: Upstreams,
    changes: Arc<KeyChanges>,
    unknown_keys: Arc<UnknownKeys>,
    verified: Cache<SecretHash, Arc<Verified>>,
    refused: Cache<SecretHash, ()>,
    good: Cache<SecretHash, ()>,
}

/// Who is asking.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its account.
    pub account_id: AccountId,
    /// The key it showed.
    pub key_id: String,
    /// The account's own rate; none means the default.
    pub pace: Option<Pace>,
}

/// A verification's answer, and when it began in the count of changes.
struct Verified {
    caller: Caller,
    asked_at: Instant,
    began: u64,
    subjects: [KeyChange; 2],
}

/// Why there is no answer.
enum Unverified {
    Refused,
    /// This client has had too many unknown keys looked up; it has to wait so long.
    Limited(ClientAddress, Duration),
    Failed(Status),
}

impl ApiKeys {
    /// Verifies by the keys service, within these bounds, and forgets by these changes.
    #[must_use]
    pub fn new(upstreams: Upstreams, changes: Arc<KeyChanges>, unknown_keys: UnknownKeys) -> Self {
        let marks = |keep| Cache::builder().max_capacity(MAX_KEPT).time_to_live(keep).build();
        Self {
            upstreams,
            changes,
            unknown_keys: Arc::new(unknown_keys),
            verified: Cache::builder().max_capacity(MAX_KEPT).time_to_live(KEEP).build(),
            refused: marks(KEEP_REFUSED),
            good: marks(KEEP_GOOD),
        }
    }

    /// Who is asking by these headers on a connection from there.
    pub async fn authenticate(
        &self,
        peer: Peer,
        headers: &HeaderMap,
        deadline: Deadline,
    ) -> Result<Caller, ApiError> {
        let refusal = || ApiError::new(ErrorCode::InvalidApiKey);
        let secret = secret_of(headers).ok_or_else(refusal)?;
        let hash = SecretHash::from(Sha256::digest(secret.expose()));
        if self.refused.contains_key(&hash) {
            count("refused");
            return Err(refusal());
        }
        if let Some(verified) = self.verified.get(&hash).await
            && !self.is_outdated(&verified)
        {
            count("cached");
            return Ok(verified.caller.clone());
        }
        count("asked");
        // Who waits for what another asks takes up as much room.
        let service = self.upstreams.keys.enter()?;
        let origin = self.unknown_keys.origin(peer, headers);
        loop {
            let verifying = self.verify(&service, hash, &secret, origin, deadline);
            // Seldom: what it takes is not to be a part of the state of every request.
            match Box::pin(self.verified.try_get_with(hash, verifying)).await {
                Ok(verified) if self.is_outdated(&verified) => {
                    self.verified.invalidate(&hash).await;
                }
                Ok(verified) => return Ok(verified.caller.clone()),
                Err(unverified) => match &*unverified {
                    Unverified::Refused => {
                        self.refused.insert(hash, ()).await;
                        return Err(refusal());
                    }
                    // Of several who show one key at once, it is verified for one; the others have their own say.
                    Unverified::Limited(client, _) if *client != origin.client => {}
                    Unverified::Limited(_, wait) => return Err(ApiError::rate_limited(*wait)),
                    Unverified::Failed(status) => return Err(status.clone().into()),
                },
            }
        }
    }

    fn is_outdated(&self, verified: &Verified) -> bool {
        verified.asked_at.elapsed() >= KEEP || self.changes.outdate(verified.began, &verified.subjects)
    }

    /// Verifies a key for a client: one that is not known to have been good by what its address has left.
    async fn verify(
        &self,
        service: &KeysAdmitted,
        hash: SecretHash,
        secret: &ApiKeySecret,
        origin: Origin,
        deadline: Deadline,
    ) -> Result<Arc<Verified>, Unverified> {
        let is_limited = !self.good.contains_key(&hash);
        if is_limited {
            let limited = |wait| Unverified::Limited(origin.client, wait);
            self.unknown_keys.take(origin).map_err(limited)?;
        }
        let answer = self.ask(service, secret, deadline).await;
        match &answer {
            Err(Unverified::Refused) => self.good.invalidate(&hash).await,
            answer => {
                if is_limited {
                    self.unknown_keys.give_back(origin);
                }
                if answer.is_ok() {
                    self.good.insert(hash, ()).await;
                }
            }
        }
        answer
    }

    async fn ask(
        &self,
        service: &KeysAdmitted,
        secret: &ApiKeySecret,
        deadline: Deadline,
    ) -> Result<Arc<Verified>, Unverified> {
        let (asked_at, began) = (Instant::now(), self.changes.count());
        let request = VerifyKeyRequest {
            secret: secret.expose().to_owned(),
        };
        let answer = service.call_repeatable(deadline, request, async |mut client, request| {
            client.verify_key(request).await
        });
        let key = answer
            .await
            .map_err(Unverified::Failed)?
            .key
            .ok_or(Unverified::Refused)?;
        let caller = caller_of(key).map_err(Unverified::Failed)?;
        let subjects = [
            KeyChange::Key(caller.key_id.clone()),
            KeyChange::Account(caller.account_id.as_str().to_owned()),
        ];
        Ok(Arc::new(Verified {
            caller,
            asked_at,
            began,
            subjects,
        }))
    }
}

/// Counts where the answer to a key comes from.
fn count(answer: &'static str) {
    metrics::counter!(KEY_CACHE, "answer" => answer).increment(1);
}

/// An answer that breaks its own contract is a fault of ours, not the caller's.
fn caller_of(key: VerifiedKey) -> Result<Caller, Status> {
    let account_id =
        account::check(&key.account_id).map_err(|violation| Status::internal(violation.to_string()))?;
    let rate = key.rate.as_ref().map(proto::rate::check).transpose();
    let rate = rate.map_err(|violations| Status::internal(proto::violation::summary(&violations)))?;
    Ok(Caller {
        account_id,
        key_id: key.key_id,
        pace: rate.map(Pace::from),
    })
}

/// Whether it is an API key that the headers mean to show, where a session token would do too: in the header of its own, by
/// what it begins with, or for want of any credential.
#[must_use]
pub fn is_meant(headers: &HeaderMap) -> bool {
    let mut bearers = bearer_credentials(headers).peekable();
    headers.contains_key(API_KEY_HEADER)
        || bearers.peek().is_none()
        || bearers.flatten().any(|shown| shown.starts_with(PREFIX))
}

/// The one well-formed secret that the headers carry, wherever and however often.
#[must_use]
pub fn secret_of(headers: &HeaderMap) -> Option<ApiKeySecret> {
    let own = headers
        .get_all(API_KEY_HEADER)
        .iter()
        .map(|value| value.to_str().ok().map(str::trim));
    let mut shown = own.chain(bearer_credentials(headers));
    let first = shown.next()??;
    if shown.all(|other| other == Some(first)) {
        ApiKeySecret::parse(first)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV0lYb4h";

    fn found(headers: &[(&'static str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.replace("KEY", KEY).parse().unwrap());
        }
        secret_of(&map).is_some_and(|secret| secret.expose() == KEY)
    }

    #[test]
    fn a_key_is_found_in_either_header_and_in_both_if_they_agree() {
        let cases: [&[(&'static str, &str)]; 9] = [
            &[("x-api-key", "KEY")],
            &[("x-api-key", "  KEY\t")],
            &[("authorization", "Bearer KEY")],
            &[("authorization", "bearer   KEY ")],
            &[("authorization", "BEARER KEY")],
            &[("authorization", " Bearer KEY")],
            &[("x-api-key", "KEY"), ("authorization", "Bearer KEY")],
            &[("x-api-key", "KEY"), ("x-api-key", "KEY")],
            &[("authorization", "Bearer KEY"), ("authorization", "bearer KEY")],
        ];
        for headers in cases {
            assert!(found(headers), "{headers:?}");
        }
    }

    #[test]
    fn nothing_else_is_a_key() {
        let cases: [&[(&'static str, &str)]; 15] = [
            &[],
            &[("x-api-key", "")],
            &[("x-api-key", "KEYx")],
            &[("x-api-key", "Bearer KEY")],
            &[("x-api-key", "KEY, KEY")],
            &[("authorization", "KEY")],
            &[("authorization", "BearerKEY")],
            &[("authorization", "Bearer")],
            &[("authorization", "Bearer ")],
            &[("authorization", "Basic KEY")],
            &[("authorization", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln")],
            &[("x-api-key", "KEY"), ("authorization", "Bearer other")],
            &[("x-api-key", "KEY"), ("authorization", "Basic KEY")],
            &[("x-api-key", "KEY"), ("x-api-key", "other")],
            &[("x-api-key", ""), ("authorization", "Bearer KEY")],
        ];
        for headers in cases {
            assert!(!found(headers), "{headers:?}");
        }
    }

    #[test]
    fn an_answer_that_breaks_its_contract_is_not_used() {
        let key = |account: &str, requests| VerifiedKey {
            key_id: "k".to_owned(),
            account_id: account.to_owned(),
            rate: Some(proto::keys::v1::Rate {
                requests,
                window: Some(prost_types::Duration {
                    seconds: 60,
                    nanos: 0,
                }),
            }),
        };
        assert_eq!(caller_of(key("a", 7)).unwrap().pace.unwrap().requests(), 7);
        assert!(caller_of(key("", 7)).is_err());
        assert!(caller_of(key("a", 0)).is_err());
    }
}
