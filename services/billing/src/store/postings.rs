//! What operators move: grants, refunds and adjustments. Each is made once, however often it is sent.

use chrono::{DateTime, Utc};
use proto::account::AccountId;
use proto::credits::{Adjustment, Grant, MAX_BALANCE, Refund};
use runtime::statement::Statement as _;
use sqlx::postgres::Postgres;
use sqlx::{Row as _, Transaction};

use super::{Store, StoreError};

/// Credits moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Credits given (above 0) or taken (below 0), now or the first time.
    pub amount: i64,
    /// Balance after it; of a repeat, the balance now.
    pub balance: i64,
    /// It had been done before; nothing was moved now.
    pub replayed: bool,
}

/// Why credits were not moved. Nothing was changed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PostingError {
    /// The id is bound to another movement.
    #[error("the id is bound to another movement")]
    IdReused,
    /// The balance would be above [`MAX_BALANCE`].
    #[error("the balance would be larger than an account can have")]
    BalanceTooLarge,
    /// More would be taken than is there.
    #[error("the balance of {balance} does not cover it")]
    BalanceTooSmall {
        /// Credits there.
        balance: i64,
    },
    /// The account has no such entry.
    #[error("the account has no such entry")]
    NoSuchEntry,
    /// The entry is no charge that has taken credits.
    #[error("the entry is no charge that has taken credits")]
    NotRefundable,
    /// The database did not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an entry that is not a charge is for, as its columns have it.
#[derive(Clone, Copy, Debug, Default)]
struct Reference<'a> {
    grant: Option<&'a str>,
    corrects: Option<i64>,
    adjustment: Option<&'a str>,
}

/// A transaction that holds the account's row.
struct Held<'a> {
    transaction: Transaction<'static, Postgres>,
    account: &'a AccountId,
    balance: i64,
}

impl Store {
    /// Gives credits once; makes the account if it is new.
    pub async fn grant(&self, grant: &Grant, now: DateTime<Utc>) -> Result<Posted, PostingError> {
        let mut held = self.hold(&grant.account).await?;
        let before: Option<i64> =
            sqlx::query_scalar("SELECT amount FROM ledger_entries WHERE account_id = $1 AND grant_id = $2")
                .bind(grant.account.as_str())
                .bind(&grant.id)
                .fetch_optional(&mut *held.transaction)
                .told("SELECT ledger_entries")
                .await?;
        match before {
            Some(amount) if amount == grant.amount => return Ok(held.replay(amount)),
            Some(_) => return Err(PostingError::IdReused),
            None => {}
        }
        let reference = Reference {
            grant: Some(&grant.id),
            ..Reference::default()
        };
        held.post(grant.amount, reference, now).await
    }

    /// Gives back once what a charge has taken.
    pub async fn refund(&self, refund: &Refund, now: DateTime<Utc>) -> Result<Posted, PostingError> {
        let mut held = self.hold(&refund.account).await?;
        let before: Option<i64> = sqlx::query_scalar(
            "SELECT amount FROM ledger_entries
             WHERE account_id = $1 AND corrects = $2 AND corrects IS NOT NULL AND adjustment_id IS NULL",
        )
        .bind(refund.account.as_str())
        .bind(refund.entry)
        .fetch_optional(&mut *held.transaction)
        .told("SELECT ledger_entries")
        .await?;
        if let Some(amount) = before {
            return Ok(held.replay(amount));
        }
        let charge = sqlx::query(
            "SELECT -amount AS taken, charge_id IS NOT NULL AS is_charge
             FROM ledger_entries WHERE account_id = $1 AND id = $2",
        )
        .bind(refund.account.as_str())
        .bind(refund.entry)
        .fetch_optional(&mut *held.transaction)
        .told("SELECT ledger_entries")
        .await?;
        let charge = charge.ok_or(PostingError::NoSuchEntry)?;
        let taken: i64 = charge.try_get("taken")?;
        if taken <= 0 || !charge.try_get::<bool, _>("is_charge")? {
            return Err(PostingError::NotRefundable);
        }
        let reference = Reference {
            corrects: Some(refund.entry),
            ..Reference::default()
        };
        held.post(taken, reference, now).await
    }

