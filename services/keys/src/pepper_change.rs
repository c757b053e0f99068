//! How the pepper is changed, how far a change is, and how it ends.
//!
//! Two peppers count at a time. A key hashed with the previous one goes on working and is hashed anew with the current one
//! when it is next used: a hash can't be turned back, so nobody can do it for a key that nobody shows. To change without
//! a key refused anywhere:
//! 1. Give every replica the new pepper as `previous_pepper`: all of them then know both.
//! 2. Swap the two, replica by replica.
//! 3. Wait until the metric `keys_active{pepper="previous"}` is 0, or until those that are left may stop: they have not been
//!    used since step 2. Then drop `previous_pepper`.
//!
//! A key that is left is refused from then on like an unknown one, and counted as `keys_active{pepper="unknown"}`; its owner
//! gives it another secret (`regenerate`), for which the old one is not needed. Until then the old pepper, set as the
//! previous one, makes it work again.
//!
//! A pepper that is none of this database's (a slip, a wrong environment) would have every caller told that its key is
//! bad. So a process none of whose peppers made any hash of any active key does not start.

use std::time::Duration;

use runtime::process::{BoxError, with_causes};
use runtime::shutdown::Shutdown;

use crate::secret::Peppers;
use crate::store::{Store, StoreError};

/// Time from one count to the next while there is a previous pepper: a count looks at every key.
const COUNT_EVERY: Duration = Duration::from_mins(1);

/// Pause before the database is asked again that was away.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// How many active keys are hashed with which pepper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// With the current one.
    pub current: u32,
    /// With the previous one.
    pub previous: u32,
    /// With neither: they open nothing.
    pub unknown: u32,
}

/// The peppers are not those of this database.
#[derive(Debug, thiserror::Error)]
#[error(
    "none of the {keys} active keys was hashed with pepper or previous_pepper: they are not those of this database, whose \
     keys would all be refused (if their pepper is lost, revoke them in the database first)"
)]
pub struct WrongPeppers {
    keys: u32,
}

impl Progress {
    /// Counts.
    pub async fn of(store: &Store, peppers: &Peppers) -> Result<Self, StoreError> {
        let mut progress = Self::default();
        for (pepper_id, keys) in store.active_by_pepper().await? {
            let previous = peppers.previous.as_ref();
            let count = if pepper_id == peppers.current.id() {
                &mut progress.current
            } else if previous.is_some_and(|previous| pepper_id == previous.id()) {
                &mut progress.previous
            } else {
                &mut progress.unknown
            };
            *count = count.saturating_add(u32::try_from(keys).unwrap_or(u32::MAX));
        }
        Ok(progress)
    }

    /// Refuses peppers of which no active key knows.
    pub fn check(self) -> Result<(), WrongPeppers> {
        if self.current == 0 && self.previous == 0 && self.unknown > 0 {
            return Err(WrongPeppers { keys: self.unknown });
        }
        Ok(())
    }

    fn tell(self) {
        for (pepper, keys) in [
            ("current", self.current),
            ("previous", self.previous),
            ("unknown", self.unknown),
        ] {
            metrics::gauge!(crate::meters::ACTIVE, "pepper" => pepper).set(keys);
        }
    }
}

/// Checks the peppers by the keys that are there, before the process serves. Waits for a database that is away.
pub async fn begin(store: &Store, peppers: &Peppers) -> Result<(), BoxError> {
    let progress = loop {
        match Progress::of(store, peppers).await {
            Err(error @ StoreError::Unavailable(_)) => {
                tracing::warn!(error = with_causes(&error), "waiting for the database");
                tokio::time::sleep(RETRY_EVERY).await;
            }
            counted => break counted?,
        }
    };
    progress.tell();
    progress.check()?;
    if progress.unknown > 0 {
        tracing::warn!(
            keys = progress.unknown,
            "some active keys were hashed with a pepper that is not set any more: they open nothing until they are \
             regenerated"
        );
    }
    Ok(())
}

/// Tells how far a change is, until the process drains. Counts only while there is a previous pepper.
pub async fn keep_counting(store: Store, peppers: Peppers, shutdown: Shutdown) {
    if peppers.previous.is_none() {
        shutdown.draining().await;
        return;
    }
    while tokio::time::timeout(COUNT_EVERY, shutdown.draining())
        .await
        .is_err()
    {
        match Progress::of(&store, &peppers).await {
            Ok(progress) => progress.tell(),
            Err(error) => tracing::warn!(
                error = with_causes(&error),
                "the keys of each pepper could not be counted"
            ),
        }
    }
}
