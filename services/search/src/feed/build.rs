//! Filling a new index with all records, as they are in one snapshot: each record is read once.
//!
//! First company by company, each with its people, from whom both their own documents and the company's are made; then
//! the people who have no company, or none that is there.

use std::collections::HashMap;
use std::sync::Arc;

use futures::TryStreamExt as _;
use runtime::shutdown::Shutdown;
use uuid::Uuid;

use super::FeedError;
use super::records::{COMPANIES_AT_ONCE, Companies, PEOPLE_AT_ONCE, Records, Target, Writer, by_external_id};
use crate::engine::{Merging, Rebuild};
use crate::store::Store;
use crate::store::snapshot::Snapshot;
use crate::workforce::Workforce;

/// Fills the new index and commits the snapshot's position: from there it can follow the feed.
pub(super) async fn fill(
    store: &Store,
    rebuild: &Arc<Rebuild>,
    shutdown: &Shutdown,
) -> Result<(), FeedError> {
    let mut snapshot = store.snapshot().await?;
    let position = snapshot.feed().await?.position;
    let target = Target::Empty(Arc::clone(rebuild));
    let mut writer = target.writer();
    let read = read(&mut snapshot, &mut writer, shutdown).await;
    writer.finish().await?;
    read?;
    drop(snapshot);
    target.commit(position, Merging::AsItGrows).await
}

/// Reads all records and has them written.
async fn read(snapshot: &mut Snapshot, writer: &mut Writer, shutdown: &Shutdown) -> Result<(), FeedError> {
    let mut last: Option<Uuid> = None;
    loop {
        let page = snapshot.companies_page(last, limit(COMPANIES_AT_ONCE)).await?;
        let Some(company) = page.last() else { break };
        last = Some(company.id);
        with_people(snapshot, writer, by_external_id(page), shutdown).await?;
    }
    snapshot.find_people_alone().await?;
    loop {
        let people = snapshot.next_people_alone(PEOPLE_AT_ONCE).await?;
        if people.is_empty() {
            return Ok(());
        }
        let mut records = Records::default();
        records.add_people(people, &Companies::new());
        write(writer, records, shutdown).await?;
    }
}

/// Has these companies and all their people written.
async fn with_people(
    snapshot: &mut Snapshot,
    writer: &mut Writer,
    companies: Companies,
    shutdown: &Shutdown,
) -> Result<(), FeedError> {
    let ids: Vec<&str> = companies.keys().map(String::as_str).collect();
    let mut workforces: HashMap<&str, Workforce> = HashMap::new();
    let people = snapshot.people_of(&ids).try_chunks(PEOPLE_AT_ONCE);
    let mut people = std::pin::pin!(people.map_err(|chunk| chunk.1));
    while let Some(some) = people.try_next().await? {
        for person in &some {
            let company = person.company_external_id.as_ref();
            if let Some((id, _)) = company.and_then(|id| companies.get_key_value(id)) {
                let workforce = workforces.entry(id).or_default();
                workforce.add(person.job_title.as_ref(), &person.place);
            }
        }
        let mut records = Records::default();
        records.add_people(some, &companies);
        write(writer, records, shutdown).await?;
    }
    let told = companies.iter().map(|(id, company)| {
        let workforce = workforces.remove(id.as_str()).unwrap_or_default();
        (Arc::clone(company), workforce.employees(id))
    });
    let records = Records {
        companies: told.collect(),
        ..Records::default()
    };
    write(writer, records, shutdown).await
}

async fn write(writer: &mut Writer, records: Records, shutdown: &Shutdown) -> Result<(), FeedError> {
    if shutdown.is_draining() {
        return Err(FeedError::Draining);
    }
    writer.write(records).await
}

fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
