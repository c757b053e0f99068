//! All SQL of the billing service.
//!
//! Each method is one statement or one transaction. Whatever moves credits locks the account's row first, and reads
//! what it decides by in later statements: each of them sees what was committed before the lock was had.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, Utc};
use proto::account::AccountId;
use proto::credits::{Charge, FINGERPRINT_BYTES, Grant, LedgerPage, MAX_BALANCE, Operation, Purchase};
use runtime::database::{is_passing, sqlstate};
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgPool, PgRow, Postgres};
use sqlx::{Row as _, Transaction};
use uuid::Uuid;

use crate::books::{Binding, Books, Charged, Outcome, PastCharge, Taken, binding_key};

/// The form of the database.
#[must_use]
pub fn migrator() -> Migrator {
    sqlx::migrate!("./migrations")
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

/// Why charges were not settled.
#[derive(Debug, thiserror::Error)]
pub enum ChargeError {
    /// None of them was taken.
    #[error(transparent)]
    NotTaken(#[from] StoreError),
    /// The connection was lost at the commit: either all of them were decided so, or none was taken.
    #[error("whether the charges were taken is not known")]
    Unsure {
        /// How they were decided, if it took effect.
        outcomes: Vec<Outcome>,
        /// What was lost.
        source: StoreError,
    },
}

/// What became of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// It was given.
    Given {
        /// Balance after it.
        balance: i64,
    },
    /// It had been given before.
    Before {
        /// Balance now.
        balance: i64,
    },
    /// Its id is bound to another amount.
    IdReused,
    /// The balance would be above [`MAX_BALANCE`].
    TooMuch,
}

/// A movement of credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Its number, growing.
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
}

/// When something is decided.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Now.
    pub now: DateTime<Utc>,
    /// Idempotency keys bound at or before this time no longer count.
    pub bindings_expired: DateTime<Utc>,
}

