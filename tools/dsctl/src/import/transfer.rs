//! Brings batches to the search service, several on their way at a time.
//!
//! The service answers batches in their order, each when it is durable. What is not answered is kept, and sent again on
//! a new connection if this one is lost: a batch that was stored all the same is found unchanged then. So an
//! interruption of any kind leaves whole batches behind, and the same import again completes them.

use std::collections::VecDeque;
use std::future::pending;
use std::time::Duration;

use proto::search::v1::ImportResponse;
use proto::search::v1::record_service_client::RecordServiceClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::progress::{Progress, grouped};
use super::reader::Batch;
use crate::connection::GrpcChannel;

/// Batches on their way at a time.
const WINDOW: usize = 8;
/// Attempts without an answer between them, before it is given up: half a minute, enough for a restart.
const ATTEMPTS: u32 = 8;
/// Pause before the second attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// What became of the records so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) stored: u64,
    pub(super) unchanged: u64,
    pub(super) deleted: u64,
    /// Rejected by the service.
    pub(super) rejected: u64,
    /// Highest position of the change feed that was told.
    pub(super) position: i64,
    answers: u64,
}

impl Tally {
    /// All records that were answered.
    pub(super) const fn records(&self) -> u64 {
        self.stored + self.unchanged + self.deleted + self.rejected
    }
}

/// Sends all batches. Fails if the service refuses, or can't be reached again and again.
pub(super) async fn run(
    channel: GrpcChannel,
    batches: &mut mpsc::Receiver<Batch>,
    tally: &mut Tally,
    progress: &Progress,
) -> Result<(), Status> {
    let mut unanswered = VecDeque::new();
    let mut attempts = 0;
    loop {
        let answers = tally.answers;
        let Err(status) = session(channel.clone(), batches, &mut unanswered, tally, progress).await else {
            return Ok(());
        };
        attempts = if tally.answers > answers { 1 } else { attempts + 1 };
        if !is_passing(&status) || attempts >= ATTEMPTS {
            return Err(status);
        }
        let pause = FIRST_PAUSE * 2_u32.pow(attempts - 1);
        progress.tell(&format!(
            "the connection to the search service was lost ({}); {} records are stored, trying again",
            status.message(),
            grouped(tally.records())
        ));
        tokio::time::sleep(pause).await;
    }
}

/// Sends what is unanswered, then what comes, until all is answered, on one connection.
async fn session(
    channel: GrpcChannel,
    batches: &mut mpsc::Receiver<Batch>,
    unanswered: &mut VecDeque<Batch>,
    tally: &mut Tally,
    progress: &Progress,
) -> Result<(), Status> {
    let (sender, requests) = mpsc::channel(WINDOW);
    let mut sender = Some(sender);
    let gone = || Status::unavailable("the stream was closed");
    for batch in unanswered.iter() {
        // Never more than the window: the channel takes them all at once.
        sender
            .as_ref()
            .and_then(|sender| sender.try_send(batch.request.clone()).ok())
            .ok_or_else(gone)?;
    }
    let mut client = RecordServiceClient::new(channel);
    let call = client.import(ReceiverStream::new(requests));
    tokio::pin!(call);
    let mut answers: Option<Streaming<ImportResponse>> = None;
    loop {
        // The service may begin to answer only when it has a batch: so the call and the batches go side by side.
        tokio::select! {
            begun = &mut call, if answers.is_none() => answers = Some(begun?.into_inner()),
            answer = next(&mut answers) => match answer? {
                Some(answer) => settle(&answer, unanswered, tally, progress)?,
                None if sender.is_none() && unanswered.is_empty() => return Ok(()),
                None => return Err(gone()),
            },
            batch = batches.recv(), if sender.is_some() && unanswered.len() < WINDOW => match (batch, &sender) {
                (Some(batch), Some(open)) => {
                    let request = batch.request.clone();
                    unanswered.push_back(batch);
                    if open.send(request).await.is_err() {
                        // The call has ended; why is what the answers tell next.
                        sender = None;
                    }
                }
                _ => sender = None,
            },
        }
    }
}

async fn next(answers: &mut Option<Streaming<ImportResponse>>) -> Result<Option<ImportResponse>, Status> {
    match answers {
        Some(answers) => answers.message().await,
        None => pending().await,
    }
}

/// Notes the answer to the oldest batch.
fn settle(
    answer: &ImportResponse,
    unanswered: &mut VecDeque<Batch>,
    tally: &mut Tally,
    progress: &Progress,
) -> Result<(), Status> {
    let batch = unanswered
        .pop_front()
        .ok_or_else(|| Status::internal("more answers than batches"))?;
    tally.stored += answer.stored;
    tally.unchanged += answer.unchanged;
    tally.deleted += answer.deleted;
    tally.rejected += answer.rejected.len() as u64;
    tally.position = tally.position.max(answer.position);
    tally.answers += 1;
    for rejected in &answer.rejected {
        progress.tell(&format!(
            "{}:{}: {}",
            batch.source,
            rejected.line,
            rejected.reasons.join("; ")
        ));
    }
    progress.advance(tally.records(), batch.bytes_read);
    Ok(())
}

/// Whether it may go better the next time.
fn is_passing(status: &Status) -> bool {
    // A connection that breaks is told as `Unknown` or `Internal` too, as the transport met it.
    let broken = matches!(status.code(), Code::Unknown | Code::Internal | Code::Cancelled)
        && std::error::Error::source(status).is_some();
    broken
        || matches!(
            status.code(),
            Code::Unavailable | Code::Aborted | Code::DeadlineExceeded
        )
}

#[cfg(test)]
mod tests;
