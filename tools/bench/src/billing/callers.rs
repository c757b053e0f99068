//! Callers in a closed loop, each with one charge under way at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::billing::v1::{ChargeRequest, GrantCreditsRequest, Operation};
use sqlx::PgPool;
use tokio::task::JoinSet;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use uuid::Uuid;

use super::span;
use crate::BoxError;

/// Callers of one connection to the service.
const CALLERS_A_CONNECTION: usize = 16;

/// More than anybody spends.
const CREDITS: i64 = 1_000_000_000;

/// A way to charge. Cheap to clone.
#[derive(Clone)]
pub(super) enum Way {
    /// By the billing service, over these connections.
    Service(Arc<[Channel]>, MetadataValue<Ascii>),
    /// By a statement of one's own.
    Statement(PgPool),
}

/// Who charges whom.
pub(super) struct Workload {
    /// The accounts: a caller's charges go to each of its share in turn.
    pub(super) accounts: Vec<String>,
    /// Callers at once.
    pub(super) callers: usize,
    /// How long.
    pub(super) time: Duration,
}

/// What was measured.
pub(super) struct Figures {
    latency: Histogram<u64>,
    /// All charges, those of the warm-up too.
    charges: u64,
    time: Duration,
}

impl Figures {
    /// Charges a second.
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown with few digits")]
    pub(super) fn rate(&self) -> f64 {
        self.latency.len() as f64 / self.time.as_secs_f64()
    }

    /// A quantile of the time for a charge.
    #[expect(clippy::cast_precision_loss, reason = "latencies are shown with few digits")]
    pub(super) fn millis(&self, quantile: f64) -> f64 {
        self.latency.value_at_quantile(quantile) as f64 / 1_000.0
    }

    /// Microseconds of this for each charge.
    #[expect(clippy::cast_precision_loss, reason = "times are shown with few digits")]
    pub(super) fn micros_each(&self, of: Duration) -> f64 {
        of.as_secs_f64() * 1e6 / self.charges.max(1) as f64
    }
}

impl Way {
    /// By the service at this address.
    pub(super) async fn service(address: &str, token: &str) -> Result<Self, BoxError> {
        let mut channels = Vec::new();
        for _ in 0..4 {
            let endpoint = Endpoint::from_shared(address.to_owned())?.tcp_nodelay(true);
            channels.push(endpoint.connect().await?);
        }
        Ok(Self::Service(channels.into(), format!("Bearer {token}").parse()?))
    }

    /// Gives the accounts credits.
    pub(super) async fn fill(&self, accounts: &[String]) -> Result<(), BoxError> {
        let Self::Service(channels, token) = self else {
            return Err("credits are given by the service".into());
        };
        let mut client = BillingServiceClient::new(channels.first().ok_or("no connection")?.clone());
        for account in accounts {
            let grant = GrantCreditsRequest {
                account_id: account.clone(),
                grant_id: "bench".to_owned(),
                amount: CREDITS,
            };
            client.grant_credits(with_token(grant, token)).await?;
        }
        Ok(())
    }

    async fn charge(&self, caller: usize, account: &str, id: Uuid) -> Result<(), BoxError> {
        match self {
            Self::Service(channels, token) => {
                let channel = channels
                    .get(caller / CALLERS_A_CONNECTION % channels.len())
                    .ok_or("no connection")?;
                let charge = ChargeRequest {
                    account_id: account.to_owned(),
                    charge_id: id.to_string(),
                    operation: Operation::SearchPeople.into(),
                    amount: 1,
                    idempotency: None,
                };
                let mut client = BillingServiceClient::new(channel.clone());
                client.charge(with_token(charge, token)).await?;
            }
            Self::Statement(pool) => {
                let taken = sqlx::query(
                    "WITH taken AS (
                         UPDATE accounts SET balance = balance - 1 WHERE account_id = $1 AND balance >= 1
                         RETURNING balance
                     )
                     INSERT INTO ledger_entries (account_id, amount, balance, created_at, charge_id, operation)
                     SELECT $1, -1, balance, now(), $2, 1 FROM taken",
                )
                .bind(account)
                .bind(id)
                .execute(pool)
                .await?;
                if taken.rows_affected() != 1 {
                    return Err(format!("{account} was not charged").into());
                }
            }
        }
        Ok(())
    }
}

fn with_token<T>(message: T, token: &MetadataValue<Ascii>) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.metadata_mut().insert("authorization", token.clone());
    request
}

/// Charges for so long, after a warm-up of a tenth of it. The charges are numbered on from there.
pub(super) async fn run(way: &Way, workload: &Workload, first: u64) -> Result<Figures, BoxError> {
    let (begin, end) = span(workload.time);
    let accounts: Arc<[String]> = workload.accounts.as_slice().into();
    let mut tasks = JoinSet::new();
    for caller in 0..workload.callers {
        let (way, accounts, callers) = (way.clone(), Arc::clone(&accounts), workload.callers);
        tasks.spawn(async move {
            let (mut latency, mut charges) = (Histogram::<u64>::new(3)?, 0_u64);
            let share = accounts.iter().cycle().skip(caller % accounts.len());
            for account in share.step_by(callers) {
                let start = Instant::now();
                if start >= end {
                    break;
                }
                // As they are made, the newer the greater: so are those of the gateway.
                let number = u128::from(first) + u128::from(charges) * (callers as u128) + caller as u128;
                way.charge(caller, account, Uuid::from_u128(number << 64)).await?;
                charges += 1;
                if start >= begin {
                    latency.record(u64::try_from(start.elapsed().as_micros())?.max(1))?;
                }
            }
            Ok::<_, BoxError>((latency, charges))
        });
    }
    let mut figures = Figures {
        latency: Histogram::new(3)?,
        charges: 0,
        time: workload.time,
    };
    while let Some(done) = tasks.join_next().await {
        let (latency, charges) = done??;
        figures.latency.add(latency)?;
        figures.charges += charges;
    }
    Ok(figures)
}
