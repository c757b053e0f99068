//! The records in Postgres: all SQL of this service, and nothing else.
//!
//! What can go wrong, and what happens then:
//! - **A caller leaves, or the process dies, in the middle of a write.** Every write is one transaction; Postgres
//!   drops what was not committed. Nothing is half written.
//! - **Two writers meet at the same record.** Row locks are taken in the order of the external ids, companies before
//!   people, new records before known ones, so writers wait for each other and never in a circle. Should Postgres
//!   still call a deadlock (it can be shut out only for our own statements), or a wait last too long, the whole
//!   transaction is tried again a few times ([`mod@write`]).
//! - **A writer stalls while it holds the feed's lock** ([`changes`]). Nobody else could commit: Postgres ends it, by
//!   the `idle_in_transaction_session_timeout` that [`runtime::database`] sets on each connection, as it sets
//!   `lock_timeout` for those who wait.
//! - **Postgres is away.** Each call fails with [`StoreError::Unavailable`]; the pool connects anew by itself.

use runtime::database::{Schema, is_passing, sqlstate};
use sqlx::PgPool;
use sqlx::migrate::Migrator;

pub mod changes;
mod companies;
mod people;
pub mod reveals;
pub mod snapshot;
pub mod write;

/// The migrations, embedded.
#[must_use]
pub fn migrator() -> Migrator {
    sqlx::migrate!()
}

/// What the service asks of its database.
#[must_use]
pub fn schema() -> Schema {
    Schema {
        migrator: migrator(),
        rights: &[
            "SELECT, INSERT, UPDATE, DELETE ON companies",
            "SELECT, INSERT, UPDATE, DELETE ON people",
            "SELECT, INSERT ON reveals",
            "SELECT, INSERT, DELETE ON changes",
            "SELECT, UPDATE ON feed",
        ],
        append_only: &[],
    }
}

/// The records. Cheap to clone; clones share the connections.
#[derive(Clone, Debug)]
pub struct Store {
    pool: PgPool,
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Postgres is away, or too busy: the same call may succeed later.
    #[error("the records can't be reached now")]
    Unavailable(#[source] sqlx::Error),
    /// Postgres refused, or answered what can't be: a fault of ours.
    #[error("the records were not handled as they should be")]
    Broken(#[source] sqlx::Error),
}

impl Store {
    /// The records behind these connections.
    #[must_use]
    pub const fn new(pool: PgPool) -> Self {
        Self { pool }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if is_passing(&error) {
            Self::Unavailable(error)
        } else {
            Self::Broken(error)
        }
    }
}

/// Whether two transactions got into each other's way: the loser was rolled back and may try again.
fn is_contention(error: &sqlx::Error) -> bool {
    // serialization_failure, deadlock_detected, lock_not_available
    matches!(sqlstate(error), Some("40001" | "40P01" | "55P03"))
}

/// Text arrays as literals of Postgres, one for each record: `unnest` would flatten an array of arrays.
fn array_literal<S: AsRef<str>>(items: &[S]) -> String {
    let mut literal =
        String::with_capacity(2 + items.iter().map(|item| item.as_ref().len() + 3).sum::<usize>());
    literal.push('{');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            literal.push(',');
        }
        literal.push('"');
        for character in item.as_ref().chars() {
            if matches!(character, '"' | '\\') {
                literal.push('\\');
            }
            literal.push(character);
        }
        literal.push('"');
    }
    literal.push('}');
    literal
}

#[cfg(test)]
mod tests;
