//! Changing the records: imports and reveals.
//!
//! What has been begun runs to its end in a task of its own: a caller that leaves in the middle of a stream takes back
//! nothing and leaves nothing half done. Each batch is one transaction, answered when it is durable; a batch that was
//! not answered is in as a whole or not at all, and repeating it is safe.

use proto::account::AccountId;
use proto::search::v1::{ImportRecord, ImportResponse};
use proto::violation::{Violation, ViolationCode};
use runtime::ambient::Ambient;
use runtime::shutdown::Shutdown;
use uuid::Uuid;

use crate::background;
use crate::error::SearchError;
use crate::import::{self, MAX_BATCH};
use crate::store::Store;
use crate::store::reveals::Reveal;

/// Changes the records. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// Where they are.
    pub store: Store,
    /// Time and ids.
    pub ambient: Ambient,
    /// What its tasks are tracked by.
    pub shutdown: Shutdown,
}

impl Recorder {
    /// Writes a batch: those that break no rule, as a whole or not at all.
    pub async fn import(&self, records: Vec<ImportRecord>) -> Result<ImportResponse, SearchError> {
        if records.len() > MAX_BATCH {
            let message = format!("has {} items, more than {MAX_BATCH}", records.len());
            return Err(SearchError::Invalid(vec![Violation::at(
                "records",
                ViolationCode::TooBig,
                message,
            )]));
        }
        let (store, ambient) = (self.store.clone(), self.ambient.clone());
        let work = async move {
            let of_batch = ambient.clone();
            // Thousands of records take a thread for longer than most searches.
            let read = background::start(move || import::read(records, &of_batch));
            let (batch, rejected) = read.await?;
            let written = store.write(&batch, ambient.now()).await?;
            Ok(ImportResponse {
                stored: written.stored,
                unchanged: written.unchanged,
                deleted: written.deleted,
                rejected,
                position: written.position,
            })
        };
        self.shutdown.spawn(work).await?
    }

    /// Notes that the account has revealed the person's address.
    pub async fn reveal(&self, account: AccountId, person: Uuid) -> Result<Reveal, SearchError> {
        let (store, now) = (self.store.clone(), self.ambient.now());
        let work = async move { store.reveal(&account, person, now).await };
        self.shutdown.spawn(work).await??.ok_or(SearchError::NoSuchPerson)
    }
}
