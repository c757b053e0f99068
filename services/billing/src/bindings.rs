//! Removes the bindings of idempotency keys that no longer count. Nothing hangs on it but room: a binding that is too
//! old is not looked at, and is replaced when its key comes again.

use std::time::Duration;

use chrono::TimeDelta;
use runtime::ambient::Ambient;
use runtime::process::with_causes;
use runtime::shutdown::Shutdown;

use crate::store::{Store, StoreError};

/// Most bindings removed in one transaction.
const BATCH: i64 = 1_000;

/// Removes them every `interval`, until the process drains.
pub async fn keep_removing(
    store: Store,
    ambient: Ambient,
    idempotency_ttl: TimeDelta,
    interval: Duration,
    shutdown: Shutdown,
) {
    while tokio::time::timeout(interval, shutdown.draining()).await.is_err() {
        if let Err(error) = remove(&store, &ambient, idempotency_ttl, &shutdown).await {
            tracing::warn!(
                error = with_causes(&error),
                "old idempotency keys could not be removed yet"
            );
        }
    }
}

/// Removes all that are too old now, some at a time; how many.
pub async fn remove(
    store: &Store,
    ambient: &Ambient,
    idempotency_ttl: TimeDelta,
    shutdown: &Shutdown,
) -> Result<u64, StoreError> {
    let expired = ambient.now() - idempotency_ttl;
    let mut total = 0;
    loop {
        let removed = store.remove_bindings(expired, BATCH).await?;
        total += removed;
        metrics::counter!(crate::meters::BINDINGS_REMOVED).increment(removed);
        if removed < BATCH.unsigned_abs() || shutdown.is_draining() {
            return Ok(total);
        }
    }
}
