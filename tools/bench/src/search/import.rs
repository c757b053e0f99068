//! Records into the search service, over several streams at once.

use std::sync::Arc;
use std::time::Duration;

use proto::search::v1::import_record::Change;
use proto::search::v1::{DeleteCompany, DeletePerson, ImportRecord, ImportRequest};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;

use super::data::Data;
use super::ours::{Kind, Ours};
use super::progress::Progress;
use crate::BoxError;

/// How records are sent.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) streams: u64,
    /// Records a batch.
    pub(super) batch: u64,
    /// People in random order, rather than company by company.
    pub(super) shuffled: bool,
}

/// What to do with the records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Put,
    Delete,
}

/// What was done.
pub(super) struct Imported {
    pub(super) records: u64,
    /// Until the last batch was durable.
    pub(super) time: Duration,
    /// The change feed's position then.
    pub(super) position: i64,
}

/// Sends all of the data: companies, then people.
pub(super) async fn import(
    ours: &Ours,
    data: &Arc<Data>,
    manner: Manner,
    deed: Deed,
) -> Result<Imported, BoxError> {
    let records = data.companies() + data.people();
    let progress = Arc::new(Progress::new("importing", records));
    let mut position = 0;
    for kind in [Kind::Companies, Kind::People] {
        let mut streams = JoinSet::new();
        for number in 0..manner.streams {
            let part = Part {
                data: Arc::clone(data),
                kind,
                number,
                manner,
                deed,
            };
            streams.spawn(stream(ours.clone(), part, Arc::clone(&progress)));
        }
        while let Some(reached) = streams.join_next().await {
            position = position.max(reached??);
        }
    }
    Ok(Imported {
        records,
        time: progress.elapsed(),
        position,
    })
}

/// What one stream sends: each `streams`-th batch.
struct Part {
    data: Arc<Data>,
    kind: Kind,
    number: u64,
    manner: Manner,
    deed: Deed,
}

async fn stream(ours: Ours, part: Part, progress: Arc<Progress>) -> Result<i64, BoxError> {
    let (sender, batches) = mpsc::channel(2);
    let made = tokio::task::spawn_blocking(move || part.make(&sender));
    let request = ours.request(ReceiverStream::new(batches));
    let mut answers = ours.records().import(request).await?.into_inner();
    let mut position = 0;
    while let Some(answer) = answers.message().await? {
        if let Some(rejected) = answer.rejected.first() {
            return Err(format!("record {}: {}", rejected.line, rejected.reasons.join("; ")).into());
        }
        progress.add(answer.stored + answer.unchanged + answer.deleted);
        position = position.max(answer.position);
    }
    made.await?;
    Ok(position)
}

impl Part {
    /// Makes the batches, until all are sent or nobody takes them any more.
    fn make(&self, batches: &mpsc::Sender<ImportRequest>) {
        let total = match self.kind {
            Kind::Companies => self.data.companies(),
            Kind::People => self.data.people(),
        };
        let Manner { streams, batch, .. } = self.manner;
        for start in (0..total)
            .skip(as_usize(self.number * batch))
            .step_by(as_usize(streams * batch))
        {
            let records = (start..(start + batch).min(total))
                .map(|number| self.record(number))
                .collect();
            if batches.blocking_send(ImportRequest { records }).is_err() {
                return;
            }
        }
    }

    fn record(&self, number: u64) -> ImportRecord {
        let data = &self.data;
        let change = match (self.kind, self.deed) {
            (Kind::Companies, Deed::Put) => Change::Company(data.company(number)),
            (Kind::Companies, Deed::Delete) => Change::DeleteCompany(DeleteCompany {
                external_id: data.company_id(number),
            }),
            (Kind::People, Deed::Put) => Change::Person(data.person(self.person(number))),
            (Kind::People, Deed::Delete) => Change::DeletePerson(DeletePerson {
                external_id: data.person_id(number),
            }),
        };
        ImportRecord {
            line: number + 1,
            change: Some(change),
        }
    }

    /// The person at this place of the source.
    fn person(&self, place: u64) -> u64 {
        // A large prime: it divides no number of people that fits on a disk.
        const STEP: u128 = 2_147_483_647;
        if !self.manner.shuffled {
            return place;
        }
        let people = u128::from(self.data.people());
        u64::try_from(u128::from(place) * STEP % people).unwrap_or(place)
    }
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
