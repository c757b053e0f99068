//! The feed of changes: what an index has to follow, in an order that skips nothing.
//!
//! A number drawn when a change is made says nothing of when it is committed: a reader that has seen number 7 may
//! have to come back for 5, which was committed after it. So here the order of the numbers is made to be the order
//! of the commits: a writing transaction does all else first, then takes one lock ([`LOCK`]), draws the numbers of
//! its changes, and commits; Postgres lets go of the lock only after the commit can be seen. Hence:
//!
//! - A reader that sees change N sees every change before N that there will ever be. A gap is an aborted transaction.
//! - No clock and no transaction id is compared: the order survives a restart, a failover, a dump and its restore.
//! - The lock is held for one insert and one commit. A holder that stalls is ended by Postgres; those who wait too
//!   long roll back and try again (the time-outs of [`runtime::database`]).
//!
//! Old changes are dropped from the front ([`Store::prune`]). `feed.pruned_to` tells up to where; an index that has
//! not come so far can't follow any more and is built anew. So is one that is ahead of the feed, which happens when a
//! database is put back to an older state.

use chrono::{DateTime, TimeDelta, Utc};
use runtime::statement::{Statement as _, acquire, begin};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::{Store, StoreError, array_literal};
use crate::plan::Kind;

/// Key of the advisory lock under which numbers are drawn: "srchfeed".
pub(super) const LOCK: i64 = i64::from_be_bytes(*b"srchfeed");

/// A change to be noted.
#[derive(Debug)]
pub(super) struct NewChange {
    /// Kind of the record.
    pub(super) kind: Kind,
    /// Its id.
    pub(super) record_id: Uuid,
    /// A company's change: its own external id. A person's: those of the companies before and after.
    pub(super) companies: Vec<String>,
}

/// The feed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct Feed {
    /// Tells the positions of this feed from those of another database.
    pub id: Uuid,
    /// Changes up to this one have been dropped.
    pub pruned_to: i64,
    /// Its last change; 0 before the first.
    pub position: i64,
}

/// What an index has not followed yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Number of changes.
    pub changes: i64,
    /// Age of the oldest of them; none if there is none.
    pub age: Option<TimeDelta>,
}

impl Feed {
    /// Whether an index at this position can follow from there.
    #[must_use]
    pub const fn can_follow(&self, position: i64) -> bool {
        self.pruned_to <= position && position <= self.position
    }
}

/// Notes the changes and returns the number of the last. Nothing but the commit may come after it.
pub(super) async fn append(
    connection: &mut PgConnection,
    changes: &[NewChange],
    now: DateTime<Utc>,
) -> Result<i64, sqlx::Error> {
    // A statement of its own: the numbers must be drawn after the lock is held.
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *connection)
        .told("SELECT pg_advisory_xact_lock")
        .await?;
    sqlx::query_scalar(
        "WITH added AS (
             INSERT INTO changes (kind, record_id, companies, changed_at)
             SELECT kind, record_id, companies::text[], $4
             FROM unnest($1::text[], $2::uuid[], $3::text[]) AS input (kind, record_id, companies)
             RETURNING seq
         )
         SELECT max(seq) FROM added",
    )
    .bind(
        changes
            .iter()
            .map(|change| kind_name(change.kind))
            .collect::<Vec<_>>(),
    )
    .bind(changes.iter().map(|change| change.record_id).collect::<Vec<_>>())
    .bind(
        changes
            .iter()
            .map(|change| array_literal(&change.companies))
            .collect::<Vec<_>>(),
    )
    .bind(now)
    .fetch_one(connection)
    .told("INSERT changes")
    .await
}

/// The feed as this connection sees it.
pub(super) async fn feed(connection: &mut PgConnection) -> Result<Feed, sqlx::Error> {
    sqlx::query_as(
        "SELECT id, pruned_to, GREATEST(pruned_to, (SELECT max(seq) FROM changes)) AS position
         FROM feed WHERE only_row",
    )
    .fetch_one(connection)
    .told("SELECT feed")
    .await
}

/// Name of the kind in `changes.kind`.
pub(super) const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Company => "company",
        Kind::Person => "person",
    }
}

impl Store {
    /// The feed now.
    pub async fn feed(&self) -> Result<Feed, StoreError> {
        let mut connection = acquire(&self.pool).await?;
        Ok(feed(&mut connection).await?)
    }

    /// What an index at this position has not followed yet. Asked several times a second, of millions of changes: they are
    /// not counted one by one, so that those of aborted transactions are among them.
    pub async fn lag(&self, position: i64, now: DateTime<Utc>) -> Result<Lag, StoreError> {
        let (changes, oldest): (i64, Option<DateTime<Utc>>) = sqlx::query_as(
            "SELECT GREATEST((SELECT max(seq) FROM changes) - $1, 0),
                    (SELECT changed_at FROM changes WHERE seq > $1 ORDER BY seq LIMIT 1)",
        )
        .bind(position)
        .fetch_one(&mut *acquire(&self.pool).await?)
        .told("SELECT changes")
        .await?;
        Ok(Lag {
            changes,
            age: oldest.map(|oldest| (now - oldest).max(TimeDelta::zero())),
        })
    }

    /// Drops changes made before this time, from the front of the feed and at most so many, and returns how many.
    ///
    /// It stops at the first one that is younger: clocks of several processes may differ, the front stays a front.
    pub async fn prune(&self, before: DateTime<Utc>, limit: i64) -> Result<i64, StoreError> {
        let mut transaction = begin(&self.pool).await?;
        let dropped = sqlx::query_scalar(
            "WITH front AS (SELECT seq, changed_at FROM changes ORDER BY seq LIMIT $2),
                  dropped AS (
                      DELETE FROM changes
                      WHERE seq <= (SELECT max(seq) FROM front)
                          AND seq < COALESCE((SELECT min(seq) FROM front WHERE changed_at >= $1),
                              9223372036854775807)
                      RETURNING seq
                  ),
                  noted AS (
                      UPDATE feed SET pruned_to = GREATEST(pruned_to, (SELECT max(seq) FROM dropped))
                      WHERE only_row AND EXISTS (SELECT FROM dropped)
                  )
             SELECT count(*) FROM dropped",
        )
        .bind(before)
        .bind(limit)
        .fetch_one(&mut *transaction)
        .told("DELETE changes")
        .await?;
        transaction.commit().told("COMMIT").await?;
        Ok(dropped)
    }
}
