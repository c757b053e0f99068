//! Reading the ledger.

use chrono::{DateTime, Utc};
use proto::credits::{LedgerPage, Operation};
use runtime::statement::{Statement as _, acquire};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::{Store, StoreError, read_operation};

/// A movement of credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Its number; within an account they grow.
    pub id: i64,
    /// Credits: above 0 given, else taken.
    pub amount: i64,
    /// Balance after it.
    pub balance: i64,
    /// When it was written.
    pub created_at: DateTime<Utc>,
    /// What it was for.
    pub cause: Cause,
}

/// What a movement of credits was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The grant with this id.
    Grant(String),
    /// A charge.
    Charge {
        /// Its id.
        id: Uuid,
        /// What was paid for.
        operation: Operation,
    },
    /// A charge given back.
    Refund {
        /// Number of the charge's entry.
        corrects: i64,
    },
    /// A correction.
    Adjustment {
        /// Its id.
        id: String,
        /// Number of the entry that it corrects.
        corrects: i64,
    },
}

/// What an account has, and some of what has moved it, as of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Credits.
    pub balance: i64,
    /// Newest first.
    pub entries: Vec<LedgerEntry>,
    /// Whether there are older ones.
    pub more: bool,
}

/// An entry as verification reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenEntry {
    /// Whose.
    pub account: String,
    /// Its number.
    pub id: i64,
    /// Credits moved.
    pub amount: i64,
    /// Balance after it, as it tells.
    pub balance: i64,
    /// The account's balance as it is kept: what was true at the same moment as the entries read with this one.
    pub kept: i64,
}

/// A balance as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBalance {
    /// Whose.
    pub account: String,
    /// Credits.
    pub balance: i64,
    /// Whether the account has entries in the ledger.
    pub has_entries: bool,
}

impl Store {
    /// A page of the account's ledger, newest first, and whether there is more behind it.
    pub async fn ledger(&self, page: &LedgerPage) -> Result<(Vec<LedgerEntry>, bool), StoreError> {
        let rows = sqlx::query(
            "SELECT id, amount, balance, created_at, grant_id, charge_id, operation, corrects, adjustment_id
             FROM ledger_entries WHERE account_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(page.account.as_str())
        .bind(page.before.unwrap_or(i64::MAX))
        .bind(i64::from(page.size) + 1)
        .fetch_all(&mut *acquire(&self.pool).await?)
        .told("SELECT ledger_entries")
        .await?;
        let size = usize::try_from(page.size).unwrap_or(0);
        let entries = rows.iter().take(size).map(read_entry).collect::<Result<_, _>>()?;
        Ok((entries, rows.len() > size))
    }

    /// The account's balance, and a page of its ledger.
    pub async fn statement(&self, page: &LedgerPage) -> Result<Statement, StoreError> {
        // One statement, so that the balance is that of the newest entry. There is a row without an entry where there is none.
        let rows = sqlx::query(
            "SELECT coalesce(accounts.balance, 0) AS kept, entry.*
             FROM (VALUES ($1)) AS asked (account_id)
             LEFT JOIN accounts ON accounts.account_id = asked.account_id
             LEFT JOIN LATERAL (
                 SELECT id, amount, balance, created_at, grant_id, charge_id, operation, corrects, adjustment_id
                 FROM ledger_entries WHERE account_id = asked.account_id AND id < $2 ORDER BY id DESC LIMIT $3
             ) AS entry ON true
             ORDER BY entry.id DESC",
        )
        .bind(page.account.as_str())
        .bind(page.before.unwrap_or(i64::MAX))
        .bind(i64::from(page.size) + 1)
        .fetch_all(&mut *acquire(&self.pool).await?)
        .told("SELECT accounts ledger_entries")
        .await?;
        let balance = rows.first().map_or(Ok(0), |row| row.try_get("kept"))?;
        let mut entries = Vec::new();
        for row in &rows {
            if row.try_get::<Option<i64>, _>("id")?.is_some() {
                entries.push(read_entry(row)?);
            }
        }
        let size = usize::try_from(page.size).unwrap_or(0);
        let more = entries.len() > size;
        entries.truncate(size);
        Ok(Statement {
            balance,
            entries,
            more,
        })
    }

    /// The entries behind this one, account by account, the oldest first.
    pub async fn entries_behind(
        &self,
        (account, entry): (&str, i64),
        at_most: i64,
    ) -> Result<Vec<WrittenEntry>, StoreError> {
        let rows = sqlx::query(
            "SELECT account_id, id, amount, balance, coalesce((
                 SELECT accounts.balance FROM accounts WHERE accounts.account_id = entry.account_id
             ), 0) AS kept
             FROM ledger_entries AS entry
             WHERE (account_id, id) > ($1, $2) ORDER BY account_id, id LIMIT $3",
        )
        .bind(account)
        .bind(entry)
        .bind(at_most)
        .fetch_all(&mut *acquire(&self.pool).await?)
        .told("SELECT ledger_entries accounts")
        .await?;
        let read = |row: &PgRow| {
            Ok::<_, sqlx::Error>(WrittenEntry {
                account: row.try_get("account_id")?,
                id: row.try_get("id")?,
                amount: row.try_get("amount")?,
                balance: row.try_get("balance")?,
                kept: row.try_get("kept")?,
            })
        };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// The balances of the accounts behind this one.
    pub async fn balances_behind(&self, account: &str, at_most: i64) -> Result<Vec<KeptBalance>, StoreError> {
        let rows = sqlx::query(
            "SELECT account_id, balance,
                 coalesce((
                     SELECT true FROM ledger_entries AS entry WHERE entry.account_id = accounts.account_id LIMIT 1
                 ), false) AS has_entries
             FROM accounts WHERE account_id > $1 ORDER BY account_id LIMIT $2",
        )
        .bind(account)
        .bind(at_most)
        .fetch_all(&mut *acquire(&self.pool).await?)
        .told("SELECT accounts ledger_entries")
        .await?;
        let read = |row: &PgRow| {
            Ok::<_, sqlx::Error>(KeptBalance {
                account: row.try_get("account_id")?,
                balance: row.try_get("balance")?,
                has_entries: row.try_get("has_entries")?,
            })
        };
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }
}

fn read_entry(row: &PgRow) -> Result<LedgerEntry, sqlx::Error> {
    Ok(LedgerEntry {
        id: row.try_get("id")?,
        amount: row.try_get("amount")?,
        balance: row.try_get("balance")?,
        created_at: row.try_get("created_at")?,
        cause: read_cause(row)?,
    })
}

fn read_cause(row: &PgRow) -> Result<Cause, sqlx::Error> {
    if let Some(id) = row.try_get("grant_id")? {
        return Ok(Cause::Grant(id));
    }
    let Some(corrects) = row.try_get("corrects")? else {
        return Ok(Cause::Charge {
            id: row.try_get("charge_id")?,
            operation: read_operation(row.try_get("operation")?)?,
        });
    };
    Ok(match row.try_get("adjustment_id")? {
        Some(id) => Cause::Adjustment { id, corrects },
        None => Cause::Refund { corrects },
    })
}
