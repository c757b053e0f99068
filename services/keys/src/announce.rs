//! Telling the gateways over Redis that answers they keep are outdated.
//!
//! An announcement follows the commit. It may fail, and then nothing else does: the change is made, a metric and a log
//! line tell, and the gateways forget their answers within 5 s by themselves. Redis being away costs the caller
//! [`PATIENCE`] at most.

use std::time::Duration;

use proto::key_change::{CHANNEL, KeyChange};
use redis::RedisError;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use runtime::telemetry;
use tracing::Instrument as _;

/// Longest wait for Redis.
const PATIENCE: Duration = Duration::from_millis(250);

/// The way to the gateways. Cheap to clone; clones share a connection.
#[derive(Clone)]
pub struct Announcer {
    redis: ConnectionManager,
}

impl Announcer {
    /// An announcer over this Redis, which is connected to when it is needed, and again when it was away.
    pub fn new(redis: redis::Client) -> Result<Self, RedisError> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE))
            .set_number_of_retries(1);
        let redis = ConnectionManager::new_lazy_with_config(redis, config)?;
        Ok(Self { redis })
    }

    /// Announces a change that has been committed.
    pub async fn announce(&self, change: &KeyChange) {
        let mut redis = self.redis.clone();
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(CHANNEL).arg(change.encode());
        let publish = async move {
            let told = publish.exec_async(&mut redis).await;
            // That a connection died while nobody used it comes out only now, and by this the next one is made.
            match told {
                Err(error) if error.is_io_error() => publish.exec_async(&mut redis).await,
                told => told,
            }
        };
        let span = telemetry::redis_span("PUBLISH", None);
        let told = tokio::time::timeout(PATIENCE, publish).instrument(span.clone());
        let failure = match told.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        telemetry::fail(&span, "redis");
        metrics::counter!(crate::meters::ANNOUNCEMENT_FAILURES).increment(1);
        tracing::warn!(
            error = failure,
            "a change of a key could not be announced over Redis: gateways learn of it within 5 s"
        );
    }
}
