//! Records on their way into the index.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::JoinSet;
use uuid::Uuid;

use super::FeedError;
use crate::background;
use crate::document::{Change, Document};
use crate::documents::{Documents, Employer};
use crate::engine::{Index, IndexError, Merging, Rebuild};
use crate::plan::Kind;
use crate::record::{Company, Employee, Person};
use crate::store::StoreError;
use crate::store::snapshot::Snapshot;

/// Companies read at once; each may have thousands of titles and places with it.
pub(super) const COMPANIES_AT_ONCE: usize = 500;

/// People read at once.
pub(super) const PEOPLE_AT_ONCE: usize = 2_000;

/// Companies by their external ids.
pub(super) type Companies = HashMap<String, Arc<Company>>;

/// Where documents go.
#[derive(Clone)]
pub(super) enum Target {
    /// The index that serves.
    Serving(Arc<Index>),
    /// One that is being built.
    Rebuild(Arc<Rebuild>),
    /// One that has none of the records yet.
    Empty(Arc<Rebuild>),
}

/// Pieces of work that are done beside each other, and beside the reading for the next one: while one hands its
/// documents to the index, which lets in one at a time, another makes its own.
const AT_ONCE: usize = 2;

/// Writes to a target, in no certain order.
pub(super) struct Writer {
    target: Target,
    /// Makers of documents that have nothing to do.
    idle: Vec<Documents>,
    running: JoinSet<Result<Documents, IndexError>>,
}

/// Records read, with what their documents take from others.
#[derive(Default)]
pub(super) struct Records {
    /// Companies, with what is told of their people.
    pub(super) companies: Vec<(Arc<Company>, Vec<Employee>)>,
    /// People, with their companies.
    pub(super) people: Vec<(Person, Option<Arc<Company>>)>,
    /// Records that are no more.
    pub(super) gone: Vec<(Kind, Uuid)>,
}

impl Records {
    /// The documents. Takes a while: it is done where blocking is fine.
    fn documents(&self, documents: &mut Documents) -> Vec<Document> {
        let mut all = Vec::with_capacity(self.companies.len() + self.people.len());
        for (company, people) in &self.companies {
            all.push(documents.company(company, people));
        }
        let mut employers: HashMap<Uuid, Employer<'_>> = HashMap::new();
        for (person, company) in &self.people {
            let employer = company.as_deref().map(|company| {
                let employer = employers.entry(company.id);
                &*employer.or_insert_with(|| documents.employer(company))
            });
            all.push(documents.person(person, employer));
        }
        all
    }

    /// Adds people, each with the company that is known of them.
    pub(super) fn add_people(&mut self, people: Vec<Person>, companies: &Companies) {
        self.people.extend(people.into_iter().map(|person| {
            let company = person
                .company_external_id
                .as_ref()
                .and_then(|id| companies.get(id));
            let company = company.map(Arc::clone);
            (person, company)
        }));
    }
}

impl Writer {
    /// Has the documents of these records written, without committing them. Waits while enough others are.
    pub(super) async fn write(&mut self, records: Records) -> Result<(), FeedError> {
        let mut documents = match self.idle.pop() {
            Some(documents) => documents,
            None => self.one_done().await?.unwrap_or_default(),
        };
        count("company", records.companies.len());
        count("person", records.people.len());
        let target = self.target.clone();
        let work = move || {
            let all = records.documents(&mut documents);
            target.write(&records.gone, all)?;
            Ok(documents)
        };
        self.running.spawn_blocking_on(work, background::threads());
        Ok(())
    }

    /// Waits until all is written. Whoever goes on with the index has to, also behind an error.
    pub(super) async fn finish(&mut self) -> Result<(), FeedError> {
        let mut done = Ok(());
        while !self.running.is_empty() {
            done = done.and(self.one_done().await.map(|documents| self.idle.extend(documents)));
        }
        done
    }

    /// Waits until one of the pieces of work is done, if there is one, and returns its maker of documents.
    async fn one_done(&mut self) -> Result<Option<Documents>, FeedError> {
        match self.running.join_next().await {
            Some(done) => Ok(Some(done??)),
            None => Ok(None),
        }
    }
}

impl Target {
    /// What writes to it.
    pub(super) fn writer(&self) -> Writer {
        Writer {
            target: self.clone(),
            idle: std::iter::repeat_with(Documents::default).take(AT_ONCE).collect(),
            running: JoinSet::new(),
        }
    }

    fn write(&self, gone: &[(Kind, Uuid)], documents: Vec<Document>) -> Result<(), IndexError> {
        let changes = |documents: Vec<Document>| {
            let gone = gone.iter().map(|(kind, id)| Change::Delete(*kind, *id));
            let puts = documents
                .into_iter()
                .map(|document| Change::Put(Box::new(document)));
            gone.chain(puts).collect::<Vec<_>>()
        };
        match self {
            Self::Serving(index) => index.write(&changes(documents)),
            Self::Rebuild(rebuild) => rebuild.write(&changes(documents)),
            Self::Empty(rebuild) => rebuild.fill(&documents),
        }
    }

    /// Commits what was written, and the position.
    pub(super) async fn commit(&self, position: i64, merging: Merging) -> Result<(), FeedError> {
        let target = self.clone();
        let work = move || match target {
            Self::Serving(index) => index.commit(position, merging),
            Self::Rebuild(rebuild) | Self::Empty(rebuild) => rebuild.commit(position, merging),
        };
        Ok(background::start(work).await??)
    }
}

/// Counts documents that are written: divided by the records that changed, it tells how often each is.
fn count(kind: &'static str, documents: usize) {
    metrics::counter!(crate::meters::FEED_DOCUMENTS, "kind" => kind).increment(documents as u64);
}

/// The companies with these external ids.
pub(super) async fn load_companies(
    snapshot: &mut Snapshot,
    external_ids: &[&str],
) -> Result<Companies, StoreError> {
    if external_ids.is_empty() {
        return Ok(Companies::new());
    }
    Ok(by_external_id(snapshot.companies(external_ids).await?))
}

/// Companies by their external ids.
pub(super) fn by_external_id(companies: Vec<Company>) -> Companies {
    let companies = companies.into_iter();
    companies
        .map(|company| (company.external_id.clone(), Arc::new(company)))
        .collect()
}

/// The different external ids of these people's companies.
pub(super) fn companies_of(people: &[Person]) -> Vec<&str> {
    let mut ids: Vec<&str> = people
        .iter()
        .filter_map(|person| person.company_external_id.as_deref())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Companies with what their documents tell of their people.
pub(super) async fn with_employees(
    snapshot: &mut Snapshot,
    companies: Vec<Arc<Company>>,
) -> Result<Vec<(Arc<Company>, Vec<Employee>)>, StoreError> {
    let ids: Vec<&str> = companies
        .iter()
        .map(|company| company.external_id.as_str())
        .collect();
    let mut employees = snapshot.employees(&ids).await?;
    Ok(companies
        .into_iter()
        .map(|company| {
            let people = employees.remove(&company.external_id).unwrap_or_default();
            (company, people)
        })
        .collect())
}
