//! What a search costs, and who pays for it.
//!
//! # Before the search
//! The gateway remembers the last balance it heard of an account. While that covers the cost, a search goes straight on;
//! if it does not, is unknown, or the request carries an idempotency key (whose repeat is answered at balance 0 too),
//! billing is asked first. This only spares searches that nobody would pay for: the charge decides.
//!
//! # The charge
//! Once begun it runs to its end in a task of its own, whether or not somebody still waits for the answer. It is tried
//! again, under the same id, while billing is not there: billing takes it once. If the time runs out in between, whether
//! it was taken is unknown to us and the caller gets an error; its idempotency key makes the repeat safe. It was not taken
//! if billing refused it, or if no attempt has had a connection to send it on.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use moka::sync::Cache;
use prost::Message as _;
use proto::account::AccountId;
use proto::billing::v1::{ChargeRequest, ChargeResponse, Idempotency, Operation, PreviewChargeRequest};
use proto::credits::MAX_IDEMPOTENCY_KEY_CHARS;
use proto::error_code::ErrorCode;
use proto::search::v1::SearchQuery;
use proto::violation::{Violation, ViolationCode};
use runtime::ambient::Ambient;
use runtime::grpc_client::Unreached;
use runtime::process::with_causes;
use runtime::request_id;
use runtime::shutdown::Shutdown;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tonic::Status;
use tracing::Instrument as _;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::meters::CHARGES_UNKNOWN;
use crate::upstream::{Deadline, Upstreams};

/// The header by which a caller says that a request is the same as before.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Its name as callers write it.
pub const IDEMPOTENCY_KEY_NAME: &str = "Idempotency-Key";

/// Tells that a request had been charged before.
pub const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Most accounts whose balance is remembered.
const MAX_ACCOUNTS: u64 = 100_000;

/// A balance that nobody has asked for in this time is forgotten.
const FORGET_AFTER: Duration = Duration::from_hours(1);

/// Least time that a charge is given once it has begun: cutting it off saves nothing.
const LEAST_CHARGE_TIME: Duration = Duration::from_secs(2);

/// What a search costs, by kind.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Credits for a search for people.
    pub search_people: i64,
    /// Credits for a search for companies.
    pub search_companies: i64,
}

/// Charges accounts.
#[derive(Clone)]
pub struct Credits {
    upstreams: Upstreams,
    costs: Costs,
    ambient: Ambient,
    shutdown: Shutdown,
    balances: Cache<AccountId, i64>,
}

/// What a search has cost.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Credits)]
pub struct CreditsBody {
    /// Credits taken for this request; of a repeat, those taken the first time.
    #[schema(example = 1)]
    pub cost: i64,
    /// The balance after it.
    #[schema(example = 999)]
    pub balance: i64,
}

/// Something to be paid for.
#[derive(Clone, Debug)]
pub struct Purchase {
    /// Who pays.
    pub account_id: AccountId,
    /// What for.
    pub operation: Operation,
    /// The caller's own word that it is the same as before.
    pub idempotency: Option<Idempotency>,
}

impl Credits {
    /// Charges by the billing service, at these costs.
    #[must_use]
    pub fn new(upstreams: Upstreams, costs: Costs, ambient: Ambient, shutdown: Shutdown) -> Self {
        let balances = Cache::builder()
            .max_capacity(MAX_ACCOUNTS)
            .time_to_idle(FORGET_AFTER)
            .build();
        Self {
            upstreams,
            costs,
            ambient,
            shutdown,
            balances,
        }
    }

    /// Refuses what is known not to be paid for.
    pub async fn preview(&self, purchase: &Purchase, deadline: Deadline) -> Result<(), ApiError> {
        let cost = self.cost(purchase.operation);
        let known = self.balances.get(&purchase.account_id);
        if purchase.idempotency.is_none() && known.is_some_and(|balance| balance >= cost) {
            // A search that could not be paid for now is not begun.
            return self.upstreams.billing.enter().map(drop);
        }
        let request = PreviewChargeRequest {
            account_id: purchase.account_id.as_str().to_owned(),
            operation: purchase.operation.into(),
            amount: cost,
            idempotency: purchase.idempotency.clone(),
        };
        let service = self.upstreams.billing.enter()?;
        let answer = service.call_repeatable(deadline, request, async |mut client, request| {
            client.preview_charge(request).await
        });
        let balance = answer.await?.balance;
        self.balances.insert(purchase.account_id.clone(), balance);
        Ok(())
    }

