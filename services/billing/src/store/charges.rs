//! Charges, decided and written together.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use proto::credits::{Charge, FINGERPRINT_BYTES, Purchase};
use runtime::database::sqlstate;
use runtime::statement::{Statement as _, acquire};
use sqlx::postgres::{PgRow, Postgres};
use sqlx::{Row as _, Transaction};

use super::{Store, StoreError, operation_number, read_operation};
use crate::books::{Binding, Books, Charged, Outcome, PastCharge, Taken, binding_key};

/// How charges were decided, in their order. None: not decided, since another transaction holds the account's row.
pub type Decisions = Vec<Option<Outcome>>;

/// How a try deals with accounts whose rows other transactions hold.
#[derive(Clone, Copy, Debug)]
pub enum Attempt<'a> {
    /// Passes over them: their charges stay undecided.
    PassingOver,
    /// Waits for them.
    Waiting,
    /// The one before was [`ChargeError::Unsure`], with these decisions. It waits too: the accounts' rows are held by
    /// the transaction before until its end, so that by the time they are had it has taken effect or never will. The
    /// ids of its charges tell which.
    Again(&'a [Option<Outcome>]),
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
        decisions: Decisions,
        /// What was lost.
        source: StoreError,
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

impl Store {
    /// Decides the charges in their order and takes those that pass, all in one transaction.
    pub async fn charge(
        &self,
        charges: &[&Charge],
        moment: Moment,
        attempt: Attempt<'_>,
    ) -> Result<Decisions, ChargeError> {
        let mut transaction = self.begin().await?;
        let rows = lock(&mut transaction, charges, attempt).await?;
        let is_held_elsewhere = |charge: &Charge| rows.get(charge.purchase.account.as_str()) == Some(&None);
        if charges.iter().all(|charge| is_held_elsewhere(charge)) {
            leave(transaction).await;
            return Ok(vec![None; charges.len()]);
        }
        let balances = rows
            .iter()
            .filter_map(|(account, balance)| Some((account.clone(), (*balance)?)));
        let mut books = Books {
            balances: balances.collect(),
            ..Books::default()
        };
        look_up(&mut transaction, charges, moment, &mut books).await?;
        if let Attempt::Again(decisions) = attempt
            && took_effect(charges, decisions, &books)
        {
            leave(transaction).await;
            return Ok(decisions.to_vec());
        }
        let decide = |charge: &&Charge| (!is_held_elsewhere(charge)).then(|| books.charge(charge));
        let decisions = charges.iter().map(decide).collect::<Decisions>();
        let taken = taken(charges, &decisions).collect::<Vec<_>>();
        if taken.is_empty() {
            leave(transaction).await;
            return Ok(decisions);
        }
        if let Err(error) = write(&mut transaction, &taken, &books, moment).await {
            leave(transaction).await;
            return Err(error.into());
        }
        match transaction.commit().told("COMMIT").await {
            Ok(()) => Ok(decisions),
            Err(error) if is_undone(&error) => Err(error.into()),
            Err(error) => Err(ChargeError::Unsure {
                decisions,
                source: error.into(),
            }),
        }
    }

    /// What the decision about a purchase rests on.
    pub async fn books_of(&self, purchase: &Purchase, moment: Moment) -> Result<Books, StoreError> {
        let row = sqlx::query(
            "SELECT balance, fingerprint, cost
             FROM (VALUES ($1)) AS purchase (account_id)
             LEFT JOIN accounts ON accounts.account_id = purchase.account_id
             LEFT JOIN LATERAL (
                 SELECT fingerprint, cost, bound_at FROM idempotency_bindings AS bound
                 WHERE bound.account_id = purchase.account_id AND operation = $2 AND key = $3
                 LIMIT 1
             ) AS bindings ON bindings.bound_at > $4",
        )
        .bind(purchase.account.as_str())
        .bind(operation_number(purchase.operation))
        .bind(purchase.idempotency.as_ref().map(|idempotency| &idempotency.key))
        .bind(moment.bindings_expired)
        .fetch_one(&mut *acquire(&self.pool).await?)
        .told("SELECT accounts idempotency_bindings")
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
}

/// Ends a transaction that writes nothing, before anything else is begun: a dropped one ends a little later, and the next
/// group would find its rows held.
async fn leave(transaction: Transaction<'_, Postgres>) {
    // Where that fails the connection is lost, and with it the transaction.
    let _ = transaction.rollback().await;
}

/// Locks the accounts of the charges, in one order for all replicas, and tells their balances; none of those whose rows
/// are held elsewhere and passed over. Accounts that are not there are not told.
async fn lock(
    transaction: &mut Transaction<'_, Postgres>,
    charges: &[&Charge],
    attempt: Attempt<'_>,
) -> Result<HashMap<String, Option<i64>>, StoreError> {
    let mut accounts = charges
        .iter()
        .map(|charge| charge.purchase.account.as_str())
        .collect::<Vec<_>>();
    accounts.sort_unstable();
    accounts.dedup();
    let statement = match attempt {
        Attempt::PassingOver => {
            "WITH free AS MATERIALIZED (
                 SELECT account_id, balance FROM accounts WHERE account_id = ANY($1)
                 ORDER BY account_id FOR UPDATE SKIP LOCKED
             )
             SELECT account_id, free.balance FROM accounts LEFT JOIN free USING (account_id)
             WHERE account_id = ANY($1)"
        }
        Attempt::Waiting | Attempt::Again(_) => {
            "SELECT account_id, balance FROM accounts WHERE account_id = ANY($1) ORDER BY account_id FOR UPDATE"
        }
    };
    let rows = sqlx::query_as::<_, (String, Option<i64>)>(statement)
        .bind(accounts)
        .fetch_all(&mut **transaction)
        .told("SELECT accounts")
        .await?;
    Ok(rows.into_iter().collect())
}

/// Looks up the charges' ids and idempotency keys. (The time of a binding is compared behind its look-up, so that the index
/// by age is no way to it.)
async fn look_up(
    transaction: &mut Transaction<'_, Postgres>,
    charges: &[&Charge],
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
         LEFT JOIN (
             SELECT id, charge_id, account_id, operation, amount FROM ledger_entries WHERE charge_id = ANY($1)
         ) AS past ON past.charge_id = asked.charge_id
         LEFT JOIN LATERAL (
             SELECT key, fingerprint, cost, bound_at FROM idempotency_bindings AS bound
             WHERE bound.account_id = asked.account_id AND bound.operation = asked.operation AND bound.key = asked.key
             LIMIT 1
         ) AS bindings ON bindings.bound_at > $5
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
    .told("SELECT ledger_entries idempotency_bindings")
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
         WHERE accounts.account_id = ANY($10) AND accounts.account_id = after.account_id",
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
    .execute(&mut **transaction).told("INSERT ledger_entries idempotency_bindings UPDATE accounts")
    .await?;
    Ok(())
}

/// The charges that take credits now.
fn taken<'a>(
    charges: &'a [&Charge],
    decisions: &'a [Option<Outcome>],
) -> impl Iterator<Item = (&'a Charge, Charged)> {
    let pairs = charges.iter().zip(decisions);
    pairs.filter_map(|(charge, decision)| {
        let outcome = (*decision)?.ok()?;
        (outcome.taken == Taken::Now).then_some((*charge, outcome))
    })
}

/// Whether the transaction with these decisions has taken effect: all of its charges are there, or none. (Not all
/// may be there although it has not, where another replica was sent some of them again.)
fn took_effect(charges: &[&Charge], decisions: &[Option<Outcome>], books: &Books) -> bool {
    taken(charges, decisions).all(|(charge, _)| {
        let past = books.charges.get(&charge.id);
        past.is_some_and(|past| past.account == charge.purchase.account.as_str())
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

/// Whether a commit that failed so has certainly left nothing: Postgres itself refused the data (22), a constraint (23),
/// the statement (42), or a trigger did.
fn is_undone(error: &sqlx::Error) -> bool {
    sqlstate(error).is_some_and(|code| {
        ["22", "23", "42", "P0"]
            .iter()
            .any(|class| code.starts_with(class))
    })
}

impl From<sqlx::Error> for ChargeError {
    fn from(error: sqlx::Error) -> Self {
        Self::NotTaken(error.into())
    }
}
