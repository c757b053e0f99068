//! Charges in groups: see the head of this crate.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use proto::credits::Charge;
use runtime::ambient::Ambient;
use runtime::process::with_causes;
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::billing::BillingError;
use crate::books::{Charged, Outcome, Taken};
use crate::store::{ChargeError, Moment, Store, StoreError};

/// How charges are grouped.
#[derive(Clone, Copy, Debug)]
pub struct LanesConfig {
    /// Transactions at once.
    pub lanes: u32,
    /// Charges that may wait in a lane.
    pub queue: u32,
    /// Most charges of a transaction.
    pub batch: u32,
    /// Longest time from a charge's arrival to its answer, where its caller sets no deadline.
    pub patience: Duration,
}

/// Pause before the next try while the database is away.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// The lanes. They end when the last clone is dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lanes {
    lanes: Arc<[mpsc::Sender<Waiting>]>,
    patience: Duration,
}

/// A charge in the queue.
#[derive(Debug)]
struct Waiting {
    charge: Charge,
    deadline: Instant,
    answer: oneshot::Sender<Result<Charged, BillingError>>,
}

/// What one lane works with.
struct Lane {
    store: Store,
    ambient: Ambient,
    idempotency_ttl: TimeDelta,
}

impl Lanes {
    /// Starts the lanes.
    #[must_use]
    pub fn start(
        config: LanesConfig,
        store: &Store,
        ambient: &Ambient,
        idempotency_ttl: TimeDelta,
        shutdown: &Shutdown,
    ) -> Self {
        let start = |_| {
            let (sender, receiver) = mpsc::channel(config.queue as usize);
            let lane = Lane {
                store: store.clone(),
                ambient: ambient.clone(),
                idempotency_ttl,
            };
            shutdown.spawn_critical("charges", lane.run(receiver, config.batch as usize));
            sender
        };
        Self {
            lanes: (0..config.lanes.max(1)).map(start).collect(),
            patience: config.patience,
        }
    }

    /// Queues a charge and waits for its answer. Dropping the future withdraws the charge if its turn has not come.
    pub async fn charge(&self, charge: Charge, deadline: Option<Instant>) -> Result<Charged, BillingError> {
        let latest = Instant::now() + self.patience;
        let deadline = deadline.map_or(latest, |deadline| deadline.min(latest));
        let (answer, answered) = oneshot::channel();
        let lane = self.lane_of(&charge).ok_or(BillingError::Overloaded)?;
        lane.try_send(Waiting {
            charge,
            deadline,
            answer,
        })
        .map_err(|error| match error {
            TrySendError::Full(_) => {
                metrics::counter!("billing_charges_shed_total").increment(1);
                BillingError::Overloaded
            }
            TrySendError::Closed(_) => BillingError::BrokenOff,
        })?;
        answered.await.unwrap_or(Err(BillingError::BrokenOff))
    }

    fn lane_of(&self, charge: &Charge) -> Option<&mpsc::Sender<Waiting>> {
        let mut hasher = DefaultHasher::new();
        charge.purchase.account.hash(&mut hasher);
        let lanes = u64::try_from(self.lanes.len()).ok()?;
        let lane = hasher.finish().checked_rem(lanes)?;
        self.lanes.get(usize::try_from(lane).ok()?)
    }
}

impl Lane {
    async fn run(self, mut queue: mpsc::Receiver<Waiting>, batch: usize) {
        let mut waiting = Vec::with_capacity(batch);
        while queue.recv_many(&mut waiting, batch).await > 0 {
            let now = Instant::now();
            let mut group = Vec::with_capacity(waiting.len());
            for waiting in waiting.drain(..).filter(|waiting| !waiting.answer.is_closed()) {
                if waiting.deadline > now {
                    group.push(waiting);
                } else {
                    metrics::counter!("billing_charges_shed_total").increment(1);
                    reply(waiting.answer, Err(BillingError::Overloaded));
                }
            }
            if !group.is_empty() {
                metrics::histogram!("billing_charge_group_size")
                    .record(f64::from(u32::try_from(group.len()).unwrap_or(0)));
                self.settle_group(group).await;
                metrics::histogram!("billing_charge_group_seconds").record(now.elapsed().as_secs_f64());
            }
        }
    }

    /// Settles all of them in one transaction, or each in its own if the database refuses them together.
    async fn settle_group(&self, group: Vec<Waiting>) {
        let deadline = group
            .iter()
            .map(|waiting| waiting.deadline)
            .max()
            .unwrap_or_else(Instant::now);
        let (charges, answers): (Vec<_>, Vec<_>) = group
            .into_iter()
            .map(|waiting| (waiting.charge, (waiting.answer, waiting.deadline)))
            .unzip();
        match self.settle(&charges, deadline).await {
            Ok(outcomes) => {
                for (outcome, (answer, _)) in outcomes.into_iter().zip(answers) {
                    reply(answer, outcome.map_err(BillingError::from));
                }
            }
            Err(BillingError::Store(StoreError::Refused(_))) if charges.len() > 1 => {
                for (charge, (answer, deadline)) in charges.into_iter().zip(answers) {
                    let settled = self.settle(&[charge], deadline).await;
                    let only = settled.map(|outcomes| outcomes.into_iter().next());
                    reply(
                        answer,
                        match only {
                            Ok(Some(outcome)) => outcome.map_err(BillingError::from),
                            Ok(None) => Err(BillingError::BrokenOff),
                            Err(error) => Err(error),
                        },
                    );
                }
            }
            Err(error) => {
                for (answer, _) in answers {
                    reply(answer, Err(error.clone()));
                }
            }
        }
    }

    /// Settles them in one transaction; tries again where its effect is not known.
    async fn settle(&self, charges: &[Charge], deadline: Instant) -> Result<Vec<Outcome>, BillingError> {
        let mut unsure = None;
        loop {
            let now = self.ambient.now();
            let moment = Moment {
                now,
                bindings_expired: now - self.idempotency_ttl,
            };
            match self.store.charge(charges, moment, unsure.as_deref()).await {
                Ok(outcomes) => return Ok(outcomes),
                Err(ChargeError::Unsure { outcomes, source }) => {
                    tracing::warn!(
                        error = with_causes(&source),
                        "the connection was lost at a commit of charges"
                    );
                    unsure = Some(outcomes);
                }
                Err(ChargeError::NotTaken(StoreError::Unavailable(_))) if unsure.is_some() => {}
                Err(ChargeError::NotTaken(error)) => {
                    tracing::warn!(
                        error = with_causes(&error),
                        charges = charges.len(),
                        "charges were not taken"
                    );
                    return Err(if unsure.is_some() {
                        BillingError::OutcomeUnknown
                    } else {
                        error.into()
                    });
                }
            }
            if Instant::now() + RETRY_PAUSE >= deadline {
                tracing::error!(
                    charges = charges.len(),
                    "it is unknown whether charges were taken"
                );
                return Err(BillingError::OutcomeUnknown);
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
}

/// A caller that has gone needs no answer.
fn reply(answer: oneshot::Sender<Result<Charged, BillingError>>, result: Result<Charged, BillingError>) {
    let label = match &result {
        Ok(charged) if charged.taken == Taken::Now => "taken",
        Ok(_) => "replayed",
        Err(BillingError::Refused(_)) => "refused",
        Err(_) => "failed",
    };
    metrics::counter!("billing_charges_total", "outcome" => label).increment(1);
    let _ = answer.send(result);
}
