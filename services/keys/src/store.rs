//! All SQL of the keys service.
//!
//! Each method is one statement or one transaction, so that nothing is read in one state and written in another.
//! Whatever belongs to an account is asked for with the account: another one's key is not there.

use std::time::Duration;

use chrono::{DateTime, Utc};
use proto::account::AccountId;
use proto::rate::Rate;
use runtime::database::go_through_tables;
use runtime::database::{Schema, is_passing};
use runtime::statement::{Statement as _, acquire, begin};
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::{FromRow, Row as _};
use uuid::Uuid;

use crate::key::{FoundKey, Key, KeyId, NewKey, NewSecret, Use};
use crate::secret::HashedSecret;

/// What brings the database to this version's form.
#[must_use]
pub fn migrator() -> Migrator {
    sqlx::migrate!("./migrations")
}

/// What the service asks of its database.
#[must_use]
pub fn schema() -> Schema {
    Schema {
        migrator: migrator(),
        rights: &[
            "SELECT, INSERT, UPDATE ON keys",
            "SELECT, INSERT, UPDATE, DELETE ON rates",
        ],
        append_only: &[],
    }
}

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It is away, busy or restarting: the same may go well later.
    #[error("the database is not available")]
    Unavailable(#[source] sqlx::Error),
    /// It refused: a slip of ours.
    #[error("the database refused")]
    Refused(#[source] sqlx::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if is_passing(&error) {
            Self::Unavailable(error)
        } else {
            Self::Refused(error)
        }
    }
}

