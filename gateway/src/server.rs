//! The public listener: HTTP/1.1 and HTTP/2 without TLS (which ends before the gateway), bounded in what one client can
//! hold on to, and ended without a lost request.
//!
//! - **Connections** are bounded in number ([`ConnectionLimits::max_connections`]). Where there are as many, a new one
//!   takes the place of the one on which nothing has been asked for longest. They are not bounded for each client:
//!   behind a proxy all clients have one address, and who only holds on to connections is in nobody's way.
//! - **Time** is bounded for everything that a client has to do (`activity.rs`).
//! - **Memory** of a connection is bounded by the constants here: a head, a window of HTTP/2, the answers under way.
//!   Floods of frames that cost us work (resets, pings, settings, continuations, empty data) end their connection:
//!   h2 counts them, and reads no further than its answers are taken.
//!
//! When the process drains, the listener is closed, idle connections are closed, and busy ones once what runs on them
//! is answered.

mod activity;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use axum::Router;
use futures::FutureExt as _;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use runtime::ambient::Ambient;
use runtime::process::max_open_files;
use runtime::shutdown::Shutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tokio_util::io::InspectReader;

use self::activity::Activity;
use crate::auth::client_address::Peer;
use crate::head_refusals::HeadRefusals;
use crate::waiting::Waiting;

/// Most headers of a request.
pub(crate) const MAX_HEADERS: usize = 100;

/// Most bytes of a request's head.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Most bytes of a head that HTTP/2 takes in, to be refused in words.
const MAX_HEAD_BYTES_READ: u32 = 256 * 1024;

/// Most requests at once on one HTTP/2 connection.
const MAX_STREAMS: u32 = 200;

/// Most bytes of bodies that an HTTP/2 connection, and one request on it, may send before they are read.
const CONNECTION_WINDOW: u32 = 256 * 1024;
const STREAM_WINDOW: u32 = 128 * 1024;

/// Most bytes of an answer that HTTP/2 takes from us before they are sent.
const SEND_BUFFER: usize = 64 * 1024;

/// Silence after which an HTTP/2 client is asked if it is still there, and longest wait for its answer.
const PING_EVERY: Duration = Duration::from_secs(20);

/// Pause after a failure to accept, which is out of file descriptors mostly.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Longest wait for a connection that is to give way, until another is to.
const MAKING_ROOM: Duration = Duration::from_millis(100);

/// How soon a connection that is busy is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Files that the process opens for other things than its callers' connections.
const OTHER_FILES: usize = 100;

/// Bounds of connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Most at once.
    pub max_connections: usize,
    /// How long clients may take.
    pub timeouts: Timeouts,
}

/// How long clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// To send a head, from its first byte on (HTTP/1.1).
    pub head: Duration,
    /// To ask something.
    pub idle: Duration,
    /// To take an answer.
    pub answer: Duration,
}

/// Serves until the process drains.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    ambient: &Ambient,
    shutdown: &Shutdown,
) {
    let connections = Arc::new(Connections {
        builder: builder(shutdown),
        router,
        timeouts: limits.timeouts,
        idle: Waiting::default(),
        ambient: ambient.clone(),
        shutdown: shutdown.clone(),
    });
    let permits = Arc::new(Semaphore::new(most_connections(limits)));
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    metrics::gauge!(crate::meters::CONNECTIONS).increment(1);
                    // Answers are written whole: there is nothing to collect.
                    let _ = stream.set_nodelay(true);
                    let permit = make_room(&permits, &connections.idle).await;
                    let connection = Arc::clone(&connections).serve(stream, Peer(address.ip()), permit);
                    shutdown.spawn(connection);
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection can't be accepted");
                    connections.idle.end_longest();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        () = accept => {}
        () = shutdown.draining() => {}
    }
}

/// As many as are set, if the process may open that many files.
fn most_connections(limits: ConnectionLimits) -> usize {
    let possible = max_open_files().saturating_sub(OTHER_FILES).max(1);
    if possible < limits.max_connections {
        tracing::warn!(
            max_connections = limits.max_connections,
            possible,
            "the limit of open files (ulimit -n) does not allow for max_connections"
        );
    }
    limits.max_connections.min(possible)
}

