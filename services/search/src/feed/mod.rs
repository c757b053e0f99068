//! From the feed of changes to the index: whatever is committed is searchable soon after, nothing is skipped.
//!
//! [`Feed::run`] looks for changes behind the index's position, reads the records they touch from one snapshot,
//! writes their documents, and commits them together with the new position ([`follow`]). At rest it looks every
//! [`FeedSettings::interval`]; while it is behind it goes on at once. A company's change writes its own document and
//! those of all its people; a person's writes their own and those of the companies before and after. What was written
//! from a snapshot that had the change already is not written again ([`ahead`]).
//!
//! What can go wrong, and what holds then:
//! - **A crash anywhere.** The position stands in the index's own commit. What was written without it is written
//!   again; a document replaces the one with its id.
//! - **Postgres is away.** Searches go on against the index as it is; the feed tries again, more and more slowly up
//!   to [`LONGEST_PAUSE`].
//! - **The disk is full, the index can't be written.** The same.
//! - **The index's directory was removed.** Nothing can be written there again, and nothing new would ever be found: the
//!   process ends, and whoever starts it again has it build a new one.
//! - **The index is new, or so old that its next change was dropped from the feed, or ahead of it** (the database was
//!   put back to an older state). It is built anew from all records ([`build`]), and the old one, if there is one,
//!   serves until the new one takes over.
//! - **A rebuild is ordered while changes go on.** It runs in a task of its own; the serving index follows as always.
//!   The new one is filled from a snapshot, follows the feed from that snapshot's position, and takes over at a moment
//!   when nothing is written to the old one, and not before it has come as far.
//! - **The process is told to stop.** The feed ends between two pieces of work; a rebuild is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use runtime::ambient::Ambient;
use runtime::process::with_causes;
use runtime::readiness::Condition;
use runtime::shutdown::Shutdown;
use tokio::sync::Mutex;

use crate::background;
use crate::engine::{Index, IndexError, IndexStatus, Rebuild};
use crate::meters;
use crate::store::changes::Lag;
use crate::store::{Store, StoreError};

mod ahead;
mod build;
mod follow;
mod records;

#[cfg(test)]
mod tests;

use ahead::Ahead;
use follow::Followed;
use records::Target;

/// Longest pause between two tries while something is out of order.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How often the metrics are told what is in the index.
const OBSERVE_INTERVAL: Duration = Duration::from_secs(5);

/// How often old changes are looked for.
const PRUNE_INTERVAL: Duration = Duration::from_mins(1);

/// Most changes dropped at once.
const PRUNE_BATCH: i64 = 10_000;

/// How the index follows the records.
#[derive(Clone, Debug)]
pub struct FeedSettings {
    /// Pause between two looks for changes while there are none.
    pub interval: Duration,
    /// Most changes followed with one commit of the index while it is about level; far behind, up to four times as many.
    pub batch: i64,
    /// How long changes are kept for an index that was away.
    pub retention: Duration,
}

/// Keeps the index level with the records.
#[derive(Debug)]
pub struct Feed {
    store: Store,
    index: Arc<Index>,
    settings: FeedSettings,
    ambient: Ambient,
    shutdown: Shutdown,
    /// What the serving index is ahead in. Held while that is written, or replaced.
    writing: Mutex<Ahead>,
    rebuilding: AtomicBool,
}

/// The index, and how far it has come.
#[derive(Clone, Copy, Debug)]
pub struct FeedStatus {
    /// What is in the index.
    pub index: IndexStatus,
    /// Last position of the feed.
    pub position: i64,
    /// What is not searchable yet.
    pub lag: Lag,
    /// Whether a rebuild is running.
    pub rebuilding: bool,
}

/// Why the feed did not go on.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The records could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index could not be written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A thread that worked on the index has panicked.
    #[error("the work on the index was broken off")]
    Worker(#[from] tokio::task::JoinError),
    /// The process was told to stop.
    #[error("the process was told to stop")]
    Draining,
}

