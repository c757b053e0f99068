//! Against a service that keeps what it is sent and breaks off when it is told to.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use futures::{Stream, StreamExt as _, stream};
use proto::search::v1::import_record::Change;
use proto::search::v1::record_service_server::{RecordService, RecordServiceServer};
use proto::search::v1::{
    DeletePerson, ImportRecord, ImportRequest, RejectedRecord, RevealEmailRequest, RevealEmailResponse,
};
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response};

use super::*;
use crate::connection::ServiceToken;

/// What is broken off, and after how many batches of a stream: one entry for each stream, then no more.
type Breaks = Vec<(usize, Option<Status>)>;

#[derive(Clone, Default)]
struct Service {
    breaks: Arc<Mutex<Breaks>>,
    /// Lines of the batches that were stored, in order.
    stored: Arc<Mutex<Vec<u64>>>,
}

#[tonic::async_trait]
impl RecordService for Service {
    type ImportStream = Pin<Box<dyn Stream<Item = Result<ImportResponse, Status>> + Send>>;

    async fn import(
        &self,
        request: Request<Streaming<ImportRequest>>,
    ) -> Result<Response<Self::ImportStream>, Status> {
        let breaks = self.breaks.lock().unwrap().pop();
        let state = (request.into_inner(), self.stored.clone(), 0, breaks);
        let answers = stream::unfold(state, |(mut batches, stored, count, breaks)| async move {
            if let Some((after, status)) = &breaks
                && count == *after
            {
                // Ended without a word, or with one.
                let status = status.clone()?;
                return Some((Err(status), (batches, stored, usize::MAX, None)));
            }
            let batch = batches.message().await.ok().flatten()?;
            let lines: Vec<u64> = batch.records.iter().map(|record| record.line).collect();
            stored.lock().unwrap().extend(&lines);
            let rejected = lines
                .iter()
                .filter(|line| **line == 5)
                .map(|line| RejectedRecord {
                    line: *line,
                    reasons: vec!["a rule".to_owned()],
                });
            let rejected: Vec<_> = rejected.collect();
            let answer = ImportResponse {
                stored: (lines.len() - rejected.len()) as u64,
                rejected,
                position: i64::try_from(lines[0]).unwrap(),
                ..ImportResponse::default()
            };
            Some((Ok(answer), (batches, stored, count.saturating_add(1), breaks)))
        });
        Ok(Response::new(answers.boxed()))
    }

    async fn reveal_email(
        &self,
        _: Request<RevealEmailRequest>,
    ) -> Result<Response<RevealEmailResponse>, Status> {
        Err(Status::unimplemented("not needed here"))
    }
}

/// Sends batches of one record each, lines 1 to `count`.
async fn send(count: u64, breaks: Breaks) -> (Result<(), Status>, Tally, Vec<u64>) {
    let service = Service {
        breaks: Arc::new(Mutex::new(breaks)),
        ..Service::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let incoming = stream::unfold(listener, |listener| async move {
        Some((
            listener.accept().await.map(|(connection, _)| connection),
            listener,
        ))
    });
    let server = Server::builder()
        .add_service(RecordServiceServer::new(service.clone()))
        .serve_with_incoming(incoming);
    let (sender, mut batches) = mpsc::channel(2);
    let reader = async {
        for line in 1..=count {
            let change = Some(Change::DeletePerson(DeletePerson {
                external_id: line.to_string(),
            }));
            let request = ImportRequest {
                records: vec![ImportRecord { line, change }],
            };
            if sender
                .send(Batch {
                    source: "test".into(),
                    request,
                    bytes_read: line,
                })
                .await
                .is_err()
            {
                break;
            }
        }
        drop(sender);
        pending::<()>().await;
    };
    let (mut tally, progress) = (Tally::default(), Progress::quiet());
    let channel = Endpoint::from_shared(address).unwrap().connect_lazy();
    let channel = InterceptedService::new(channel, ServiceToken::of("token").unwrap());
    let done = tokio::select! {
        done = run(channel, &mut batches, &mut tally, &progress) => done,
        () = reader => unreachable!("the reader waits for the end"),
        ended = server => panic!("the server ended: {ended:?}"),
    };
    let stored = service.stored.lock().unwrap().clone();
    (done, tally, stored)
}

#[tokio::test]
async fn all_batches_are_answered_in_order() {
    let (done, tally, stored) = send(50, Vec::new()).await;
    done.unwrap();
    assert_eq!(stored, (1..=50).collect::<Vec<_>>());
    assert_eq!(
        (tally.stored, tally.rejected, tally.position, tally.records()),
        (49, 1, 50, 50)
    );
}

#[tokio::test]
async fn nothing_to_send_is_done() {
    let (done, tally, stored) = send(0, Vec::new()).await;
    done.unwrap();
    assert_eq!((tally, stored), (Tally::default(), Vec::new()));
}

#[tokio::test]
async fn what_was_not_answered_is_sent_again_after_a_break() {
    let breaks = vec![(7, None), (3, Some(Status::unavailable("restarting")))];
    let (done, tally, stored) = send(50, breaks).await;
    done.unwrap();
    assert_eq!(tally.records(), 50);
    // Whatever arrived twice, each arrived, and none before its turn.
    let mut distinct = stored.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct, (1..=50).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_refusal_is_not_tried_again() {
    let (done, tally, _) = send(50, vec![(2, Some(Status::permission_denied("no")))]).await;
    assert_eq!(done.unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(tally.records(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_away_is_given_up_in_the_end() {
    let breaks = vec![(0, Some(Status::unavailable("away"))); 20];
    let (done, tally, _) = send(50, breaks).await;
    assert_eq!(done.unwrap_err().code(), Code::Unavailable);
    assert_eq!(tally.records(), 0);
}
