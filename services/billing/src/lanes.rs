//! Charges in groups.
//!
//! A transaction for each charge would have the charges of a busy account queue for its row lock, one wait for the disk
//! each. Instead what arrives waits in a queue ([`crate::queue`]); a few lanes take from it, each a group at a time: all
//! charges of the accounts whose turn it is. A group is decided in memory ([`crate::books`]) and written in one
//! transaction ([`crate::store`]); each caller is answered after its commit, never before. The busier it is the larger
//! the groups, and while it is quiet a charge waits for nobody.
//!
//! # What can go wrong, and what then
//! - **A charge of the group is refused** (balance, reused key). That is an outcome like another: it is told, and leaves
//!   nothing behind. The others go on.
//! - **The balance runs out within a group.** Charges are decided in the order they came in, each on the balance that the
//!   one before has left: the first ones are taken, the rest refused, as if they had come one by one.
//! - **An idempotency key, or a charge id, comes twice within a group.** What was decided earlier in the group counts as
//!   written: the second is the first one's repeat.
//! - **The database refuses what is written**, for the sake of one charge. Nothing of the group is written then. It is
//!   tried again in halves, until the one stands alone and the others are taken.
//! - **Somebody else holds the row of one account** (a grant, another replica, a person). The others do not wait for it:
//!   the group passes over that row, and the account's charges go back to the head of their line, to be taken alone.
//!   One lane never waits so, if there is more than one.
//! - **One account sends more than can be written.** Accounts take turns, and where there is no room the longest line is
//!   cut: its callers are told `UNAVAILABLE`, nothing is taken.
//! - **A caller has gone.** A charge whose caller has gone, or whose time is over, before its turn is dropped and nothing
//!   is taken. After that it runs to its end in the lane's task, whoever waits for it.
//! - **The transaction fails.** Nothing is taken; all of its callers are told so.
//! - **The connection is lost at the commit.** Whether it took effect is not known, and is not guessed: under the same
//!   row locks the lane looks for the charges by their ids, and either has its answer or starts over. If the database
//!   does not come back in time, the callers are told that the outcome is unknown; the same charge id settles it.
//! - **The process is killed.** Before the commit nothing of the group is taken, after it all of it is. A repeat with the
//!   same charge id or idempotency key finds out which, and moves nothing twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use metrics::Gauge;
use proto::account::AccountId;
use proto::credits::{Charge, Operation};
use runtime::ambient::Ambient;
use runtime::process::with_causes;
use runtime::shutdown::Shutdown;
use runtime::telemetry::{self, TRACE};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};
use tracing::{Instrument as _, Span};

use crate::billing::BillingError;
use crate::books::{Charged, Taken};
use crate::meters;
use crate::queue::{Group, Queue};
use crate::store::{Attempt, ChargeError, Decisions, Moment, Store, StoreError};

/// How charges are grouped.
#[derive(Clone, Copy, Debug)]
pub struct LanesConfig {
    /// Transactions at once.
    pub lanes: u32,
    /// Charges that may wait.
    pub queue: u32,
    /// Most charges of a transaction.
    pub batch: u32,
    /// Longest time from a charge's arrival to its answer, where its caller sets no deadline.
    pub patience: Duration,
}

/// Pause before the next try while the database is away.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// The lanes. They end when the last clone is dropped and what waits is done. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lanes {
    arrivals: mpsc::Sender<Waiting>,
    patience: Duration,
}

