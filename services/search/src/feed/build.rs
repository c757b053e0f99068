//! Filling a new index with all records, as they are in one snapshot.

use std::sync::Arc;

use runtime::shutdown::Shutdown;
use uuid::Uuid;

use super::FeedError;
use super::records::{
    COMPANIES_AT_ONCE, PEOPLE_AT_ONCE, Records, Target, Writer, companies_of, load_companies, with_employees,
};
use crate::engine::Rebuild;
use crate::store::Store;
use crate::store::snapshot::Snapshot;

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
    target.commit(position).await
}

/// Reads all records and has them written.
async fn read(snapshot: &mut Snapshot, writer: &mut Writer, shutdown: &Shutdown) -> Result<(), FeedError> {
    let mut last: Option<Uuid> = None;
    loop {
        let page = snapshot.companies_page(last, limit(COMPANIES_AT_ONCE)).await?;
        let Some(company) = page.last() else { break };
        last = Some(company.id);
        let companies = page.into_iter().map(Arc::new).collect();
        let records = Records {
            companies: with_employees(snapshot, companies).await?,
            ..Records::default()
        };
        write(writer, records, shutdown).await?;
    }
    last = None;
    loop {
        let page = snapshot.people_page(last, limit(PEOPLE_AT_ONCE)).await?;
        let Some(person) = page.last() else { break };
        last = Some(person.id);
        let companies = load_companies(snapshot, &companies_of(&page)).await?;
        let mut records = Records::default();
        records.add_people(page, &companies);
        write(writer, records, shutdown).await?;
    }
    Ok(())
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
