//! One step along the feed: the next changes, all from one snapshot, into the index, with their position.

use std::collections::{BTreeSet, HashSet};

use futures::TryStreamExt as _;
use uuid::Uuid;

use super::FeedError;
use super::records::{
    COMPANIES_AT_ONCE, PEOPLE_AT_ONCE, Records, Target, Writer, companies_of, load_companies, with_employees,
};
use crate::plan::Kind;
use crate::store::Store;
use crate::store::snapshot::{FeedChange, Snapshot};

/// How a step went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    /// Up to this position.
    To(i64),
    /// There was nothing to follow.
    Level,
    /// What comes behind the position is not in the feed any more, or not yet.
    CannotFollow,
}

/// What changes touch, without repetition.
#[derive(Default)]
struct Touched {
    /// Companies that changed themselves.
    companies: BTreeSet<Uuid>,
    /// External ids of the companies that changed themselves: all their people are touched.
    whole_companies: BTreeSet<String>,
    /// External ids of the companies whose documents are touched.
    company_documents: BTreeSet<String>,
    /// People that changed themselves.
    people: BTreeSet<Uuid>,
}

impl Touched {
    fn by(changes: Vec<FeedChange>) -> Self {
        let mut touched = Self::default();
        for change in changes {
            match change.kind {
                Kind::Company => {
                    touched.companies.insert(change.record_id);
                    touched.whole_companies.extend(change.companies.iter().cloned());
                }
                Kind::Person => {
                    touched.people.insert(change.record_id);
                }
            }
            touched.company_documents.extend(change.companies);
        }
        touched
    }
}

/// Follows at most so many changes behind the position.
pub(super) async fn follow(
    store: &Store,
    target: &Target,
    position: i64,
    batch: i64,
) -> Result<Followed, FeedError> {
    let mut snapshot = store.snapshot().await?;
    if !snapshot.feed().await?.can_follow(position) {
        return Ok(Followed::CannotFollow);
    }
    let changes = snapshot.changes_after(position, batch).await?;
    let Some(last) = changes.last().map(|change| change.seq) else {
        return Ok(Followed::Level);
    };
    let touched = Touched::by(changes);
    let mut writer = target.writer();
    let read = write(&mut snapshot, &mut writer, &touched).await;
    writer.finish().await?;
    read?;
    drop(snapshot);
    target.commit(last).await?;
    Ok(Followed::To(last))
}

/// Writes the documents of all that is touched, as it is in the snapshot. A document is far larger than its record, and
/// the changes may be many, so only a few records are ever held at a time.
async fn write(snapshot: &mut Snapshot, writer: &mut Writer, touched: &Touched) -> Result<(), FeedError> {
    let mut there = HashSet::new();
    write_people(snapshot, writer, touched, &mut there).await?;
    write_companies(snapshot, writer, touched, &mut there).await?;
    write_people_of_companies(snapshot, writer, touched).await?;
    let gone = Records {
        gone: gone(touched, &there),
        ..Records::default()
    };
    writer.write(gone).await
}

/// Records that changed and are not there: deleted, or deleted and imported again under another id.
fn gone(touched: &Touched, there: &HashSet<Uuid>) -> Vec<(Kind, Uuid)> {
    let companies = touched.companies.iter().map(|id| (Kind::Company, *id));
    let people = touched.people.iter().map(|id| (Kind::Person, *id));
    let all = companies.chain(people);
    all.filter(|(_, id)| !there.contains(id)).collect()
}

/// Writes the people that changed themselves, and adds the ids of those that are there.
async fn write_people(
    snapshot: &mut Snapshot,
    writer: &mut Writer,
    touched: &Touched,
    there: &mut HashSet<Uuid>,
) -> Result<(), FeedError> {
    // In the order of their ids those of a company are mostly together, as they were imported.
    let ids: Vec<Uuid> = touched.people.iter().copied().collect();
    for some in ids.chunks(PEOPLE_AT_ONCE) {
        let people = snapshot.people(some).await?;
        there.extend(people.iter().map(|person| person.id));
        let companies = load_companies(snapshot, &companies_of(&people)).await?;
        let mut records = Records::default();
        records.add_people(people, &companies);
        writer.write(records).await?;
    }
    Ok(())
}

/// Writes the companies that are touched, and adds the ids of those that are there.
async fn write_companies(
    snapshot: &mut Snapshot,
    writer: &mut Writer,
    touched: &Touched,
    there: &mut HashSet<Uuid>,
) -> Result<(), FeedError> {
    let ids: Vec<&str> = touched.company_documents.iter().map(String::as_str).collect();
    for some in ids.chunks(COMPANIES_AT_ONCE) {
        let companies = load_companies(snapshot, some).await?;
        there.extend(companies.values().map(|company| company.id));
        let records = Records {
            companies: with_employees(snapshot, companies.into_values().collect()).await?,
            ..Records::default()
        };
        writer.write(records).await?;
    }
    Ok(())
}

/// Writes the people of companies that changed themselves, but for those who were written already.
async fn write_people_of_companies(
    snapshot: &mut Snapshot,
    writer: &mut Writer,
    touched: &Touched,
) -> Result<(), FeedError> {
    let ids: Vec<&str> = touched.whole_companies.iter().map(String::as_str).collect();
    for some in ids.chunks(COMPANIES_AT_ONCE) {
        let companies = load_companies(snapshot, some).await?;
        let people = snapshot
            .people_of(some)
            .try_filter(|person| std::future::ready(!touched.people.contains(&person.id)))
            .try_chunks(PEOPLE_AT_ONCE)
            .map_err(|chunk| chunk.1);
        let mut people = std::pin::pin!(people);
        while let Some(some) = people.try_next().await? {
            let mut records = Records::default();
            records.add_people(some, &companies);
            writer.write(records).await?;
        }
    }
    Ok(())
}
