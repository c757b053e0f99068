//! A statement of SQL, as telemetry sees it: a span by the semantic conventions, how long it took, and what the
//! connections of the pool are doing. Never its text, and never what it was given.
//!
//! A statement is known by its summary, its verb and its tables (`SELECT keys`), which its author writes beside it.

use std::future::Future;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, Postgres};
use sqlx::{Error, Transaction};
use tracing::{Instrument as _, Span};

use crate::database::{is_lost_connection, sqlstate};
use crate::shutdown::Shutdown;
use crate::telemetry::{self, TRACE};

const DURATION: &str = "db_client_operation_duration_seconds";
const WAIT_TIME: &str = "db_client_connection_wait_time_seconds";
const WAITING: &str = "db_client_connection_pending_requests";
const TIMEOUTS: &str = "db_client_connection_timeouts_total";
const COUNT: &str = "db_client_connection_count";
const MAX: &str = "db_client_connection_max";

/// From one look at the pool to the next.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Where the database is, for the spans; a process has one.
static SERVER: OnceLock<Server> = OnceLock::new();

struct Server {
    address: String,
    database: String,
}

/// Remembers where the database is, and begins the metrics.
pub(crate) fn describe(options: &PgConnectOptions) {
    let _ = SERVER.set(Server {
        address: options.get_host().to_owned(),
        database: options.get_database().unwrap_or_default().to_owned(),
    });
    metrics::describe_histogram!(DURATION, "Statements, by what they do.");
    metrics::describe_histogram!(WAIT_TIME, "Waits for a connection of the pool.");
    metrics::describe_gauge!(WAITING, "Who waits for a connection of the pool now.");
    metrics::describe_counter!(TIMEOUTS, "Waits for a connection of the pool that were in vain.");
    metrics::describe_gauge!(COUNT, "Connections of the pool, idle and used.");
    metrics::describe_gauge!(MAX, "Most connections of the pool.");
    metrics::gauge!(WAITING).set(0.0);
    metrics::counter!(TIMEOUTS).increment(0);
}

/// A statement that is to be told.
pub trait Statement<T>: Future<Output = Result<T, Error>> + Sized {
    /// The same, told under its summary: `SELECT keys`.
    fn told(self, summary: &'static str) -> impl Future<Output = Result<T, Error>> {
        tell(self, summary)
    }
}

impl<F: Future<Output = Result<T, Error>>, T> Statement<T> for F {}

async fn tell<T>(
    statement: impl Future<Output = Result<T, Error>>,
    summary: &'static str,
) -> Result<T, Error> {
    let span = span(summary);
    let started = Instant::now();
    let result = statement.instrument(span.clone()).await;
    let error = result.as_ref().err().map_or("", |error| {
        note_loss(error);
        let kind = kind(error);
        telemetry::fail(&span, kind);
        if let Some(code) = sqlstate(error) {
            telemetry::set(&span, "db.response.status_code", code.to_owned());
        }
        kind
    });
    metrics::histogram!(DURATION, "db_query_summary" => summary, "error_type" => error)
        .record(started.elapsed().as_secs_f64());
    result
}

/// The span of a statement; none of one that no request has asked for, which would be a trace by itself.
fn span(summary: &'static str) -> Span {
    if Span::current().is_none() {
        return Span::none();
    }
    let server = SERVER.get();
    tracing::info_span!(
        target: TRACE,
        "statement",
        otel.name = summary,
        otel.kind = "client",
        db.system.name = "postgresql",
        db.query.summary = summary,
        db.operation.name = summary.split(' ').next(),
        db.namespace = server.map(|server| server.database.as_str()),
        server.address = server.map(|server| server.address.as_str()),
    )
}

/// What kind of error it is, in few words known beforehand.
const fn kind(error: &Error) -> &'static str {
    match error {
        Error::Database(_) => "database",
        Error::Io(_) | Error::Tls(_) | Error::Protocol(_) => "connection",
        Error::PoolTimedOut | Error::PoolClosed | Error::WorkerCrashed => "pool",
        _ => "_OTHER",
    }
}

/// A connection of the pool.
pub async fn acquire(pool: &PgPool) -> Result<PoolConnection<Postgres>, Error> {
    waiting(pool.acquire()).await
}

/// A transaction on a connection of the pool.
pub async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, Error> {
    begin_with(pool, "BEGIN").await
}

/// A transaction that begins with this statement. Where the connection is lost, nothing has been done on it: another is
/// taken, once.
pub async fn begin_with(
    pool: &PgPool,
    statement: &'static str,
) -> Result<Transaction<'static, Postgres>, Error> {
    match waiting(pool.begin_with(statement)).await {
        Err(error) if is_lost_connection(&error) => {
            note_loss(&error);
            waiting(pool.begin_with(statement)).await
        }
        result => result,
    }
}

/// When a connection was last found lost, or could not be made.
static LAST_LOSS: Mutex<Option<Instant>> = Mutex::new(None);

/// From the first loss of connections to the last, where they are lost together: a database that goes down ends them one
/// by one.
const LOSSES_TOGETHER: Duration = Duration::from_secs(1);

/// Remembers that a connection is lost, if the error says so.
pub(crate) fn note_loss(error: &Error) {
    if is_lost_connection(error) {
        let mut last = LAST_LOSS.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(Instant::now());
    }
}

/// Whether a connection that has been idle for so long may have been lost together with another.
pub(crate) fn may_be_lost(idle_for: Duration) -> bool {
    let last = *LAST_LOSS.lock().unwrap_or_else(PoisonError::into_inner);
    last.is_some_and(|loss| loss.elapsed() <= idle_for + LOSSES_TOGETHER)
}

async fn waiting<T>(wait: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let waiting = Waiting::begin();
    // It may connect, by TLS: 8 KB of state that whoever waits for it is not to have too.
    let result = Box::pin(wait).await;
    if matches!(result, Err(Error::PoolTimedOut)) {
        metrics::counter!(TIMEOUTS).increment(1);
    }
    drop(waiting);
    result
}

/// Somebody who waits, until dropped.
struct Waiting(Instant);

impl Waiting {
    fn begin() -> Self {
        metrics::gauge!(WAITING).increment(1);
        Self(Instant::now())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        metrics::gauge!(WAITING).decrement(1);
        metrics::histogram!(WAIT_TIME).record(self.0.elapsed().as_secs_f64());
    }
}

/// Tells the metrics what the connections of the pool do, until the process drains.
pub async fn observe_pool(pool: PgPool, shutdown: Shutdown) {
    loop {
        let (size, idle) = (pool.size(), pool.num_idle());
        let idle = u32::try_from(idle).unwrap_or(u32::MAX).min(size);
        metrics::gauge!(COUNT, "state" => "idle").set(f64::from(idle));
        metrics::gauge!(COUNT, "state" => "used").set(f64::from(size - idle));
        metrics::gauge!(MAX).set(f64::from(pool.options().get_max_connections()));
        if tokio::time::timeout(LOOK_EVERY, shutdown.draining())
            .await
            .is_ok()
        {
            return;
        }
    }
}