    /// Takes the credits.
    pub async fn charge(&self, purchase: Purchase, deadline: Deadline) -> Result<ChargeResponse, ApiError> {
        let request = ChargeRequest {
            account_id: purchase.account_id.as_str().to_owned(),
            charge_id: self.ambient.uuid_v7().to_string(),
            operation: purchase.operation.into(),
            amount: self.cost(purchase.operation),
            idempotency: purchase.idempotency,
        };
        let deadline = deadline.at_least(LEAST_CHARGE_TIME);
        let (service, balances) = (self.upstreams.billing.enter()?, self.balances.clone());
        let work = async move {
            let charge_id = request.charge_id.clone();
            let answer = service.call_repeatable(deadline, request, async |mut client, request| {
                client.charge(request).await
            });
            let answer = answer.await;
            match &answer {
                Ok(charged) => balances.insert(purchase.account_id, charged.balance),
                Err(status) => {
                    tell_failure(&charge_id, status);
                    balances.invalidate(&purchase.account_id);
                }
            }
            answer
        };
        let work = request_id::scope(request_id::current().unwrap_or_default(), work);
        let charged = self
            .shutdown
            .spawn(work.instrument(tracing::Span::current()))
            .await;
        charged
            .unwrap_or_else(|_| Err(Status::internal("the charge panicked")))
            .map_err(ApiError::from)
    }

    /// What an operation costs, in credits.
    #[must_use]
    pub const fn cost(&self, operation: Operation) -> i64 {
        match operation {
            Operation::SearchPeople => self.costs.search_people,
            Operation::SearchCompanies | Operation::Unspecified => self.costs.search_companies,
        }
    }
}

/// Tells of a charge that failed by other than billing's refusal.
fn tell_failure(charge_id: &str, status: &Status) {
    if !matches!(ErrorCode::of(status), ErrorCode::Unavailable | ErrorCode::Timeout) {
        return;
    }
    if Unreached::is_why(status) {
        tracing::warn!(
            charge.id = charge_id,
            error = with_causes(status),
            "this charge was not taken: billing can't be reached"
        );
        return;
    }
    metrics::counter!(CHARGES_UNKNOWN).increment(1);
    tracing::error!(
        charge.id = charge_id,
        "it is unknown whether this charge was taken"
    );
}

/// The idempotency key of the headers: 1-255 printable ASCII characters, once.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Violation> {
    let violation = |message: &str| {
        let hint = format!("1-{MAX_IDEMPOTENCY_KEY_CHARS} printable ASCII characters");
        Violation::at(IDEMPOTENCY_KEY_NAME, ViolationCode::InvalidFormat, message).hint(hint)
    };
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    if keys.next().is_some() {
        return Err(violation("is there more than once"));
    }
    let is_printable = key.as_bytes().iter().all(|byte| (b' '..=b'~').contains(byte));
    match key.to_str() {
        Ok("") => Err(violation("is empty")),
        Ok(text) if is_printable && text.len() <= MAX_IDEMPOTENCY_KEY_CHARS => Ok(Some(text.to_owned())),
        Ok(_) if is_printable => Err(violation("is too long")),
        _ => Err(violation("has other characters than printable ASCII")),
    }
}

/// Binds an idempotency key to what is asked for: not to its spelling in JSON, nor to the order of `fields`.
#[must_use]
pub fn bind(key: String, query: &SearchQuery) -> Idempotency {
    let mut query = query.clone();
    query.fields.sort();
    query.fields.dedup();
    Idempotency {
        key,
        fingerprint: Sha256::digest(query.encode_to_vec()).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proto::search_query::RecordKind;

    use super::*;
    use crate::body::search_body;

    fn key(values: &[&[u8]]) -> Result<Option<String>, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(IDEMPOTENCY_KEY, HeaderValue::from_bytes(value).unwrap());
        }
        idempotency_key(&headers).map_err(|violation| violation.to_string())
    }

    #[test]
    fn a_key_has_1_to_255_printable_characters_and_comes_once() {
        assert_eq!(key(&[]), Ok(None));
        assert_eq!(key(&[b"order 7 ~!"]), Ok(Some("order 7 ~!".to_owned())));
        assert_eq!(key(&[&[b'x'; 255]]), Ok(Some("x".repeat(255))));
        let refused: [&[&[u8]]; 5] = [
            &[b""],
            &[&[b'x'; 256]],
            &["é".as_bytes()],
            &[b"a\tb"],
            &[b"a", b"a"],
        ];
        for values in refused {
            let told = key(values).unwrap_err();
            assert!(told.starts_with("Idempotency-Key: "), "{told}");
        }
    }

    #[test]
    fn the_fingerprint_is_of_what_is_asked_not_of_how_it_is_spelt() {
        let of = |body: &str| {
            let query = search_body::parse(body.as_bytes(), RecordKind::Company).unwrap();
            bind("key".to_owned(), &query).fingerprint
        };
        let one = of(r#"{"companyName": "acme", "limit": 10, "fields": ["name", "domain"]}"#);
        let same = of(r#" {"fields":["domain","name","name"],"limit":1e1,  "companyName":"\u0061cme"} "#);
        assert_eq!(one, same);
        for other in [
            r#"{"companyName": "acme", "limit": 11, "fields": ["name", "domain"]}"#,
            r#"{"companyName": "acme", "limit": 10, "fields": ["name"]}"#,
            r#"{"companyName": "acme", "limit": 10, "fields": ["name", "domain"], "cursor": null}"#,
            r#"{"businessType": "acme", "limit": 10, "fields": ["name", "domain"]}"#,
            "{}",
        ] {
            assert_ne!(one, of(other), "{other}");
        }
    }
}
