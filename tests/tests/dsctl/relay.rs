//! Stands between `dsctl` and the gateway: counts what is asked, and keeps back what a test tells it to.

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::stream;
use http_body_util::BodyExt as _;
use system_tests::world;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is kept back: the gateway never sees it.
    Unasked,
    /// The gateway answers it, and the answer is kept back.
    Unanswered,
    /// The gateway answers it, and the connection breaks within the answer.
    Broken,
}

/// A request as it passed.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// Its `Idempotency-Key`.
    pub(crate) idempotency_key: String,
    /// The gateway's status.
    pub(crate) status: u16,
    /// Whether the gateway said that it repeats.
    pub(crate) replayed: bool,
}

#[derive(Default)]
struct Shared {
    passed: Vec<Passed>,
    /// Requests to let pass before the next one meets its fate.
    fate: Option<(usize, Fate)>,
}

/// The relay. Its address is that of a gateway, with `/api/v1`.
pub(crate) struct Relay {
    pub(crate) base: String,
    shared: Arc<Mutex<Shared>>,
    kept_back: Receiver<()>,
    /// Ends it.
    _runtime: tokio::runtime::Runtime,
}

impl Relay {
    /// Starts one, on a free port.
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let base = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let shared = Arc::<Mutex<Shared>>::default();
        let (sender, kept_back) = channel();
        let state = Arc::clone(&shared);
        let client = reqwest::Client::new();
        let router = Router::new().fallback(move |request: Request| {
            pass(Arc::clone(&state), client.clone(), sender.clone(), request)
        });
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            base,
            shared,
            kept_back,
            _runtime: runtime,
        }
    }

    /// Keeps back the request after so many, or its answer, or breaks the connection.
    pub(crate) fn keep_back(&self, after: usize, fate: Fate) {
        lock(&self.shared).fate = Some((after, fate));
    }

    /// Waits until something is kept back.
    pub(crate) fn wait(&self) {
        self.kept_back.recv().unwrap();
    }

    /// What the gateway has answered so far.
    pub(crate) fn passed(&self) -> Vec<Passed> {
        lock(&self.shared).passed.clone()
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn pass(
    shared: Arc<Mutex<Shared>>,
    client: reqwest::Client,
    kept_back: Sender<()>,
    request: Request,
) -> Response {
    let fate = {
        let mut shared = lock(&shared);
        match shared.fate {
            Some((0, fate)) => {
                shared.fate = None;
                Some(fate)
            }
            Some((after, fate)) => {
                shared.fate = Some((after - 1, fate));
                None
            }
            None => None,
        }
    };
    let keep_back = async || {
        kept_back.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    if fate == Some(Fate::Unasked) {
        keep_back().await;
    }
    let (head, body) = request.into_parts();
    let text = |headers: &HeaderMap, name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let gateway = world().environment.base_url.trim_end_matches("/api/v1");
    let mut asked = client.request(head.method.clone(), format!("{gateway}{}", head.uri.path()));
    for name in [
        "x-api-key",
        "idempotency-key",
        "content-type",
        "accept",
        "mcp-protocol-version",
    ] {
        if let Some(value) = head.headers.get(name) {
            asked = asked.header(name, value);
        }
    }
    let body: Bytes = body.collect().await.unwrap().to_bytes();
    let answer = asked.body(body).send().await.unwrap();
    lock(&shared).passed.push(Passed {
        idempotency_key: text(&head.headers, "idempotency-key"),
        status: answer.status().as_u16(),
        replayed: text(answer.headers(), "idempotency-replayed") == "true",
    });
    if fate == Some(Fate::Unanswered) {
        keep_back().await;
    }
    let (status, headers) = (answer.status(), answer.headers().clone());
    if fate == Some(Fate::Broken) {
        kept_back.send(()).unwrap();
        let broken = stream::iter([
            Ok(Bytes::from("{")),
            Err(io::Error::from(ErrorKind::ConnectionReset)),
        ]);
        return (status, Body::from_stream(broken)).into_response();
    }
    let mut response = (status, Body::from(answer.bytes().await.unwrap())).into_response();
    for name in ["content-type", "retry-after"] {
        if let Some(value) = headers.get(name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}
