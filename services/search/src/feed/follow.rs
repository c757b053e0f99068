//! One step along the feed: the next changes, all from one snapshot, into the index, with their position. What was
//! written from an earlier snapshot that had these changes is not written again ([`super::ahead`]).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures::TryStreamExt as _;
use uuid::Uuid;

use super::FeedError;
use super::ahead::Ahead;
use super::records::{
    COMPANIES_AT_ONCE, PEOPLE_AT_ONCE, Records, Target, Writer, companies_of, load_companies, with_employees,
};
use crate::engine::Merging;
use crate::plan::Kind;
use crate::store::Store;
use crate::store::snapshot::{FeedChange, Snapshot};

/// Far behind, a step is so many times as large, but so many of them are left at least.
const LARGE_STEPS: i64 = 4;

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

/// What is to be written for changes, without repetition.
#[derive(Default)]
struct Touched {
    /// Companies that changed themselves: those that are not there any more are removed.
    companies: BTreeSet<Uuid>,
    /// External ids of the companies that changed themselves, with their last change: all their people are touched.
    whole_companies: BTreeMap<String, i64>,
    /// External ids of the companies whose documents are touched.
    company_documents: BTreeSet<String>,
    /// People that changed themselves.
    people: BTreeSet<Uuid>,
}

impl Touched {
    fn by(changes: Vec<FeedChange>, ahead: &Ahead) -> Self {
        let mut touched = Self::default();
        for change in changes {
            match change.kind {
                Kind::Company => touched.by_company(&change, ahead),
                Kind::Person => touched.by_person(&change, ahead),
            }
            let written = |external_id: &String| ahead.company(external_id, change.seq).is_some();
            let documents = change.companies.into_iter();
            touched
                .company_documents
                .extend(documents.filter(|external_id| !written(external_id)));
        }
        touched
    }

    fn by_company(&mut self, change: &FeedChange, ahead: &Ahead) {
        for external_id in &change.companies {
            let there = ahead
                .company(external_id, change.seq)
                .and_then(|written| written.id);
            if there != Some(change.record_id) {
                self.companies.insert(change.record_id);
            }
            self.whole_companies.insert(external_id.clone(), change.seq);
        }
    }

    fn by_person(&mut self, change: &FeedChange, ahead: &Ahead) {
        if !ahead.has_person(change.record_id, change.seq) {
            self.people.insert(change.record_id);
        }
    }
}

/// How many changes a step follows of so many: far behind, fewer and larger steps cost less, and what they bring is seen
/// late in any case.
fn step_of(behind: i64, batch: i64) -> i64 {
    batch.max((behind / LARGE_STEPS).min(batch.saturating_mul(LARGE_STEPS)))
}

/// Follows some of the changes behind the position, about `batch` of them. Behind an error nothing is known to be ahead.
pub(super) async fn follow(
    store: &Store,
    target: &Target,
    position: i64,
    batch: i64,
    ahead: &mut Ahead,
) -> Result<Followed, FeedError> {
    let mut known = std::mem::take(ahead);
    let mut snapshot = store.snapshot().await?;
    let feed = snapshot.feed().await?;
    if !feed.can_follow(position) {
        return Ok(Followed::CannotFollow);
    }
    let step = step_of(feed.position - position, batch);
    let changes = snapshot.changes_after(position, step).await?;
    let Some(last) = changes.last().map(|change| change.seq) else {
        return Ok(Followed::Level);
    };
    known.look(feed);
    let touched = Touched::by(changes, &known);
    let mut step = Step {
        snapshot,
        writer: target.writer(),
        ahead: known,
        there: HashSet::new(),
    };
    let written = step.write(&touched).await;
    step.writer.finish().await?;
    written?;
    let Step {
        snapshot,
        ahead: mut known,
        ..
    } = step;
    drop(snapshot);
    let merging = if feed.position - last > batch {
        Merging::Later
    } else {
        Merging::AsItGrows
    };
    target.commit(last, merging).await?;
    known.followed(last);
    *ahead = known;
    Ok(Followed::To(last))
}

