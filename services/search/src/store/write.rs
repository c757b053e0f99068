//! Writing a batch of records: one transaction, a dozen statements, whatever the number of records.
//!
//! The steps, for companies and then for people:
//! 1. Insert all, skipping external ids that are known. This waits for a writer that is just adding the same one.
//! 2. Lock those that were known, and those to delete; for people this tells the company they worked at so far.
//!    One that was known a moment ago and is gone now was deleted in between: the batch is tried again.
//! 3. Update those that differ; delete.
//!
//! Then the changes are noted in the feed ([`super::changes`]) and the transaction is committed. A batch in which
//! nothing differs notes nothing.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use runtime::statement::{Statement as _, begin};
use sqlx::PgConnection;

use super::changes::{self, NewChange};
use super::{Store, StoreError, companies, is_contention, people};
use crate::plan::Kind;
use crate::record::{Company, Person};

/// How often a batch is tried while others get in its way.
const ATTEMPTS: u32 = 6;

/// Pause before the second try; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// A record to insert, or to put in place of the one with its external id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put<R> {
    /// The record. Its id is for the case that it is new; a known one keeps its own.
    pub record: R,
    /// Whether the source told when it was updated. If not, the record's time is now, and is no difference by itself.
    pub updated_at_given: bool,
    /// Lines of the source it stands for: itself, and those before it in the batch with the same external id.
    pub lines: u64,
}

/// A record to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// Its external id.
    pub external_id: String,
    /// Lines of the source it stands for.
    pub lines: u64,
}

/// Records to write together. An external id comes at most once for each kind; the order is that of external ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Companies to put.
    pub companies: Vec<Put<Company>>,
    /// People to put.
    pub people: Vec<Put<Person>>,
    /// Companies to delete.
    pub deleted_companies: Vec<Delete>,
    /// People to delete.
    pub deleted_people: Vec<Delete>,
}

/// What became of a batch, in lines of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Inserted or replaced.
    pub stored: u64,
    /// Already as given, or to be deleted and not there.
    pub unchanged: u64,
    /// Deleted.
    pub deleted: u64,
    /// The feed's position: an index that has reached it knows the whole batch.
    pub position: i64,
}

