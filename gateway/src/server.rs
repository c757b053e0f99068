//! The public listener: HTTP/1.1 and HTTP/2 without TLS (which ends before the gateway), bounded in what one client can
//! hold on to, and ended without a lost request.
//!
//! When the process drains, the listener is closed, idle connections are closed, and busy ones once what runs on them
//! is answered.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use runtime::ambient::Ambient;
use runtime::shutdown::Shutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::auth::client_address::Peer;
use crate::head_refusals::HeadRefusals;

/// Longest that a head may take to arrive, and that an HTTP/1.1 connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);

/// Most headers of a request.
pub(crate) const MAX_HEADERS: usize = 100;

/// Most bytes of a request's head.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Most bytes of a head that HTTP/2 takes in, to be refused in words.
const MAX_HEAD_BYTES_READ: u32 = 256 * 1024;

/// Most requests at once on one HTTP/2 connection.
const MAX_STREAMS: u32 = 200;

/// Silence after which an HTTP/2 client is asked if it is still there, and longest wait for its answer.
const PING_EVERY: Duration = Duration::from_secs(20);

/// Most connections at once; more wait to be accepted.
const MAX_CONNECTIONS: usize = 20_000;

/// Pause after a failure to accept, which is out of file descriptors mostly.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until the process drains.
pub async fn serve(listener: TcpListener, router: Router, ambient: &Ambient, shutdown: &Shutdown) {
    let mut builder = auto::Builder::new(TaskExecutor(shutdown.clone()));
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES_READ)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_EVERY);
    let builder = Arc::new(builder);
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let accept = async {
        loop {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                return;
            };
            match listener.accept().await {
                Ok((stream, address)) => {
                    // Answers are written whole: there is nothing to collect.
                    let _ = stream.set_nodelay(true);
                    let (builder, router) = (Arc::clone(&builder), router.clone());
                    shutdown.spawn(serve_connection(
                        HeadRefusals::new(TokioIo::new(stream), ambient.clone()),
                        Peer(address.ip()),
                        builder,
                        router,
                        shutdown.clone(),
                        permit,
                    ));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection can't be accepted");
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

async fn serve_connection(
    stream: HeadRefusals<TokioIo<TcpStream>>,
    peer: Peer,
    builder: Arc<auto::Builder<TaskExecutor>>,
    router: Router,
    shutdown: Shutdown,
    permit: OwnedSemaphorePermit,
) {
    let asked = Arc::new(AtomicBool::new(false));
    let router = TowerToHyperService::new(router);
    let service = service_fn({
        let asked = Arc::clone(&asked);
        move |mut request: hyper::Request<hyper::body::Incoming>| {
            asked.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(peer);
            router.call(request)
        }
    });
    // Before the first request, nothing else ends a connection that says nothing.
    let silence = async {
        tokio::time::sleep(HEAD_TIMEOUT).await;
        if asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let connection = builder.serve_connection(stream, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = silence => return,
        () = shutdown.draining() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended in disorder");
    }
    drop(permit);
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