impl Feed {
    /// A feed from these records to this index.
    #[must_use]
    pub fn new(
        store: Store,
        index: Arc<Index>,
        settings: FeedSettings,
        ambient: Ambient,
        shutdown: Shutdown,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            index,
            settings,
            ambient,
            shutdown,
            writing: Mutex::default(),
            rebuilding: AtomicBool::new(false),
        })
    }

    /// Follows until the process drains. The condition holds from when the index has been built, for ever.
    pub async fn run(self: Arc<Self>, built: Condition) {
        let mut pause = self.settings.interval;
        // What was built by an earlier process is good enough to begin with, even if the records are out of reach.
        if self.position().await.is_ok_and(|position| position.is_some()) {
            built.set(true);
        }
        while !self.shutdown.is_draining() {
            let wait = match self.advance(&built).await {
                Ok(Advance::Behind) => continue,
                Ok(Advance::Level) => {
                    pause = self.settings.interval;
                    pause
                }
                Err(FeedError::Draining) => return,
                Err(error) => {
                    if self.index.is_gone() {
                        tracing::error!(error = %with_causes(&error), "the directory of the index was removed");
                        return;
                    }
                    metrics::counter!(meters::FEED_ERRORS).increment(1);
                    tracing::warn!(error = %with_causes(&error), "the index does not follow the records now");
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    pause
                }
            };
            tokio::select! {
                () = self.shutdown.draining() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Tells the metrics what is in the index until the process drains.
    pub async fn observe(self: Arc<Self>) {
        loop {
            let index = Arc::clone(&self.index);
            match tokio::task::spawn_blocking(move || Ok((index.status()?, index.free_bytes()))).await {
                Ok(Ok((status, free_bytes))) => observe(&status, free_bytes),
                Ok(Err::<_, IndexError>(error)) => {
                    tracing::warn!(error = %with_causes(&error), "the index can't be looked at");
                }
                Err(error) => tracing::error!(%error, "looking at the index failed"),
            }
            tokio::select! {
                () = self.shutdown.draining() => return,
                () = tokio::time::sleep(OBSERVE_INTERVAL) => {}
            }
        }
    }

    /// Drops old changes from the feed until the process drains.
    pub async fn prune(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.shutdown.draining() => return,
                () = tokio::time::sleep(PRUNE_INTERVAL) => {}
            }
            match self.prune_once().await {
                Ok(0) => {}
                Ok(dropped) => tracing::debug!(dropped, "old changes were dropped from the feed"),
                Err(error) => {
                    tracing::warn!(error = %with_causes(&error), "old changes could not be dropped from the feed");
                }
            }
        }
    }

    /// Starts to build the index anew beside the one that serves; false if that is being done already.
    pub fn rebuild(self: &Arc<Self>) -> bool {
        if self.rebuilding.swap(true, Ordering::AcqRel) {
            return false;
        }
        let feed = Arc::clone(self);
        self.shutdown.spawn(async move {
            let done = feed.build_and_switch().await;
            feed.rebuilding.store(false, Ordering::Release);
            match done {
                Ok(()) => tracing::info!("the index was built anew"),
                Err(FeedError::Draining) => {}
                Err(error) => tracing::error!(
                    error = %with_causes(&error),
                    "the index could not be built anew; the one that was there goes on"
                ),
            }
        });
        true
    }

    /// The index, and how far it has come.
    pub async fn status(&self) -> Result<FeedStatus, FeedError> {
        let index = Arc::clone(&self.index);
        let index = tokio::task::spawn_blocking(move || index.status()).await??;
        // Asked before the lag, so that the lag is never of changes that the position does not cover.
        let position = self.store.feed().await?.position;
        let lag = self
            .store
            .lag(index.position.unwrap_or(0), self.ambient.now())
            .await?;
        let rebuilding = self.rebuilding.load(Ordering::Acquire);
        Ok(FeedStatus {
            index,
            position,
            lag,
            rebuilding,
        })
    }

    /// One piece of work on the serving index.
    async fn advance(self: &Arc<Self>, built: &Condition) -> Result<Advance, FeedError> {
        let advanced = self.try_advance(built).await;
        if !matches!(advanced, Ok(Advance::Behind)) {
            *self.writing.lock().await = Ahead::default();
        }
        advanced
    }

    async fn try_advance(self: &Arc<Self>, built: &Condition) -> Result<Advance, FeedError> {
        let feed = self.store.feed().await?;
        match self.position().await? {
            Some(position) if feed.can_follow(position) => {
                // By whomever: this task, an earlier process, or a rebuild that was ordered.
                built.set(true);
                self.note(position, feed.position).await?;
                if position == feed.position {
                    let index = Arc::clone(&self.index);
                    background::start(move || index.show_merged()).await??;
                    return Ok(Advance::Level);
                }
            }
            position => {
                if self.rebuilding.swap(true, Ordering::AcqRel) {
                    // It was ordered a moment ago, and will do.
                    return Ok(Advance::Level);
                }
                tracing::info!(
                    ?position,
                    feed.position,
                    feed.pruned_to,
                    "the index is built from all records"
                );
                let done = self.build_and_switch().await;
                self.rebuilding.store(false, Ordering::Release);
                done?;
                return Ok(Advance::Behind);
            }
        }
        let mut ahead = self.writing.lock().await;
        // Asked again: the index may have been replaced meanwhile.
        let Some(position) = self.position().await? else {
            return Ok(Advance::Behind);
        };
        let target = Target::Serving(Arc::clone(&self.index));
        match follow::follow(&self.store, &target, position, self.settings.batch, &mut ahead).await? {
            Followed::To(_) | Followed::CannotFollow => Ok(Advance::Behind),
            Followed::Level => Ok(Advance::Level),
        }
    }

    /// Builds a new index beside the one that serves, and lets it take over. If that fails, nothing is left of it: its
    /// room may be what is missing.
    async fn build_and_switch(&self) -> Result<(), FeedError> {
        let done = self.try_build_and_switch().await;
        if done.is_err() {
            let index = Arc::clone(&self.index);
            let discarded = tokio::task::spawn_blocking(move || index.discard_rebuild()).await?;
            // What went wrong before matters more.
            if let Err(error) = discarded {
                tracing::warn!(error = %with_causes(&error), "what was built of the index could not be removed");
            }
        }
        done
    }

    async fn try_build_and_switch(&self) -> Result<(), FeedError> {
        let index = Arc::clone(&self.index);
        let rebuild = Arc::new(background::start(move || index.rebuild()).await??);
        build::fill(&self.store, &rebuild, &self.shutdown).await?;
        // Most of the way beside the serving index, the rest while nothing is written to that.
        self.catch_up(&rebuild).await?;
        let mut ahead = self.writing.lock().await;
        self.catch_up(&rebuild).await?;
        let index = Arc::clone(&self.index);
        tokio::task::spawn_blocking(move || match Arc::into_inner(rebuild) {
            Some(rebuild) => index.switch(rebuild),
            None => Err(IndexError::NotReady("it is still being written")),
        })
        .await??;
        *ahead = Ahead::default();
        Ok(())
    }

    async fn catch_up(&self, rebuild: &Arc<Rebuild>) -> Result<(), FeedError> {
        let target = Target::Rebuild(Arc::clone(rebuild));
        let built = Arc::clone(rebuild);
        let position = tokio::task::spawn_blocking(move || built.position()).await?;
        let mut position = position.ok_or(IndexError::NotReady("it has no records yet"))?;
        let mut ahead = Ahead::default();
        while !self.shutdown.is_draining() {
            match follow::follow(&self.store, &target, position, self.settings.batch, &mut ahead).await? {
                Followed::To(next) => position = next,
                Followed::Level => return Ok(()),
                Followed::CannotFollow => {
                    let reason = "the feed has dropped changes that it has not followed yet";
                    return Err(IndexError::NotReady(reason).into());
                }
            }
        }
        Err(FeedError::Draining)
    }

    /// The serving index's position. Asking may have to wait for a commit.
    async fn position(&self) -> Result<Option<i64>, FeedError> {
        let index = Arc::clone(&self.index);
        Ok(tokio::task::spawn_blocking(move || index.position()).await?)
    }

    /// Tells the metrics how far the index has come.
    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point; positions are far below 2^53"
    )]
    async fn note(&self, position: i64, last: i64) -> Result<(), FeedError> {
        let lag = if position == last {
            Lag::default()
        } else {
            self.store.lag(position, self.ambient.now()).await?
        };
        metrics::gauge!(meters::FEED_POSITION).set(position as f64);
        metrics::gauge!(meters::FEED_LAG_CHANGES).set(lag.changes as f64);
        let age = lag.age.unwrap_or_default();
        metrics::gauge!(meters::FEED_LAG_SECONDS).set(age.num_milliseconds() as f64 / 1000.0);
        metrics::gauge!(meters::FEED_LAST_CONTACT).set(self.ambient.now().timestamp() as f64);
        Ok(())
    }

    async fn prune_once(&self) -> Result<i64, StoreError> {
        let retention = TimeDelta::from_std(self.settings.retention).unwrap_or(TimeDelta::MAX);
        let before = self
            .ambient
            .now()
            .checked_sub_signed(retention)
            .unwrap_or(DateTime::<Utc>::MIN_UTC);
        let mut dropped = 0;
        loop {
            let now = self.store.prune(before, PRUNE_BATCH).await?;
            dropped += now;
            if now < PRUNE_BATCH || self.shutdown.is_draining() {
                return Ok(dropped);
            }
        }
    }
}

/// What a piece of work came to.
enum Advance {
    /// There may be more to do.
    Behind,
    /// The index is level with the records.
    Level,
}

/// Tells the metrics what is in the index.
#[expect(
    clippy::cast_precision_loss,
    reason = "metrics are floating point; counts are far below 2^53"
)]
fn observe(status: &IndexStatus, free_bytes: Option<u64>) {
    if let Some(bytes) = free_bytes {
        metrics::gauge!(meters::DISK_FREE).set(bytes as f64);
    }
    for (kind, status) in [("company", status.companies), ("person", status.people)] {
        metrics::gauge!(meters::INDEX_DOCUMENTS, "kind" => kind).set(status.documents as f64);
        metrics::gauge!(meters::INDEX_SEGMENTS, "kind" => kind).set(status.segments as f64);
        metrics::gauge!(meters::INDEX_BYTES, "kind" => kind).set(status.bytes as f64);
        metrics::gauge!(meters::INDEX_MERGES, "kind" => kind).set(status.merges as f64);
    }
}
