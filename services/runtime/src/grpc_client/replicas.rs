//! The replicas of a service, called as one.
//!
//! What has to go well, and how:
//!
//! - **A replica ends in good order.** It finishes the calls it has taken and takes no more. A call that it has not taken
//!   goes to another replica at once, without its caller's doing: the connection tells which ones these are
//!   ([`NotTaken`]). All others are the caller's to repeat or not, since they may have been done; of a call for which no
//!   connection could be had, the caller is told that it was not ([`Unreached`]).
//! - **A replica can't answer this call yet, and another one may.** It says so in its refusal ([`rpc::NOT_TAKEN`]), and the
//!   call goes on to the others; the refusal is told if all refuse. It is called as before: it may answer everything else.
//! - **A replica dies, or can't be reached, or says that it is not available.** It is left alone for a moment, for longer
//!   each time; then one call tries it while all others still go elsewhere. If none is left, the one that is due first is
//!   tried: the next call finds out that a service is back.
//! - **A replica hangs.** A call goes where fewest wait for their answers, so that one which does not answer is soon the
//!   last choice; its connection is cut once it answers no ping.
//! - **Replicas come and go.** Names are resolved again every few seconds, and sooner when a replica can't be reached.
//!   A resolver that fails changes nothing: the replicas that were known are called.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{Notify, watch};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, ConnectError, Status};
use tower::{Service, ServiceExt as _, service_fn};

use super::address::ServiceAddress;
use crate::process::{BoxError, with_causes};
use crate::rpc;

/// Time between two looks at what a name stands for, and the least of it when a replica could not be reached.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Longest wait for the resolver, and for a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a replica is left alone that could not be reached: at first, doubled each time, and at most.
const LEAVE_ALONE: Duration = Duration::from_millis(50);
const LEAVE_ALONE_AT_MOST: Duration = Duration::from_secs(2);

/// How often a call is sent at most. A replica that can't be reached is tried once; one whose connection has just ended
/// may be tried again, by a new one.
const MAX_ATTEMPTS: usize = 6;

const KNOWN: &str = "grpc_client_replicas";
const CALLS_NOT_TAKEN: &str = "grpc_client_calls_not_taken_total";

/// What the metrics mean.
pub(super) fn describe() {
    metrics::describe_gauge!(KNOWN, "Addresses of a service that calls go to.");
    metrics::describe_counter!(
        CALLS_NOT_TAKEN,
        "Calls that a replica did not take and that went to another one."
    );
}

/// The replicas of a service. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct Replicas {
    shared: Arc<Shared>,
}

struct Shared {
    service: &'static str,
    known: watch::Sender<Arc<[Arc<Replica>]>>,
    /// Where the search for the replica with the fewest calls begins, so that equals take turns.
    turn: AtomicUsize,
    /// Told when a replica could not be reached.
    unreachable: Notify,
}

