//! The limiter that all gateways share: one Redis script a request, by Redis' own clock.
//!
//! # When Redis is away
//! The connection is there or it is not. While it is not, nobody waits for it: [`SharedLimiter::take`] answers "not now"
//! at once, and one task tries to connect, four times a second. It is taken away when it breaks (at the first failed
//! request) or does not answer within the budget (at the third in a row, so that one slow answer does not send every
//! account to the local limiter). A Redis that connects but is slower than the budget does not count as back.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionAddr, RedisError, Script};
use runtime::telemetry;
use tokio::sync::Notify;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::gcra::{Decision, Pace};

/// Account of the requests that try a new connection; no account has this id.
const PROBE: &str = "";

/// From one attempt to connect to the next.
const RECONNECT_EVERY: Duration = Duration::from_millis(250);

/// Longest attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Requests in a row that may time out before the connection is given up.
const TIMEOUTS_TOLERATED: u32 = 3;

/// What is in front of an account's id in the name of its state.
const KEY_PREFIX: &str = "rate:";

/// The script, for the tests that hold it against the model.
pub(super) const SCRIPT: &str = include_str!("gcra.lua");

/// A connection, and which one since the start it is: what fails on an earlier one says nothing of it.
#[derive(Clone)]
pub(super) struct Connection {
    number: u64,
    pub(super) redis: MultiplexedConnection,
}

pub(super) struct SharedLimiter {
    client: redis::Client,
    server: String,
    budget: Duration,
    script: Script,
    pub(super) connection: RwLock<Option<Connection>>,
    timeouts: AtomicU32,
    lost: Notify,
}

impl SharedLimiter {
    pub(super) fn new(client: redis::Client, budget: Duration) -> Self {
        let server = match client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host.clone(),
            other => other.to_string(),
        };
        Self {
            client,
            server,
            budget,
            script: Script::new(SCRIPT),
            connection: RwLock::new(None),
            timeouts: AtomicU32::new(0),
            lost: Notify::new(),
        }
    }

    /// Decides on a request of the account; none if Redis can't do that now. What this gateway remembers of the account
    /// counts if Redis has nothing on it.
    pub(super) async fn take(&self, account_id: &str, pace: Pace, remembered_us: u64) -> Option<Decision> {
        let Connection { number, mut redis } = self
            .connection
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()?;
        let asked = self.ask(
            &mut redis,
            account_id,
            [pace.interval_us(), pace.burst_us(), remembered_us],
        );
        match timeout(self.budget, asked).await {
            Ok(Ok(decision)) => {
                self.timeouts.store(0, Ordering::Relaxed);
                Some(decision)
            }
            Ok(Err(error)) => {
                self.give_up(number, &error.to_string());
                None
            }
            Err(_) => {
                if self.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= TIMEOUTS_TOLERATED {
                    self.give_up(number, "it does not answer in time");
                }
                None
            }
        }
    }

    async fn ask(
        &self,
        redis: &mut MultiplexedConnection,
        account_id: &str,
        arguments: [u64; 3],
    ) -> Result<Decision, RedisError> {
        let mut invocation = self.script.key(format!("{KEY_PREFIX}{account_id}"));
        invocation.arg(&arguments[..]);
        let span = telemetry::redis_span("EVALSHA", Some(&self.server));
        let answer = invocation.invoke_async(redis).instrument(span.clone()).await;
        if answer.is_err() {
            telemetry::fail(&span, "redis");
        }
        let (passes, ahead_us): (u8, u64) = answer?;
        Ok(Decision {
            passes: passes == 1,
            ahead_us,
        })
    }

    /// Connects, and connects again whenever the connection was given up. For ever.
    pub(super) async fn keep_connected(&self) {
        let mut told = false;
        for number in 0.. {
            match self.connect().await {
                Ok(redis) => {
                    self.timeouts.store(0, Ordering::Relaxed);
                    let connection = Connection { number, redis };
                    *self.connection.write().unwrap_or_else(PoisonError::into_inner) = Some(connection);
                    metrics::gauge!(crate::meters::RATE_SHARED).set(1.0);
                    tracing::info!("rate limits are shared through Redis");
                    told = false;
                    self.lost.notified().await;
                }
                Err(error) => {
                    if !told {
                        metrics::gauge!(crate::meters::RATE_SHARED).set(0.0);
                        tracing::warn!(%error, "Redis can't be reached: rate limits are kept by each gateway alone");
                        told = true;
                    }
                }
            }
            tokio::time::sleep(RECONNECT_EVERY).await;
        }
    }

    /// Only a Redis that does its part within the budget is of use: not one that is slow, full, or may not write.
    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(CONNECT_TIMEOUT));
        let mut connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        self.script.load_async(&mut connection).await?;
        match timeout(self.budget, self.ask(&mut connection, PROBE, [1, 1, 0])).await {
            Ok(answer) => answer.map(|_| connection),
            Err(_) => Err(RedisError::from((
                redis::ErrorKind::Io,
                "it does not answer in time",
            ))),
        }
    }

    fn give_up(&self, number: u64, reason: &str) {
        let given_up = self
            .connection
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take_if(|connection| connection.number == number);
        // Of many requests that fail together, the first one tells.
        if given_up.is_some() {
            metrics::gauge!(crate::meters::RATE_SHARED).set(0.0);
            tracing::warn!(
                reason,
                "Redis is away: rate limits are kept by each gateway alone"
            );
            self.lost.notify_one();
        }
    }
}