/// A step in the making.
struct Step {
    snapshot: Snapshot,
    writer: Writer,
    ahead: Ahead,
    /// Records that were touched and are in the snapshot.
    there: HashSet<Uuid>,
}

impl Step {
    /// Writes the documents of all that is touched, as it is in the snapshot. A document is far larger than its record,
    /// and the changes may be many, so only a few records are ever held at a time.
    async fn write(&mut self, touched: &Touched) -> Result<(), FeedError> {
        self.people(touched).await?;
        self.companies(touched).await?;
        self.people_of_companies(touched).await?;
        let gone = Records {
            gone: self.gone(touched),
            ..Records::default()
        };
        self.writer.write(gone).await
    }

    /// Records that changed and are not there: deleted, or deleted and imported again under another id.
    fn gone(&self, touched: &Touched) -> Vec<(Kind, Uuid)> {
        let companies = touched.companies.iter().map(|id| (Kind::Company, *id));
        let people = touched.people.iter().map(|id| (Kind::Person, *id));
        let all = companies.chain(people);
        all.filter(|(_, id)| !self.there.contains(id)).collect()
    }

    /// Writes the people that changed themselves.
    async fn people(&mut self, touched: &Touched) -> Result<(), FeedError> {
        // In the order of their ids those of a company are mostly together, as they were imported.
        let ids: Vec<Uuid> = touched.people.iter().copied().collect();
        for some in ids.chunks(PEOPLE_AT_ONCE) {
            let people = self.snapshot.people(some).await?;
            self.there.extend(people.iter().map(|person| person.id));
            for id in some {
                self.ahead.add_person(*id);
            }
            let companies = load_companies(&mut self.snapshot, &companies_of(&people)).await?;
            let mut records = Records::default();
            records.add_people(people, &companies);
            self.writer.write(records).await?;
        }
        Ok(())
    }

    /// Writes the companies that are touched.
    async fn companies(&mut self, touched: &Touched) -> Result<(), FeedError> {
        let ids: Vec<&str> = touched.company_documents.iter().map(String::as_str).collect();
        for some in ids.chunks(COMPANIES_AT_ONCE) {
            let companies = load_companies(&mut self.snapshot, some).await?;
            self.there.extend(companies.values().map(|company| company.id));
            for external_id in some {
                let id = companies.get(*external_id).map(|company| company.id);
                self.ahead.add_company(external_id, id);
            }
            let records = Records {
                companies: with_employees(&mut self.snapshot, companies.into_values().collect()).await?,
                ..Records::default()
            };
            self.writer.write(records).await?;
        }
        Ok(())
    }

    /// Writes the people of companies that changed themselves, but for those who were written with that change, in this
    /// step or before.
    async fn people_of_companies(&mut self, touched: &Touched) -> Result<(), FeedError> {
        let ids: Vec<&str> = touched.whole_companies.keys().map(String::as_str).collect();
        for some in ids.chunks(COMPANIES_AT_ONCE) {
            let companies = load_companies(&mut self.snapshot, some).await?;
            let people = self.snapshot.people_of(some).try_chunks(PEOPLE_AT_ONCE);
            let mut people = std::pin::pin!(people.map_err(|chunk| chunk.1));
            while let Some(mut some) = people.try_next().await? {
                some.retain(|person| {
                    let company = person.company_external_id.as_ref();
                    let change = company.and_then(|id| touched.whole_companies.get(id));
                    !change.is_some_and(|change| self.ahead.has_person(person.id, *change))
                });
                for person in &some {
                    self.ahead.add_person(person.id);
                }
                let mut records = Records::default();
                records.add_people(some, &companies);
                self.writer.write(records).await?;
            }
        }
        Ok(())
    }
}