/// A charge in the queue.
#[derive(Debug)]
struct Waiting {
    charge: Charge,
    deadline: Instant,
    /// The call that waits for it.
    span: Span,
    answer: oneshot::Sender<Result<Charged, BillingError>>,
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
        let (sender, arrivals) = mpsc::channel(config.queue.max(1) as usize);
        let dispatcher = Dispatcher {
            queue: Queue::new(config.queue as usize),
            lanes: config.lanes.max(1) as usize,
            batch: config.batch as usize,
            running: JoinSet::new(),
            depth: metrics::gauge!(meters::CHARGES_WAITING),
            busy: metrics::gauge!(meters::LANES_BUSY),
            settler: Arc::new(Settler {
                store: store.clone(),
                ambient: ambient.clone(),
                idempotency_ttl,
            }),
        };
        shutdown.spawn_critical("charges", dispatcher.run(arrivals));
        Self {
            arrivals: sender,
            patience: config.patience,
        }
    }

    /// Queues a charge and waits for its answer. Dropping the future withdraws the charge if its turn has not come.
    pub async fn charge(&self, charge: Charge, deadline: Option<Instant>) -> Result<Charged, BillingError> {
        let latest = Instant::now() + self.patience;
        let deadline = deadline.map_or(latest, |deadline| deadline.min(latest));
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting {
            charge,
            deadline,
            span: Span::current(),
            answer,
        };
        match self.arrivals.try_send(waiting) {
            Ok(()) => answered.await.unwrap_or(Err(BillingError::BrokenOff)),
            Err(TrySendError::Full(waiting)) => {
                // Told as all are that are shed; nobody listens.
                shed(waiting);
                Err(BillingError::Overloaded)
            }
            Err(TrySendError::Closed(_)) => Err(BillingError::BrokenOff),
        }
    }
}

/// Gives the lanes their groups. It owns the queue: nothing is locked.
struct Dispatcher {
    queue: Queue<AccountId, Waiting>,
    lanes: usize,
    batch: usize,
    /// The lanes that are at work.
    running: JoinSet<Settled>,
    /// How many charges wait, and how many lanes are at work, as metrics.
    depth: Gauge,
    busy: Gauge,
    settler: Arc<Settler>,
}

/// A group that is done with.
struct Settled {
    accounts: Vec<AccountId>,
    /// Charges of accounts whose rows were held by others.
    held: HashMap<AccountId, Vec<Waiting>>,
}

impl Dispatcher {
    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point; what waits is far below 2^53"
    )]
    async fn run(mut self, mut arrivals: mpsc::Receiver<Waiting>) {
        let mut is_open = true;
        let mut arrived = Vec::new();
        while is_open || !self.queue.is_empty() || !self.running.is_empty() {
            tokio::select! {
                count = arrivals.recv_many(&mut arrived, self.batch), if is_open => {
                    is_open = count > 0;
                    for waiting in arrived.drain(..) {
                        let account = waiting.charge.purchase.account.clone();
                        if let Some(displaced) = self.queue.push(account, waiting) {
                            shed(displaced);
                        }
                    }
                }
                Some(settled) = self.running.join_next() => self.finish(settled),
            }
            self.start_groups();
            self.depth.set(self.queue.waiting() as f64);
            self.busy.set(self.running.len() as f64);
        }
    }

    fn start_groups(&mut self) {
        while self.running.len() < self.lanes {
            let is_last_free = self.running.len() + 1 == self.lanes;
            let can_wait = !is_last_free || self.lanes == 1;
            let Some(group) = self.queue.take(self.batch, can_wait) else {
                return;
            };
            self.running.spawn(Arc::clone(&self.settler).settle_group(group));
        }
    }

    fn finish(&mut self, settled: Result<Settled, JoinError>) {
        let mut settled = match settled {
            Ok(settled) => settled,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => unreachable!("nobody cancels a lane"),
            },
        };
        for account in settled.accounts {
            let held = settled.held.remove(&account);
            let is_apart = held.is_some();
            self.queue.put_back(&account, held.unwrap_or_default());
            self.queue.finish(account, is_apart);
        }
    }
}

/// What groups are settled with.
struct Settler {
    store: Store,
    ambient: Ambient,
    idempotency_ttl: TimeDelta,
}

