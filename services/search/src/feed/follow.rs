//! One step along the feed: the next changes, all from one snapshot, into the index, with their position.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures::TryStreamExt as _;
use uuid::Uuid;

use super::FeedError;
use super::records::{
    COMPANIES_AT_ONCE, Companies, PEOPLE_AT_ONCE, Records, Target, Writer, companies_of, load_companies,
    with_employees,
};
use crate::plan::Kind;
use crate::record::{Company, Person};
use crate::store::snapshot::{FeedChange, Snapshot};
use crate::store::{Store, StoreError};

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
    companies: HashSet<Uuid>,
    /// External ids of the companies that changed themselves: all their people are touched.
    whole_companies: BTreeSet<String>,
    /// External ids of the companies whose documents are touched.
    company_documents: BTreeSet<String>,
    /// People that changed themselves.
    people: HashSet<Uuid>,
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

/// Writes the documents of all that is touched, as it is in the snapshot.
async fn write(snapshot: &mut Snapshot, writer: &mut Writer, touched: &Touched) -> Result<(), FeedError> {
    let people = load_people(snapshot, touched).await?;
    let wanted: BTreeSet<&str> = touched
        .company_documents
        .iter()
        .map(String::as_str)
        .chain(companies_of(&people))
        .collect();
    let companies = load_companies(snapshot, &wanted.into_iter().collect::<Vec<_>>()).await?;

    let mut records = Records {
        gone: gone(touched, &companies, &people),
        ..Records::default()
    };
    records.add_people(people, &companies);
    writer.write(records).await?;
    write_companies(snapshot, writer, touched, &companies).await?;
    write_people_of_companies(snapshot, writer, touched, &companies).await
}

async fn load_people(snapshot: &mut Snapshot, touched: &Touched) -> Result<Vec<Person>, StoreError> {
    if touched.people.is_empty() {
        return Ok(Vec::new());
    }
    snapshot
        .people(&touched.people.iter().copied().collect::<Vec<_>>())
        .await
}

/// Records that changed and are not there: deleted, or deleted and imported again under another id.
fn gone(touched: &Touched, companies: &Companies, people: &[Person]) -> Vec<(Kind, Uuid)> {
    let there: HashSet<Uuid> = companies
        .values()
        .map(|company| company.id)
        .chain(people.iter().map(|person| person.id))
        .collect();
    let companies = touched.companies.iter().map(|id| (Kind::Company, *id));
    let people = touched.people.iter().map(|id| (Kind::Person, *id));
    companies
        .chain(people)
        .filter(|(_, id)| !there.contains(id))
        .collect()
}

async fn write_companies(
    snapshot: &mut Snapshot,
    writer: &mut Writer,
    touched: &Touched,
    companies: &Companies,
) -> Result<(), FeedError> {
    let companies: Vec<Arc<Company>> = touched
        .company_documents
        .iter()
        .filter_map(|id| companies.get(id))
        .map(Arc::clone)
        .collect();
    for some in companies.chunks(COMPANIES_AT_ONCE) {
        let records = Records {
            companies: with_employees(snapshot, some.to_vec()).await?,
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
    companies: &Companies,
) -> Result<(), FeedError> {
    if touched.whole_companies.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = touched.whole_companies.iter().map(String::as_str).collect();
    let people = snapshot
        .people_of(&ids)
        .try_filter(|person| std::future::ready(!touched.people.contains(&person.id)))
        .try_chunks(PEOPLE_AT_ONCE)
        .map_err(|chunk| chunk.1);
    let mut people = std::pin::pin!(people);
    while let Some(some) = people.try_next().await? {
        let mut records = Records::default();
        records.add_people(some, companies);
        writer.write(records).await?;
    }
    Ok(())
}
