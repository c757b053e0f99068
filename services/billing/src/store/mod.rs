//! All SQL of the billing service.
//!
//! Each method is one statement or one transaction. Whatever moves credits locks the account's row first, and reads
//! what it decides by in later statements: each of them sees what was committed before the lock was had.

mod charges;
mod entries;
mod postings;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use proto::account::AccountId;
use proto::credits::Operation;
use runtime::database::{Schema, is_passing};
use runtime::statement::{Statement as _, acquire, begin};
use sqlx::Transaction;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgPool, Postgres};

pub use charges::{Attempt, ChargeError, Decisions, Moment};
pub use entries::{Cause, KeptBalance, LedgerEntry, Statement, WrittenEntry};
pub use postings::{Posted, PostingError};

/// The form of the database, step by step.
#[must_use]
pub fn migrator() -> Migrator {
    sqlx::migrate!("./migrations")
}

/// What the service asks of its database. The role that serves adds to the ledger, and can neither change nor remove what
/// is written there.
#[must_use]
pub fn schema() -> Schema {
    Schema {
        migrator: migrator(),
        rights: &[
            "SELECT, INSERT, UPDATE (balance) ON accounts",
            "SELECT, INSERT ON ledger_entries",
            "SELECT, INSERT, UPDATE, DELETE ON idempotency_bindings",
        ],
        append_only: &["ledger_entries"],
    }
}

/// Why the database did not do what it was asked. Nothing was changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// It is away, busy or restarting: the same may go well later.
    #[error("the database is not available")]
    Unavailable(#[source] Arc<sqlx::Error>),
    /// It refused what it was given.
    #[error("the database refused")]
    Refused(#[source] Arc<sqlx::Error>),
}

/// Balances, ledger and bindings in Postgres. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: PgPool,
}

impl Store {
    /// A store on this pool, whose database has been migrated.
    #[must_use]
    pub const fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// The balance of the account.
    pub async fn balance(&self, account: &AccountId) -> Result<i64, StoreError> {
        let balance = sqlx::query_scalar("SELECT balance FROM accounts WHERE account_id = $1")
            .bind(account.as_str())
            .fetch_optional(&mut *acquire(&self.pool).await?)
            .told("SELECT accounts")
            .await?;
        Ok(balance.unwrap_or(0))
    }

    /// Removes some of the bindings that no longer count; how many.
    pub async fn remove_bindings(&self, expired: DateTime<Utc>, at_most: i64) -> Result<u64, StoreError> {
        // A key that is bound anew meanwhile is seen to be so once its row is locked, and stays.
        let removed = sqlx::query(
            "DELETE FROM idempotency_bindings WHERE ctid = ANY (ARRAY(
                 SELECT ctid FROM idempotency_bindings
                 WHERE bound_at <= $1 ORDER BY bound_at LIMIT $2 FOR UPDATE SKIP LOCKED
             ))",
        )
        .bind(expired)
        .bind(at_most)
        .execute(&mut *acquire(&self.pool).await?)
        .told("DELETE idempotency_bindings")
        .await?;
        Ok(removed.rows_affected())
    }

    async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        Ok(begin(&self.pool).await?)
    }
}

const fn operation_number(operation: Operation) -> i16 {
    match operation {
        Operation::SearchPeople => 1,
        Operation::SearchCompanies => 2,
    }
}

fn read_operation(number: i16) -> Result<Operation, sqlx::Error> {
    match number {
        1 => Ok(Operation::SearchPeople),
        2 => Ok(Operation::SearchCompanies),
        _ => Err(sqlx::Error::Decode(
            "an operation in the database is unknown".into(),
        )),
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let may_pass = is_passing(&error);
        let error = Arc::new(error);
        if may_pass {
            Self::Unavailable(error)
        } else {
            Self::Refused(error)
        }
    }
}
