//! `search.v1.RecordService`.

use std::pin::Pin;
use std::time::Duration;

use futures::Stream;
use proto::search::v1::record_service_server::RecordService;
use proto::search::v1::{ImportRequest, ImportResponse, RevealEmailRequest, RevealEmailResponse};
use proto::violation::{Violation, ViolationCode};
use tonic::{Request, Response, Status, Streaming};
use uuid::Uuid;

use super::{read_account, timestamp};
use crate::error::SearchError;
use crate::pacing::SearchTime;
use crate::recording::Recorder;

/// The methods.
pub struct RecordApi {
    /// What does the work.
    pub recorder: Recorder,
    /// What imports leave time to.
    pub search_time: SearchTime,
}

/// Answers to a stream of batches, in their order.
type Answers = Pin<Box<dyn Stream<Item = Result<ImportResponse, Status>> + Send>>;

#[tonic::async_trait]
impl RecordService for RecordApi {
    type ImportStream = Answers;

    async fn import(&self, request: Request<Streaming<ImportRequest>>) -> Result<Response<Answers>, Status> {
        let batches = Batches {
            incoming: request.into_inner(),
            recorder: self.recorder.clone(),
            search_time: self.search_time.clone(),
            pause: Duration::ZERO,
        };
        // The next batch is taken when the answer to the one before has been: a slow reader slows the writer.
        let answers = futures::stream::try_unfold(batches, async |mut batches| {
            let answer = batches.next().await?;
            Ok(answer.map(|answer| (answer, batches)))
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn reveal_email(
        &self,
        request: Request<RevealEmailRequest>,
    ) -> Result<Response<RevealEmailResponse>, Status> {
        let request = request.into_inner();
        let (account, person) = match (read_account(&request.account_id), read_person(&request.person_id)) {
            (Ok(account), Ok(person)) => (account, person),
            (account, person) => {
                let violations = account.err().into_iter().chain(person.err()).collect();
                return Err(SearchError::Invalid(violations).into());
            }
        };
        let reveal = self.recorder.reveal(account, person).await?;
        Ok(Response::new(RevealEmailResponse {
            email: reveal.email,
            revealed_at: Some(timestamp(reveal.revealed_at)),
        }))
    }
}

/// A stream of batches, and what writes them.
struct Batches {
    incoming: Streaming<ImportRequest>,
    recorder: Recorder,
    search_time: SearchTime,
    /// How long to wait before the next batch.
    pause: Duration,
}

impl Batches {
    /// Writes the next batch; none at the end of the stream.
    async fn next(&mut self) -> Result<Option<ImportResponse>, Status> {
        let shutdown = self.recorder.shutdown.clone();
        let next = async {
            tokio::time::sleep(self.pause).await;
            self.incoming.message().await
        };
        let batch = tokio::select! {
            biased;
            () = shutdown.draining() => return Err(SearchError::Draining.into()),
            batch = next => batch?,
        };
        let Some(batch) = batch else { return Ok(None) };
        let before = self.search_time.so_far();
        let answer = self.recorder.import(batch.records).await?;
        self.pause = self.search_time.so_far().saturating_sub(before);
        Ok(Some(answer))
    }
}

fn read_person(id: &str) -> Result<Uuid, Violation> {
    Uuid::try_parse(id).map_err(|_| Violation::at("personId", ViolationCode::InvalidFormat, "is no UUID"))
}