impl Settler {
    /// Settles all of them in one transaction, or in several if the database refuses them together.
    async fn settle_group(self: Arc<Self>, group: Group<AccountId, Waiting>) -> Settled {
        let begun = Instant::now();
        let there = group
            .items
            .into_iter()
            .filter(|waiting| !waiting.answer.is_closed());
        let (in_time, late): (Vec<_>, Vec<_>) = there.partition(|waiting| waiting.deadline > begun);
        late.into_iter().for_each(shed);
        let mut held = HashMap::<_, Vec<_>>::new();
        // The next one last.
        let mut parts = vec![in_time];
        while let Some(mut part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            metrics::histogram!(meters::GROUP_SIZE)
                .record(f64::from(u32::try_from(part.len()).unwrap_or(u32::MAX)));
            let settled = self.settle(&part, group.is_apart).instrument(span_of(&part));
            match settled.await {
                Ok(decisions) => {
                    for (waiting, decision) in part.into_iter().zip(decisions) {
                        if let Some(outcome) = decision {
                            count_credits(&waiting.charge, outcome.ok());
                            reply(waiting.answer, outcome.map_err(BillingError::from));
                        } else {
                            let account = waiting.charge.purchase.account.clone();
                            held.entry(account).or_default().push(waiting);
                        }
                    }
                }
                Err(BillingError::Store(StoreError::Refused(_))) if part.len() > 1 => {
                    let rest = part.split_off(part.len() / 2);
                    parts.extend([rest, part]);
                }
                Err(error) => {
                    for waiting in part {
                        reply(waiting.answer, Err(error.clone()));
                    }
                }
            }
        }
        metrics::histogram!(meters::GROUP_SECONDS).record(begun.elapsed().as_secs_f64());
        Settled {
            accounts: group.accounts,
            held,
        }
    }

    /// Settles them in one transaction; tries again where its effect is not known.
    async fn settle(&self, group: &[Waiting], can_wait: bool) -> Result<Decisions, BillingError> {
        let charges = group.iter().map(|waiting| &waiting.charge).collect::<Vec<_>>();
        let deadline = group.iter().map(|waiting| waiting.deadline).max();
        let mut unsure: Option<Decisions> = None;
        loop {
            let now = self.ambient.now();
            let moment = Moment {
                now,
                bindings_expired: now - self.idempotency_ttl,
            };
            let attempt = match &unsure {
                Some(decisions) => Attempt::Again(decisions),
                None if can_wait => Attempt::Waiting,
                None => Attempt::PassingOver,
            };
            match self.store.charge(&charges, moment, attempt).await {
                Ok(decisions) => return Ok(decisions),
                Err(ChargeError::Unsure { decisions, source }) => {
                    tracing::warn!(
                        error = with_causes(&source),
                        "the connection was lost at a commit of charges"
                    );
                    unsure = Some(decisions);
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
            if deadline.is_none_or(|deadline| Instant::now() + RETRY_PAUSE >= deadline) {
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

/// The span of a group: a part of the trace of its first charge, and tied to the others.
fn span_of(group: &[Waiting]) -> Span {
    let mut callers = group.iter().map(|waiting| &waiting.span);
    let Some(first) = callers.next().filter(|first| !first.is_none()) else {
        return Span::none();
    };
    let span = tracing::info_span!(target: TRACE, parent: first, "charges", charges = group.len());
    if !span.is_none() {
        callers.for_each(|other| telemetry::link(&span, other));
    }
    span
}

/// Counts what was taken.
fn count_credits(charge: &Charge, charged: Option<Charged>) {
    let Some(charged) = charged.filter(|charged| charged.taken == Taken::Now) else {
        return;
    };
    let operation = match charge.purchase.operation {
        Operation::SearchPeople => "search_people",
        Operation::SearchCompanies => "search_companies",
    };
    let credits = u64::try_from(charged.cost).unwrap_or_default();
    metrics::counter!(meters::CREDITS_CHARGED, "operation" => operation).increment(credits);
}

/// Refuses a charge that there is no room or no time for.
fn shed(waiting: Waiting) {
    metrics::counter!(meters::CHARGES_SHED).increment(1);
    reply(waiting.answer, Err(BillingError::Overloaded));
}

/// A caller that has gone needs no answer.
fn reply(answer: oneshot::Sender<Result<Charged, BillingError>>, result: Result<Charged, BillingError>) {
    let label = match &result {
        Ok(charged) if charged.taken == Taken::Now => "taken",
        Ok(_) => "replayed",
        Err(BillingError::Refused(_)) => "refused",
        Err(_) => "failed",
    };
    metrics::counter!(meters::CHARGES, "outcome" => label).increment(1);
    let _ = answer.send(result);
}