/// Balances, ledger and bindings in Postgres.
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

    /// Decides the charges in their order and takes those that pass, all in one transaction.
    ///
    /// `unsure` are the outcomes of the try before, if that was [`ChargeError::Unsure`]. The accounts' locks are held
    /// by that transaction until its end, so that by the time they are had it has taken effect or never will; the ids
    /// of its charges tell which.
    pub async fn charge(
        &self,
        charges: &[Charge],
        moment: Moment,
        unsure: Option<&[Outcome]>,
    ) -> Result<Vec<Outcome>, ChargeError> {
        let mut transaction = self.begin().await?;
        let mut books = Books {
            balances: lock(&mut transaction, charges).await?,
            ..Books::default()
        };
        look_up(&mut transaction, charges, moment, &mut books).await?;
        if let Some(outcomes) = unsure.filter(|outcomes| took_effect(charges, outcomes, &books)) {
            return Ok(outcomes.to_vec());
        }
        let outcomes = charges
            .iter()
            .map(|charge| books.charge(charge))
            .collect::<Vec<_>>();
        let taken = taken(charges, &outcomes).collect::<Vec<_>>();
        if taken.is_empty() {
            return Ok(outcomes);
        }
        write(&mut transaction, &taken, &books, moment).await?;
        match transaction.commit().await {
            Ok(()) => Ok(outcomes),
            Err(error) => {
                if is_undone(&error) {
                    return Err(error.into());
                }
                Err(ChargeError::Unsure {
                    outcomes,
                    source: error.into(),
                })
            }
        }
    }

    /// What the decision about a purchase rests on.
    pub async fn books_of(&self, purchase: &Purchase, moment: Moment) -> Result<Books, StoreError> {
        let row = sqlx::query(
            "SELECT balance, fingerprint, cost
             FROM (VALUES ($1)) AS purchase (account_id)
             LEFT JOIN accounts ON accounts.account_id = purchase.account_id
             LEFT JOIN idempotency_bindings AS bindings
                 ON bindings.account_id = purchase.account_id AND operation = $2 AND key = $3 AND bound_at > $4",
        )
        .bind(purchase.account.as_str())
        .bind(operation_number(purchase.operation))
        .bind(purchase.idempotency.as_ref().map(|idempotency| &idempotency.key))
        .bind(moment.bindings_expired)
        .fetch_one(&self.pool)
        .await?;
        let mut books = Books::default();
        if let Some(balance) = row.try_get("balance")? {
            books
                .balances
                .insert(purchase.account.as_str().to_owned(), balance);
        }
        if let (Some(key), Some(binding)) = (binding_key(purchase), read_binding(&row)?) {
            books.bindings.insert(key, binding);
        }
        Ok(books)
    }

    /// Gives credits once; makes the account if it is new.
    pub async fn grant(&self, grant: &Grant, now: DateTime<Utc>) -> Result<Granted, StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("INSERT INTO accounts (account_id, balance) VALUES ($1, 0) ON CONFLICT DO NOTHING")
            .bind(grant.account.as_str())
            .execute(&mut *transaction)
            .await?;
        let balance: i64 =
            sqlx::query_scalar("SELECT balance FROM accounts WHERE account_id = $1 FOR UPDATE")
                .bind(grant.account.as_str())
                .fetch_one(&mut *transaction)
                .await?;
        let before: Option<i64> =
            sqlx::query_scalar("SELECT amount FROM ledger_entries WHERE account_id = $1 AND grant_id = $2")
                .bind(grant.account.as_str())
                .bind(&grant.id)
                .fetch_optional(&mut *transaction)
                .await?;
        match before {
            Some(amount) if amount == grant.amount => return Ok(Granted::Before { balance }),
            Some(_) => return Ok(Granted::IdReused),
            None => {}
        }
        let raised = balance
            .checked_add(grant.amount)
            .filter(|raised| *raised <= MAX_BALANCE);
        let Some(balance) = raised else {
            return Ok(Granted::TooMuch);
        };
        sqlx::query(
            "WITH entry AS (
                 INSERT INTO ledger_entries (account_id, amount, balance, created_at, grant_id)
                 VALUES ($1, $2, $3, $4, $5)
             )
             UPDATE accounts SET balance = $3 WHERE account_id = $1",
        )
        .bind(grant.account.as_str())
        .bind(grant.amount)
        .bind(balance)
        .bind(now)
        .bind(&grant.id)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Granted::Given { balance })
    }

    /// The balance of the account.
    pub async fn balance(&self, account: &AccountId) -> Result<i64, StoreError> {
        let balance = sqlx::query_scalar("SELECT balance FROM accounts WHERE account_id = $1")
            .bind(account.as_str())
            .fetch_optional(&self.pool)
            .await?;
        Ok(balance.unwrap_or(0))
    }

    /// A page of the account's ledger, newest first, and whether there is more behind it.
    pub async fn ledger(&self, page: &LedgerPage) -> Result<(Vec<LedgerEntry>, bool), StoreError> {
        let rows = sqlx::query(
            "SELECT id, amount, balance, created_at, grant_id, charge_id, operation
             FROM ledger_entries WHERE account_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(page.account.as_str())
        .bind(page.before.unwrap_or(i64::MAX))
        .bind(i64::from(page.size) + 1)
        .fetch_all(&self.pool)
        .await?;
        let size = usize::try_from(page.size).unwrap_or(0);
        let entries = rows.iter().take(size).map(read_entry).collect::<Result<_, _>>()?;
        Ok((entries, rows.len() > size))
    }

    /// Removes some of the bindings that no longer count; how many.
    pub async fn remove_bindings(&self, expired: DateTime<Utc>, at_most: i64) -> Result<u64, StoreError> {
        // A key that is bound anew meanwhile is seen to be so once its row is locked, and stays.
        let removed = sqlx::query(
            "DELETE FROM idempotency_bindings WHERE (account_id, operation, key) IN (
                 SELECT account_id, operation, key FROM idempotency_bindings
                 WHERE bound_at <= $1 ORDER BY bound_at LIMIT $2 FOR UPDATE SKIP LOCKED
             )",
        )
        .bind(expired)
        .bind(at_most)
        .execute(&self.pool)
        .await?;
        Ok(removed.rows_affected())
    }

    async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        let started = Instant::now();
        let transaction = self.pool.begin().await;
        metrics::histogram!("billing_connection_wait_seconds").record(started.elapsed().as_secs_f64());
        Ok(transaction?)
    }
}