/// Waits for room for one connection more; one on which nothing is asked makes it.
async fn make_room(permits: &Arc<Semaphore>, idle: &Waiting) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
            return Some(permit);
        }
        if idle.end_longest() {
            metrics::counter!(crate::meters::CONNECTIONS_DISPLACED).increment(1);
        }
        let room = Arc::clone(permits).acquire_owned();
        if let Ok(room) = tokio::time::timeout(MAKING_ROOM, room).await {
            // The semaphore is never closed.
            return room.ok();
        }
    }
}

fn builder(shutdown: &Shutdown) -> auto::Builder<TaskExecutor> {
    let mut builder = auto::Builder::new(TaskExecutor(shutdown.clone()));
    builder
        .http1()
        .timer(TokioTimer::new())
        // It would count from the end of the request before; a connection's activity tells both apart.
        .header_read_timeout(None)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES_READ)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_EVERY);
    builder
}

/// Why a connection is to end.
enum End {
    TimeIsUp,
    GivesWay,
    Drains,
}

/// What all connections have in common.
struct Connections {
    builder: auto::Builder<TaskExecutor>,
    router: Router,
    timeouts: Timeouts,
    idle: Waiting,
    ambient: Ambient,
    shutdown: Shutdown,
}

impl Connections {
    async fn serve(self: Arc<Self>, stream: TcpStream, peer: Peer, permit: Option<OwnedSemaphorePermit>) {
        let activity = Activity::new(self.timeouts, self.idle.clone());
        let hearing = activity.clone();
        let stream = InspectReader::new(stream, move |bytes: &[u8]| hearing.heard(bytes));
        let router = TowerToHyperService::new(self.router.clone());
        let asking = activity.clone();
        let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            let asked = asking.begin_request();
            request.extensions_mut().insert(peer);
            let answer = router.call(request);
            async move {
                let answer = answer.await?;
                Ok::<_, std::convert::Infallible>(answer.map(|body| asked.answered(body)))
            }
        });
        let stream = HeadRefusals::new(TokioIo::new(stream), self.ambient.clone());
        let mut connection = pin!(self.builder.serve_connection(stream, service));
        let mut clock = pin!(tokio::time::sleep(self.timeouts.head));
        let mut leaves = false;
        loop {
            let end = tokio::select! {
                // What a connection hears may bring the end of its time closer: it is looked at afterwards.
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended in disorder");
                    }
                    break;
                }
                () = time_is_up(&activity, clock.as_mut()) => End::TimeIsUp,
                () = activity.gives_way(), if !leaves => End::GivesWay,
                () = self.shutdown.draining(), if !leaves => End::Drains,
            };
            if matches!(end, End::TimeIsUp) && (leaves || activity.is_busy()) {
                break;
            }
            leaves = true;
            activity.leave();
            connection.as_mut().graceful_shutdown();
            if matches!(end, End::GivesWay) && !activity.is_busy() {
                // It is told, and no more: somebody waits for its place.
                let _ = connection.as_mut().now_or_never();
                break;
            }
        }
        metrics::gauge!(crate::meters::CONNECTIONS).decrement(1);
        drop(permit);
    }
}

/// Resolves when what goes on on a connection has gone on for too long.
async fn time_is_up(activity: &Activity, mut clock: Pin<&mut Sleep>) {
    // A clock that goes off too early costs less than one that is set at every turn.
    poll_fn(|context| {
        loop {
            let (now, ends_at) = (Instant::now(), activity.ends_at());
            match ends_at {
                Some(at) if at <= now => return Poll::Ready(()),
                Some(at) if at < clock.deadline().into_std() => clock.as_mut().reset(at.into()),
                _ => {}
            }
            ready!(clock.as_mut().poll(context));
            clock.as_mut().reset(ends_at.unwrap_or(now + LOOK_AGAIN).into());
        }
    })
    .await;
}

/// Starts the tasks of HTTP/2 streams as tracked ones.
#[derive(Clone)]
struct TaskExecutor(Shutdown);

impl<F> hyper::rt::Executor<F> for TaskExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