impl Store {
    /// Writes the batch as a whole or not at all.
    pub async fn write(&self, batch: &Batch, now: DateTime<Utc>) -> Result<Written, StoreError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS {
            match self.try_write(batch, now).await {
                Ok(Some(written)) => return Ok(written),
                Ok(None) => {}
                Err(error) if is_contention(&error) => {
                    tracing::info!(%error, "another writer was in the way of a batch: trying again");
                }
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        match self.try_write(batch, now).await? {
            Some(written) => Ok(written),
            None => Err(StoreError::Unavailable(sqlx::Error::RowNotFound)),
        }
    }

    /// One try; none if a record was deleted by another writer in the middle of it.
    async fn try_write(&self, batch: &Batch, now: DateTime<Utc>) -> Result<Option<Written>, sqlx::Error> {
        let mut transaction = begin(&self.pool).await?;
        let mut tally = Tally::default();
        if !write_companies(&mut transaction, batch, &mut tally).await?
            || !write_people(&mut transaction, batch, &mut tally).await?
        {
            return Ok(None);
        }
        tally.written.position = if tally.changes.is_empty() {
            changes::feed(&mut transaction).await?.position
        } else {
            changes::append(&mut transaction, &tally.changes, now).await?
        };
        transaction.commit().told("COMMIT").await?;
        Ok(Some(tally.written))
    }
}

/// What has been done so far.
#[derive(Default)]
struct Tally {
    written: Written,
    changes: Vec<NewChange>,
}

/// Whether all went well; false if a company was deleted by another writer meanwhile.
async fn write_companies(
    connection: &mut PgConnection,
    batch: &Batch,
    tally: &mut Tally,
) -> Result<bool, sqlx::Error> {
    let mut puts: HashMap<&str, &Put<Company>> = batch
        .companies
        .iter()
        .map(|put| (put.record.external_id.as_str(), put))
        .collect();
    let mut deletes: HashMap<&str, u64> = lines_of(&batch.deleted_companies);
    let note = |row: companies::WrittenCompany| NewChange {
        kind: Kind::Company,
        record_id: row.id,
        companies: vec![row.external_id],
    };

    if !puts.is_empty() {
        for row in companies::insert(connection, &batch.companies.iter().collect::<Vec<_>>()).await? {
            tally.written.stored += puts.remove(row.external_id.as_str()).map_or(0, |put| put.lines);
            tally.changes.push(note(row));
        }
    }
    let known: Vec<&str> = puts.keys().chain(deletes.keys()).copied().collect();
    if !known.is_empty() {
        let locked = companies::lock(connection, &known).await?;
        if locked.iter().filter(|id| puts.contains_key(id.as_str())).count() < puts.len() {
            return Ok(false);
        }
    }
    if !puts.is_empty() {
        for row in companies::update(connection, &puts.values().copied().collect::<Vec<_>>()).await? {
            tally.written.stored += puts.remove(row.external_id.as_str()).map_or(0, |put| put.lines);
            tally.changes.push(note(row));
        }
    }
    if !deletes.is_empty() {
        for row in companies::delete(connection, &deletes.keys().copied().collect::<Vec<_>>()).await? {
            tally.written.deleted += deletes.remove(row.external_id.as_str()).unwrap_or(0);
            tally.changes.push(note(row));
        }
    }
    tally.written.unchanged +=
        puts.values().map(|put| put.lines).sum::<u64>() + deletes.values().sum::<u64>();
    Ok(true)
}

/// Whether all went well; false if a person was deleted by another writer meanwhile.
async fn write_people(
    connection: &mut PgConnection,
    batch: &Batch,
    tally: &mut Tally,
) -> Result<bool, sqlx::Error> {
    let mut puts: HashMap<&str, &Put<Person>> = batch
        .people
        .iter()
        .map(|put| (put.record.external_id.as_str(), put))
        .collect();
    let mut deletes: HashMap<&str, u64> = lines_of(&batch.deleted_people);
    let note = |row: people::WrittenPerson, before: Option<String>| {
        let mut companies: Vec<String> = before.into_iter().chain(row.company_external_id).collect();
        companies.dedup();
        NewChange {
            kind: Kind::Person,
            record_id: row.id,
            companies,
        }
    };

    if !puts.is_empty() {
        for row in people::insert(connection, &batch.people.iter().collect::<Vec<_>>()).await? {
            tally.written.stored += puts.remove(row.external_id.as_str()).map_or(0, |put| put.lines);
            tally.changes.push(note(row, None));
        }
    }
    let known: Vec<&str> = puts.keys().chain(deletes.keys()).copied().collect();
    let mut locked = HashMap::new();
    if !known.is_empty() {
        locked = people::lock(connection, &known).await?;
        if puts.keys().any(|id| !locked.contains_key(*id)) {
            return Ok(false);
        }
    }
    if !puts.is_empty() {
        for row in people::update(connection, &puts.values().copied().collect::<Vec<_>>()).await? {
            tally.written.stored += puts.remove(row.external_id.as_str()).map_or(0, |put| put.lines);
            let before = locked.remove(&row.external_id).flatten();
            tally.changes.push(note(row, before));
        }
    }
    if !deletes.is_empty() {
        for row in people::delete(connection, &deletes.keys().copied().collect::<Vec<_>>()).await? {
            tally.written.deleted += deletes.remove(row.external_id.as_str()).unwrap_or(0);
            tally.changes.push(note(row, None));
        }
    }
    tally.written.unchanged +=
        puts.values().map(|put| put.lines).sum::<u64>() + deletes.values().sum::<u64>();
    Ok(true)
}

fn lines_of(deletes: &[Delete]) -> HashMap<&str, u64> {
    deletes
        .iter()
        .map(|delete| (delete.external_id.as_str(), delete.lines))
        .collect()
}