/// The keys and rates in Postgres.
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

    /// All keys of the account, newest first.
    pub async fn list(&self, account: &AccountId) -> Result<Vec<Key>, StoreError> {
        let keys = sqlx::query_as(
            "SELECT id, name, key_prefix, created_at, last_used_at, revoked_at
             FROM keys WHERE account_id = $1 ORDER BY created_at DESC, id DESC",
        )
        .bind(account.as_str())
        .fetch_all(&mut *acquire(&self.pool).await?)
        .told("SELECT keys")
        .await?;
        Ok(keys)
    }

    /// Adds a key; none if the account has as many active keys as it may.
    ///
    /// Creations of one account take turns by an advisory lock: each counts what the one before has added.
    pub async fn insert(
        &self,
        account: &AccountId,
        key: &NewKey,
        max_active_keys: u32,
    ) -> Result<Option<Key>, StoreError> {
        let mut transaction = begin(&self.pool).await?;
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
            .bind(account.as_str())
            .execute(&mut *transaction)
            .told("SELECT pg_advisory_xact_lock")
            .await?;
        // A statement of its own, for a snapshot taken after the lock.
        let added = sqlx::query_as(
            "INSERT INTO keys (id, account_id, name, key_prefix, secret_hash, pepper_id, created_at)
             SELECT $1, $2, $3, $4, $5, $6, $7
             WHERE (SELECT count(*) FROM keys WHERE account_id = $2 AND revoked_at IS NULL) < $8
             RETURNING id, name, key_prefix, created_at, last_used_at, revoked_at",
        )
        .bind(key.id.as_uuid())
        .bind(account.as_str())
        .bind(&key.name)
        .bind(&key.secret.prefix)
        .bind(&key.secret.hashed.hash[..])
        .bind(&key.secret.hashed.pepper_id)
        .bind(key.created_at)
        .bind(i64::from(max_active_keys))
        .fetch_optional(&mut *transaction)
        .told("INSERT keys")
        .await?;
        transaction.commit().told("COMMIT").await?;
        Ok(added)
    }

    /// Whether the account has the key, active or revoked.
    pub async fn exists(&self, account: &AccountId, id: KeyId) -> Result<bool, StoreError> {
        let exists =
            sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM keys WHERE account_id = $1 AND id = $2)")
                .bind(account.as_str())
                .bind(id.as_uuid())
                .fetch_one(&mut *acquire(&self.pool).await?)
                .told("SELECT keys")
                .await?;
        Ok(exists)
    }

    /// Renames the key; none if the account has no such active key.
    pub async fn rename(
        &self,
        account: &AccountId,
        id: KeyId,
        name: &str,
    ) -> Result<Option<Key>, StoreError> {
        let renamed = sqlx::query_as(
            "UPDATE keys SET name = $3 WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
             RETURNING id, name, key_prefix, created_at, last_used_at, revoked_at",
        )
        .bind(account.as_str())
        .bind(id.as_uuid())
        .bind(name)
        .fetch_optional(&mut *acquire(&self.pool).await?)
        .told("UPDATE keys")
        .await?;
        Ok(renamed)
    }

    /// Revokes the key; one that is revoked stays as it is. None if the account has no such key.
    ///
    /// The clock that made the key may have been ahead of the one that revokes it.
    pub async fn revoke(
        &self,
        account: &AccountId,
        id: KeyId,
        now: DateTime<Utc>,
    ) -> Result<Option<Key>, StoreError> {
        let revoked = sqlx::query_as(
            "UPDATE keys SET revoked_at = COALESCE(revoked_at, GREATEST(created_at, $3))
             WHERE account_id = $1 AND id = $2
             RETURNING id, name, key_prefix, created_at, last_used_at, revoked_at",
        )
        .bind(account.as_str())
        .bind(id.as_uuid())
        .bind(now)
        .fetch_optional(&mut *acquire(&self.pool).await?)
        .told("UPDATE keys")
        .await?;
        Ok(revoked)
    }

    /// Gives the key another secret, never used yet; none if the account has no such active key.
    pub async fn replace_secret(
        &self,
        account: &AccountId,
        id: KeyId,
        secret: &NewSecret,
    ) -> Result<Option<Key>, StoreError> {
        let replaced = sqlx::query_as(
            "UPDATE keys
             SET key_prefix = $3, secret_hash = $4, pepper_id = $5, generation = generation + 1,
                 last_used_at = NULL
             WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL
             RETURNING id, name, key_prefix, created_at, last_used_at, revoked_at",
        )
        .bind(account.as_str())
        .bind(id.as_uuid())
        .bind(&secret.prefix)
        .bind(&secret.hashed.hash[..])
        .bind(&secret.hashed.pepper_id)
        .fetch_optional(&mut *acquire(&self.pool).await?)
        .told("UPDATE keys")
        .await?;
        Ok(replaced)
    }

    /// The active key whose secret has one of these hashes.
    pub async fn find(&self, hashes: &[HashedSecret]) -> Result<Option<FoundKey>, StoreError> {
        let hashes: Vec<&[u8]> = hashes.iter().map(|hashed| &hashed.hash[..]).collect();
        let found = sqlx::query_as(
            "SELECT keys.id, keys.account_id, generation, pepper_id, requests, window_ms
             FROM keys LEFT JOIN LATERAL (
                 SELECT requests, window_ms FROM rates WHERE rates.account_id = keys.account_id LIMIT 1
             ) AS rates ON true
             WHERE secret_hash = ANY($1) AND revoked_at IS NULL",
        )
        .bind(hashes)
        .fetch_optional(&mut *acquire(&self.pool).await?)
        .told("SELECT keys rates")
        .await?;
        Ok(found)
    }

    /// Notes uses of keys, all in one statement. A use of a secret that has been replaced meanwhile is not noted, and
    /// a later use that somebody else has noted stays.
    ///
    /// Rows are locked in the order of their ids, so that two replicas which note the same keys can't deadlock.
    pub async fn note_uses(&self, uses: &[(KeyId, Use)]) -> Result<(), StoreError> {
        let ids: Vec<Uuid> = uses.iter().map(|(id, _)| id.as_uuid()).collect();
        let generations: Vec<i32> = uses.iter().map(|(_, used)| used.generation).collect();
        let times: Vec<DateTime<Utc>> = uses.iter().map(|(_, used)| used.at).collect();
        let rehashed = || uses.iter().map(|(_, used)| used.rehashed.as_ref());
        let hashes: Vec<Option<&[u8]>> = rehashed().map(|hashed| Some(&hashed?.hash[..])).collect();
        let pepper_ids: Vec<Option<&str>> = rehashed()
            .map(|hashed| Some(hashed?.pepper_id.as_str()))
            .collect();
        sqlx::query(
            "WITH used AS (
                 SELECT * FROM unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::bytea[], $5::text[])
                     AS used (id, generation, at, secret_hash, pepper_id)
             ), locked AS MATERIALIZED (
                 SELECT id FROM keys WHERE id = ANY($1) ORDER BY id FOR UPDATE
             )
             UPDATE keys
             SET last_used_at = GREATEST(keys.last_used_at, used.at),
                 secret_hash = COALESCE(used.secret_hash, keys.secret_hash),
                 pepper_id = COALESCE(used.pepper_id, keys.pepper_id)
             FROM used JOIN locked USING (id)
             WHERE keys.id = ANY($1) AND keys.id = used.id AND keys.generation = used.generation",
        )
        .bind(ids)
        .bind(generations)
        .bind(times)
        .bind(hashes)
        .bind(pepper_ids)
        .execute(&mut *acquire(&self.pool).await?)
        .told("UPDATE keys")
        .await?;
        Ok(())
    }

    /// How many active keys are hashed with each pepper, by its id. Looks at every key.
    pub async fn active_by_pepper(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let mut transaction = begin(&self.pool).await?;
        go_through_tables(&mut transaction).await?;
        let counts = sqlx::query_as(
            "SELECT pepper_id, count(*) FROM keys WHERE revoked_at IS NULL GROUP BY pepper_id",
        )
        .fetch_all(&mut *transaction)
        .told("SELECT keys")
        .await?;
        transaction.commit().told("COMMIT").await?;
        Ok(counts)
    }

    /// The account's own rate.
    pub async fn rate(&self, account: &AccountId) -> Result<Option<Rate>, StoreError> {
        let row = sqlx::query("SELECT requests, window_ms FROM rates WHERE account_id = $1")
            .bind(account.as_str())
            .fetch_optional(&mut *acquire(&self.pool).await?)
            .told("SELECT rates")
            .await?;
        Ok(row.as_ref().map(read_rate).transpose()?.flatten())
    }

    /// Gives the account a rate of its own, or takes it away.
    pub async fn set_rate(&self, account: &AccountId, rate: Option<Rate>) -> Result<(), StoreError> {
        match rate {
            Some(rate) => {
                sqlx::query(
                    "INSERT INTO rates (account_id, requests, window_ms) VALUES ($1, $2, $3)
                     ON CONFLICT (account_id) DO UPDATE
                     SET requests = EXCLUDED.requests, window_ms = EXCLUDED.window_ms",
                )
                .bind(account.as_str())
                .bind(i64::from(rate.requests()))
                .bind(i64::try_from(rate.window().as_millis()).unwrap_or(i64::MAX))
                .execute(&mut *acquire(&self.pool).await?)
                .told("INSERT rates")
                .await?
            }
            None => {
                sqlx::query("DELETE FROM rates WHERE account_id = $1")
                    .bind(account.as_str())
                    .execute(&mut *acquire(&self.pool).await?)
                    .told("DELETE rates")
                    .await?
            }
        };
        Ok(())
    }
}

