//! Records on their way into the index.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::JoinHandle;
use uuid::Uuid;

use super::FeedError;
use crate::document::{Change, Document};
use crate::documents::{self, Employer};
use crate::engine::{Index, IndexError, Rebuild};
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

/// Writes to a target: each piece of work beside the reading for the next one.
pub(super) struct Writer {
    target: Target,
    running: Option<JoinHandle<Result<(), IndexError>>>,
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
    pub(super) fn documents(&self) -> impl Iterator<Item = Document> {
        let companies = self
            .companies
            .iter()
            .map(|(company, people)| documents::company(company, people));
        let mut employers: HashMap<Uuid, Employer<'_>> = HashMap::new();
        let people = self.people.iter().map(move |(person, company)| {
            let employer = company.as_deref().map(|company| {
                let employer = employers.entry(company.id);
                &*employer.or_insert_with(|| Employer::new(company))
            });
            documents::person(person, employer)
        });
        companies.chain(people)
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
    /// Has the documents of these records written, without committing them, when those before are.
    pub(super) async fn write(&mut self, records: Records) -> Result<(), FeedError> {
        self.finish().await?;
        let target = self.target.clone();
        self.running = Some(tokio::task::spawn_blocking(move || target.write(&records)));
        Ok(())
    }

    /// Waits until all is written. Whoever goes on with the index has to, also behind an error.
    pub(super) async fn finish(&mut self) -> Result<(), FeedError> {
        match self.running.take() {
            Some(running) => Ok(running.await??),
            None => Ok(()),
        }
    }
}

impl Target {
    /// What writes to it.
    pub(super) fn writer(&self) -> Writer {
        Writer {
            target: self.clone(),
            running: None,
        }
    }

    fn write(&self, records: &Records) -> Result<(), IndexError> {
        let changes = || {
            let gone = records.gone.iter().map(|(kind, id)| Change::Delete(*kind, *id));
            let puts = records
                .documents()
                .map(|document| Change::Put(Box::new(document)));
            gone.chain(puts).collect::<Vec<_>>()
        };
        match self {
            Self::Serving(index) => index.write(&changes()),
            Self::Rebuild(rebuild) => rebuild.write(&changes()),
            Self::Empty(rebuild) => rebuild.fill(&records.documents().collect::<Vec<_>>()),
        }
    }

    /// Commits what was written, and the position.
    pub(super) async fn commit(&self, position: i64) -> Result<(), FeedError> {
        let target = self.clone();
        let work = move || match target {
            Self::Serving(index) => index.commit(position),
            Self::Rebuild(rebuild) | Self::Empty(rebuild) => rebuild.commit(position),
        };
        Ok(tokio::task::spawn_blocking(work).await??)
    }
}

/// The companies with these external ids.
pub(super) async fn load_companies(
    snapshot: &mut Snapshot,
    external_ids: &[&str],
) -> Result<Companies, StoreError> {
    let mut companies = Companies::with_capacity(external_ids.len());
    if !external_ids.is_empty() {
        for company in snapshot.companies(external_ids).await? {
            companies.insert(company.external_id.clone(), Arc::new(company));
        }
    }
    Ok(companies)
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