/// Locks the accounts of the charges, in one order for all replicas, and tells their balances.
async fn lock(
    transaction: &mut Transaction<'_, Postgres>,
    charges: &[Charge],
) -> Result<HashMap<String, i64>, StoreError> {
    let mut accounts = charges
        .iter()
        .map(|charge| charge.purchase.account.as_str())
        .collect::<Vec<_>>();
    accounts.sort_unstable();
    accounts.dedup();
    let rows = sqlx::query_as::<_, (String, i64)>(
        "SELECT account_id, balance FROM accounts WHERE account_id = ANY($1) ORDER BY account_id FOR UPDATE",
    )
    .bind(accounts)
    .fetch_all(&mut **transaction)
    .await?;
    Ok(rows.into_iter().collect())
}

/// Looks up the charges' ids and idempotency keys.
async fn look_up(
    transaction: &mut Transaction<'_, Postgres>,
    charges: &[Charge],
    moment: Moment,
    books: &mut Books,
) -> Result<(), StoreError> {
    let purchases = || charges.iter().map(|charge| &charge.purchase);
    let keys = purchases().map(|purchase| {
        purchase
            .idempotency
            .as_ref()
            .map(|idempotency| idempotency.key.as_str())
    });
    let rows = sqlx::query(
        "SELECT asked.n, past.account_id, past.operation, -past.amount AS charged, fingerprint, cost
         FROM unnest($1::uuid[], $2::text[], $3::smallint[], $4::text[]) WITH ORDINALITY
             AS asked (charge_id, account_id, operation, key, n)
         LEFT JOIN ledger_entries AS past ON past.charge_id = asked.charge_id
         LEFT JOIN idempotency_bindings AS bindings
             ON bindings.account_id = asked.account_id AND bindings.operation = asked.operation
             AND bindings.key = asked.key AND bindings.bound_at > $5
         WHERE past.id IS NOT NULL OR bindings.key IS NOT NULL",
    )
    .bind(charges.iter().map(|charge| charge.id).collect::<Vec<_>>())
    .bind(
        purchases()
            .map(|purchase| purchase.account.as_str())
            .collect::<Vec<_>>(),
    )
    .bind(
        purchases()
            .map(|purchase| operation_number(purchase.operation))
            .collect::<Vec<_>>(),
    )
    .bind(keys.collect::<Vec<_>>())
    .bind(moment.bindings_expired)
    .fetch_all(&mut **transaction)
    .await?;
    for row in &rows {
        let place: i64 = row.try_get("n")?;
        let charge = usize::try_from(place - 1)
            .ok()
            .and_then(|place| charges.get(place));
        let Some(charge) = charge else { continue };
        if let Some(account) = row.try_get("account_id")? {
            let operation = read_operation(row.try_get("operation")?)?;
            books.charges.insert(
                charge.id,
                PastCharge {
                    account,
                    operation,
                    cost: row.try_get("charged")?,
                },
            );
        }
        if let (Some(key), Some(binding)) = (binding_key(&charge.purchase), read_binding(row)?) {
            books.bindings.insert(key, binding);
        }
    }
    Ok(())
}