    /// Moves credits once, to correct an entry.
    pub async fn adjust(&self, adjustment: &Adjustment, now: DateTime<Utc>) -> Result<Posted, PostingError> {
        let mut held = self.hold(&adjustment.account).await?;
        let before = sqlx::query_as::<_, (i64, i64)>(
            "SELECT amount, corrects FROM ledger_entries WHERE account_id = $1 AND adjustment_id = $2",
        )
        .bind(adjustment.account.as_str())
        .bind(&adjustment.id)
        .fetch_optional(&mut *held.transaction)
        .told("SELECT ledger_entries")
        .await?;
        match before {
            Some(before) if before == (adjustment.amount, adjustment.entry) => {
                return Ok(held.replay(adjustment.amount));
            }
            Some(_) => return Err(PostingError::IdReused),
            None => {}
        }
        let is_there: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM ledger_entries WHERE account_id = $1 AND id = $2)",
        )
        .bind(adjustment.account.as_str())
        .bind(adjustment.entry)
        .fetch_one(&mut *held.transaction)
        .told("SELECT ledger_entries")
        .await?;
        if !is_there {
            return Err(PostingError::NoSuchEntry);
        }
        let reference = Reference {
            corrects: Some(adjustment.entry),
            adjustment: Some(&adjustment.id),
            ..Reference::default()
        };
        held.post(adjustment.amount, reference, now).await
    }

    /// Locks the account's row, and makes it if it is new: if nothing is posted, it goes with the transaction.
    async fn hold<'a>(&self, account: &'a AccountId) -> Result<Held<'a>, StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("INSERT INTO accounts (account_id, balance) VALUES ($1, 0) ON CONFLICT DO NOTHING")
            .bind(account.as_str())
            .execute(&mut *transaction)
            .told("INSERT accounts")
            .await?;
        let balance = sqlx::query_scalar("SELECT balance FROM accounts WHERE account_id = $1 FOR UPDATE")
            .bind(account.as_str())
            .fetch_one(&mut *transaction)
            .told("SELECT accounts")
            .await?;
        Ok(Held {
            transaction,
            account,
            balance,
        })
    }
}

impl Held<'_> {
    const fn replay(&self, amount: i64) -> Posted {
        Posted {
            amount,
            balance: self.balance,
            replayed: true,
        }
    }

    /// Writes the entry and the balance.
    async fn post(
        mut self,
        amount: i64,
        reference: Reference<'_>,
        now: DateTime<Utc>,
    ) -> Result<Posted, PostingError> {
        let moved = self.balance.checked_add(amount);
        let balance = match moved {
            Some(moved @ 0..=MAX_BALANCE) => moved,
            _ if amount > 0 => return Err(PostingError::BalanceTooLarge),
            _ => {
                return Err(PostingError::BalanceTooSmall {
                    balance: self.balance,
                });
            }
        };
        sqlx::query(
            "WITH entry AS (
                 INSERT INTO ledger_entries
                     (account_id, amount, balance, created_at, grant_id, corrects, adjustment_id)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)
             )
             UPDATE accounts SET balance = $3 WHERE account_id = $1",
        )
        .bind(self.account.as_str())
        .bind(amount)
        .bind(balance)
        .bind(now)
        .bind(reference.grant)
        .bind(reference.corrects)
        .bind(reference.adjustment)
        .execute(&mut *self.transaction)
        .told("INSERT ledger_entries UPDATE accounts")
        .await?;
        self.transaction.commit().told("COMMIT").await?;
        Ok(Posted {
            amount,
            balance,
            replayed: false,
        })
    }
}

impl From<sqlx::Error> for PostingError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}
