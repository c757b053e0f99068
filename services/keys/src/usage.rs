//! When keys were last used, without a write for each request.
//!
//! Uses are kept in memory, the latest of each key, and written in one statement every few seconds and at the end of
//! the process. A use is at most the gateways' caching time (5 s) and one interval behind in the database.
//!
//! - A write that fails fails no request: its uses go back to memory, and the next write has them.
//! - A process that is killed loses the uses of one interval at most: the time told is too old by that much then.
//! - A use names the generation of the secret. One that was replaced before the write is not noted, so that a key with
//!   a new secret reads as never used.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use runtime::process::with_causes;
use runtime::shutdown::Shutdown;

use crate::key::{KeyId, Use};
use crate::store::{Store, StoreError};

/// The uses not yet written. Cheap to clone; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    pending: Arc<Mutex<HashMap<KeyId, Use>>>,
}

impl Usage {
    /// Notes a use.
    pub fn note(&self, id: KeyId, used: Use) {
        self.merge([(id, used)]);
    }

    /// Writes what was noted. What can't be written is kept for the next time.
    pub async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let uses: Vec<(KeyId, Use)> = std::mem::take(&mut *self.lock()).into_iter().collect();
        if uses.is_empty() {
            return Ok(());
        }
        let result = store.note_uses(&uses).await;
        if result.is_err() {
            self.merge(uses);
        }
        result
    }

    /// The same, but for a caller that can do nothing about a failure: it is told by a metric and a log line.
    pub async fn try_flush(&self, store: &Store) {
        if let Err(error) = self.flush(store).await {
            metrics::counter!(crate::meters::USAGE_WRITE_FAILURES).increment(1);
            tracing::warn!(
                error = with_causes(&error),
                "uses of keys could not be written yet"
            );
        }
    }

    /// Writes what was noted every `interval`, until the process drains.
    pub async fn keep_writing(self, store: Store, interval: Duration, shutdown: Shutdown) {
        while tokio::time::timeout(interval, shutdown.draining()).await.is_err() {
            self.try_flush(&store).await;
        }
    }

    fn merge(&self, uses: impl IntoIterator<Item = (KeyId, Use)>) {
        let mut pending = self.lock();
        for (id, used) in uses {
            match pending.entry(id) {
                Entry::Vacant(entry) => {
                    entry.insert(used);
                }
                Entry::Occupied(mut entry) => entry.get_mut().merge(used),
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<KeyId, Use>> {
        // Whoever panicked while holding it left a map that is whole.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Use {
    /// Takes over what is later.
    fn merge(&mut self, other: Self) {
        if other.generation > self.generation {
            *self = other;
        } else if other.generation == self.generation {
            self.at = self.at.max(other.at);
            self.rehashed = self.rehashed.take().or(other.rehashed);
        }
    }
}