impl FromRow<'_, PgRow> for Key {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: KeyId::new(row.try_get("id")?),
            name: row.try_get("name")?,
            prefix: row.try_get("key_prefix")?,
            created_at: row.try_get("created_at")?,
            last_used_at: row.try_get("last_used_at")?,
            revoked_at: row.try_get("revoked_at")?,
        })
    }
}

impl FromRow<'_, PgRow> for FoundKey {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: KeyId::new(row.try_get("id")?),
            account_id: row.try_get("account_id")?,
            generation: row.try_get("generation")?,
            pepper_id: row.try_get("pepper_id")?,
            rate: read_rate(row)?,
        })
    }
}

/// The rate of a row that may have none.
fn read_rate(row: &PgRow) -> Result<Option<Rate>, sqlx::Error> {
    let requests: Option<i32> = row.try_get("requests")?;
    let window_ms: Option<i32> = row.try_get("window_ms")?;
    let (Some(requests), Some(window_ms)) = (requests, window_ms) else {
        return Ok(None);
    };
    let rate = u32::try_from(requests)
        .ok()
        .zip(u64::try_from(window_ms).ok())
        .and_then(|(requests, window_ms)| Rate::new(requests, Duration::from_millis(window_ms)));
    rate.map(Some)
        .ok_or_else(|| sqlx::Error::Decode("a rate in the database is out of bounds".into()))
}