/// Writes the charges that were taken: entries, bindings and balances, in one statement.
async fn write(
    transaction: &mut Transaction<'_, Postgres>,
    taken: &[(&Charge, Charged)],
    books: &Books,
    moment: Moment,
) -> Result<(), StoreError> {
    let purchases = || taken.iter().map(|(charge, _)| &charge.purchase);
    let idempotencies = || purchases().map(|purchase| purchase.idempotency.as_ref());
    let keys = idempotencies().map(|idempotency| idempotency.map(|idempotency| idempotency.key.as_str()));
    let fingerprints =
        idempotencies().map(|idempotency| idempotency.map(|idempotency| &idempotency.fingerprint[..]));
    let mut accounts = purchases()
        .map(|purchase| purchase.account.as_str())
        .collect::<Vec<_>>();
    accounts.sort_unstable();
    accounts.dedup();
    let balances = accounts
        .iter()
        .map(|account| books.balances.get(*account).copied().unwrap_or(0));
    let balances = balances.collect::<Vec<_>>();
    // A key that is bound already is one whose binding no longer counts.
    sqlx::query(
        "WITH taken AS (
             SELECT * FROM unnest($1::uuid[], $2::text[], $3::smallint[], $4::bigint[], $5::bigint[], $6::text[], $7::bytea[])
                 WITH ORDINALITY AS taken (charge_id, account_id, operation, cost, balance, key, fingerprint, n)
         ), entries AS (
             INSERT INTO ledger_entries (account_id, amount, balance, created_at, charge_id, operation)
             SELECT account_id, -cost, balance, $8, charge_id, operation FROM taken ORDER BY n
         ), bindings AS (
             INSERT INTO idempotency_bindings AS bound (account_id, operation, key, fingerprint, cost, bound_at)
             SELECT account_id, operation, key, fingerprint, cost, $8 FROM taken WHERE key IS NOT NULL
             ON CONFLICT (account_id, operation, key) DO UPDATE
             SET fingerprint = EXCLUDED.fingerprint, cost = EXCLUDED.cost, bound_at = EXCLUDED.bound_at
             WHERE bound.bound_at <= $9
         )
         UPDATE accounts SET balance = after.balance
         FROM unnest($10::text[], $11::bigint[]) AS after (account_id, balance)
         WHERE accounts.account_id = after.account_id",
    )
    .bind(taken.iter().map(|(charge, _)| charge.id).collect::<Vec<_>>())
    .bind(purchases().map(|purchase| purchase.account.as_str()).collect::<Vec<_>>())
    .bind(purchases().map(|purchase| operation_number(purchase.operation)).collect::<Vec<_>>())
    .bind(taken.iter().map(|(_, charged)| charged.cost).collect::<Vec<_>>())
    .bind(taken.iter().map(|(_, charged)| charged.balance).collect::<Vec<_>>())
    .bind(keys.collect::<Vec<_>>())
    .bind(fingerprints.collect::<Vec<_>>())
    .bind(moment.now)
    .bind(moment.bindings_expired)
    .bind(accounts)
    .bind(balances)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// The charges that take credits now.
fn taken<'a>(charges: &'a [Charge], outcomes: &'a [Outcome]) -> impl Iterator<Item = (&'a Charge, Charged)> {
    let pairs = charges.iter().zip(outcomes);
    pairs.filter_map(|(charge, outcome)| {
        outcome
            .ok()
            .filter(|charged| charged.taken == Taken::Now)
            .map(|charged| (charge, charged))
    })
}

/// Whether the transaction that had these outcomes has taken effect: all of its charges are there, or none. (Not all
/// may be there although it has not, where another replica was sent some of them again.)
fn took_effect(charges: &[Charge], outcomes: &[Outcome], books: &Books) -> bool {
    taken(charges, outcomes).all(|(charge, _)| {
        let past = books.charges.get(&charge.id);
        past.is_some_and(|past| past.account == charge.purchase.account.as_str())
    })
}

fn read_entry(row: &PgRow) -> Result<LedgerEntry, sqlx::Error> {
    let cause = match row.try_get("grant_id")? {
        Some(grant_id) => Cause::Grant(grant_id),
        None => Cause::Charge {
            id: row.try_get("charge_id")?,
            operation: read_operation(row.try_get("operation")?)?,
        },
    };
    Ok(LedgerEntry {
        id: row.try_get("id")?,
        amount: row.try_get("amount")?,
        balance: row.try_get("balance")?,
        created_at: row.try_get("created_at")?,
        cause,
    })
}

/// The binding of a row that may have none.
fn read_binding(row: &PgRow) -> Result<Option<Binding>, sqlx::Error> {
    let Some(fingerprint) = row.try_get::<Option<Vec<u8>>, _>("fingerprint")? else {
        return Ok(None);
    };
    let fingerprint = <[u8; FINGERPRINT_BYTES]>::try_from(fingerprint)
        .map_err(|_| sqlx::Error::Decode("a fingerprint in the database has another length".into()))?;
    Ok(Some(Binding {
        fingerprint,
        cost: row.try_get("cost")?,
    }))
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

/// Whether a commit that failed so has certainly left nothing: Postgres itself refused the data (22), a constraint (23),
/// the statement (42), or a trigger did.
fn is_undone(error: &sqlx::Error) -> bool {
    sqlstate(error).is_some_and(|code| {
        ["22", "23", "42", "P0"]
            .iter()
            .any(|class| code.starts_with(class))
    })
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

impl From<sqlx::Error> for ChargeError {
    fn from(error: sqlx::Error) -> Self {
        Self::NotTaken(error.into())
    }
}