impl Replicas {
    /// No replicas yet: [`Replicas::keep_looking`] finds them.
    pub(super) fn new(service: &'static str) -> Self {
        let shared = Shared {
            service,
            known: watch::Sender::new(Arc::new([])),
            turn: AtomicUsize::new(0),
            unreachable: Notify::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Finds the replicas at these addresses, and finds them again and again. Never returns.
    pub(super) async fn keep_looking(self, origins: Vec<(ServiceAddress, Endpoint)>) {
        loop {
            let mut found = Vec::new();
            for (origin, endpoint) in &origins {
                found.extend(self.shared.look(origin, endpoint).await);
            }
            self.shared.now_known(found);
            let unreachable = async {
                tokio::time::sleep(LOOK_AGAIN).await;
                self.shared.unreachable.notified().await;
            };
            let _ = tokio::time::timeout(LOOK_EVERY, unreachable).await;
        }
    }
}

impl Shared {
    /// The replicas at an address now; those that were known stay the same.
    async fn look(&self, origin: &ServiceAddress, endpoint: &Endpoint) -> Vec<Arc<Replica>> {
        let known = Arc::clone(&self.known.borrow());
        let known = known.iter().filter(|replica| replica.origin == *origin.uri());
        let resolved = match tokio::time::timeout(PATIENCE, lookup_host(origin.name())).await {
            Ok(Ok(addresses)) => addresses.collect::<Vec<_>>(),
            Ok(Err(error)) => {
                tracing::warn!(service = self.service, origin = %origin.uri(), %error, "a name can't be resolved");
                return known.cloned().collect();
            }
            Err(_) => {
                tracing::warn!(service = self.service, origin = %origin.uri(), "the resolver does not answer");
                return known.cloned().collect();
            }
        };
        let known = known.collect::<Vec<_>>();
        let replica = |address: SocketAddr| {
            let same = known.iter().find(|replica| replica.address == address);
            same.map_or_else(
                || Arc::new(Replica::new(origin.uri().clone(), address, endpoint)),
                |&replica| Arc::clone(replica),
            )
        };
        let mut addresses = resolved;
        addresses.sort_unstable();
        addresses.dedup();
        addresses.into_iter().map(replica).collect()
    }

    fn now_known(&self, found: Vec<Arc<Replica>>) {
        #[expect(clippy::cast_precision_loss, reason = "there are no 2^52 replicas")]
        metrics::gauge!(KNOWN, "service" => self.service).set(found.len() as f64);
        self.known.send_if_modified(|known| {
            let is_same = known.len() == found.len()
                && known
                    .iter()
                    .zip(&found)
                    .all(|(known, found)| Arc::ptr_eq(known, found));
            if !is_same {
                *known = found.into();
            }
            !is_same
        });
    }

    /// The replicas that are known; at the start, once some are.
    async fn replicas(&self) -> Result<Arc<[Arc<Replica>]>, BoxError> {
        let known = Arc::clone(&self.known.borrow());
        if !known.is_empty() {
            return Ok(known);
        }
        let mut changes = self.known.subscribe();
        let some = changes.wait_for(|known| !known.is_empty());
        match tokio::time::timeout(PATIENCE, some).await {
            Ok(Ok(known)) => Ok(Arc::clone(&known)),
            _ => Err(self.unreached(format!("no replica of {} is known", self.service).into())),
        }
    }

    fn unreached(&self, cause: BoxError) -> BoxError {
        Unreached::new(self.service, cause).into()
    }

    /// Where a call goes that these have not taken.
    fn choose(&self, replicas: &[Arc<Replica>], asked: &[Arc<Replica>]) -> Option<Arc<Replica>> {
        let (now, turn) = (Instant::now(), self.turn.fetch_add(1, Ordering::Relaxed));
        let (later, sooner) = replicas.split_at(turn % replicas.len().max(1));
        let others = || {
            let in_turn = sooner.iter().chain(later);
            in_turn.filter(|replica| !asked.iter().any(|other| Arc::ptr_eq(other, replica)))
        };
        let chosen = others()
            .filter(|replica| replica.standing().is_due(now))
            .min_by_key(|replica| replica.waiting.load(Ordering::Relaxed))
            .or_else(|| others().min_by_key(|replica| replica.standing().due_at))?;
        chosen.standing().tried(now);
        Some(Arc::clone(chosen))
    }

    async fn call(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let replicas = self.replicas().await?;
        let (parts, body) = request.into_parts();
        // Whole, to be sent again: what is streamed to a service goes by a connection of its own.
        let body = body.collect().await?.to_bytes();
        // Those that need not be asked again, and what one of them has answered.
        let (mut asked, mut refusal) = (Vec::new(), None);
        let mut is_unsent = true;
        let mut failure = BoxError::from(format!("no replica of {} is known", self.service));
        for _ in 0..MAX_ATTEMPTS {
            let Some(replica) = self.choose(&replicas, &asked) else {
                break;
            };
            let body = Body::new(Full::new(body.clone()));
            let error = match replica.call(Request::from_parts(parts.clone(), body)).await {
                Ok(response) => {
                    if !response.headers().contains_key(rpc::NOT_TAKEN) {
                        replica.standing().has_answered(rpc::code_of(&response));
                        return Ok(response);
                    }
                    replica.standing().answered();
                    metrics::counter!(CALLS_NOT_TAKEN, "service" => self.service).increment(1);
                    refusal = Some(response);
                    asked.push(replica);
                    continue;
                }
                Err(error) => error,
            };
            let Some(why) = NotTaken::of(&error) else {
                return Err(error.into());
            };
            metrics::counter!(CALLS_NOT_TAKEN, "service" => self.service).increment(1);
            tracing::debug!(
                service = self.service,
                replica = %replica.address,
                error = %with_causes(&error),
                "a replica has not taken a call",
            );
            failure = error.into();
            if why == NotTaken::Unreachable {
                replica.standing().failed(Instant::now());
                self.unreachable.notify_one();
                asked.push(replica);
            } else {
                is_unsent = false;
            }
        }
        if let Some(refusal) = refusal {
            return Ok(refusal);
        }
        Err(if is_unsent {
            self.unreached(failure)
        } else {
            failure
        })
    }
}

/// No replica could be connected to: nothing of the call has left this process.
///
/// A replica that refuses a call on a connection that it has promises not to have begun it; this is more, and asks nobody to
/// be believed.
#[derive(Debug, thiserror::Error)]
#[error("no replica of {service} can be reached")]
pub struct Unreached {
    service: &'static str,
    source: ConnectError,
}

impl Unreached {
    /// The service with this name, and why it can't be connected to.
    #[must_use]
    pub fn new(service: &'static str, cause: BoxError) -> Self {
        // By this the call is told to be `UNAVAILABLE`.
        let source = ConnectError(cause);
        Self { service, source }
    }

    /// Whether this is why a call failed.
    #[must_use]
    pub fn is_why(status: &Status) -> bool {
        let mut cause = std::error::Error::source(status);
        while let Some(error) = cause {
            if error.is::<Self>() {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

/// Why nobody has begun to do what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotTaken {
    /// There is no connection.
    Unreachable,
    /// The connection has ended, or is full, and names this request as one that it has not taken.
    Refused,
}

impl NotTaken {
    /// None if what was asked for may have been begun.
    fn of(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if error.is::<ConnectError>() {
                return Some(Self::Unreachable);
            }
            // The connection was closed before the request was sent on it.
            if error
                .downcast_ref::<hyper::Error>()
                .is_some_and(hyper::Error::is_canceled)
            {
                return Some(Self::Refused);
            }
            // The other side names the last request that it takes, and this one came behind it.
            if let Some(error) = error.downcast_ref::<h2::Error>()
                && error.is_remote()
                && (error.reason() == Some(h2::Reason::REFUSED_STREAM)
                    || error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR))
            {
                return Some(Self::Refused);
            }
            cause = error.source();
        }
        None
    }
}

struct Replica {
    origin: Uri,
    address: SocketAddr,
    channel: Channel,
    /// Calls that wait for their answers.
    waiting: AtomicUsize,
    standing: Mutex<Standing>,
}

impl Replica {
    fn new(origin: Uri, address: SocketAddr, endpoint: &Endpoint) -> Self {
        let connect = service_fn(move |_: Uri| async move {
            let stream = tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await??;
            stream.set_nodelay(true)?;
            Ok::<_, std::io::Error>(TokioIo::new(stream))
        });
        Self {
            origin,
            address,
            channel: endpoint.connect_with_connector_lazy(connect),
            waiting: AtomicUsize::new(0),
            standing: Mutex::new(Standing::new(Instant::now())),
        }
    }

    fn standing(&self) -> std::sync::MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(&self, request: Request<Body>) -> Result<Response<Body>, tonic::transport::Error> {
        let _waiting = WaitingCall::begin(&self.waiting);
        self.channel.clone().oneshot(request).await
    }
}

/// Counts a call for as long as it waits, whatever ends it.
struct WaitingCall<'a>(&'a AtomicUsize);

impl<'a> WaitingCall<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a replica is to be called.
#[derive(Debug)]
struct Standing {
    /// Calls in a row that it was not there for.
    failures: u32,
    /// When it may be called again.
    due_at: Instant,
}

impl Standing {
    fn new(now: Instant) -> Self {
        Self {
            failures: 0,
            due_at: now,
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.failures == 0 || self.due_at <= now
    }

    /// A call goes to it. If it has failed before, no other one does until this one has found out.
    fn tried(&mut self, now: Instant) {
        if self.failures > 0 {
            self.due_at = now + self.pause();
        }
    }

    fn answered(&mut self) {
        self.failures = 0;
    }

    /// That it is not available is for its caller to know, who may call again; not at once here.
    fn has_answered(&mut self, code: Code) {
        match code {
            Code::Unavailable => self.failed(Instant::now()),
            _ => self.answered(),
        }
    }

    fn failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.due_at = now + self.pause();
    }

    fn pause(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(16);
        (LEAVE_ALONE * (1 << doublings)).min(LEAVE_ALONE_AT_MOST)
    }
}

impl Service<Request<Body>> for Replicas {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.call(request).await })
    }
}

#[cfg(test)]
mod tests;
