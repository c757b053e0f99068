//! Stands before a gateway, and adds the API key that the conformance runner can't send.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderName;
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use tokio::runtime::{Builder, Runtime};

/// Where it forwards to, and the key.
type Target = Arc<OnceLock<(String, String)>>;

/// A forwarder on a free port.
pub(crate) struct Forwarder {
    /// Where it is.
    pub(crate) origin: String,
    target: Target,
    /// Ends it.
    _runtime: Runtime,
}

impl Forwarder {
    /// Listens; there is nothing to forward to yet.
    pub(crate) fn listen() -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let target = Target::default();
        let client = reqwest::Client::new();
        let router = Router::new().fallback({
            let target = Arc::clone(&target);
            move |request| forward(Arc::clone(&target), client.clone(), request)
        });
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            origin,
            target,
            _runtime: runtime,
        }
    }

    /// Forwards to this gateway, with this key.
    pub(crate) fn forward(&self, gateway: &str, key: &str) {
        self.target.set((gateway.to_owned(), key.to_owned())).unwrap();
    }
}

async fn forward(target: Target, client: reqwest::Client, request: Request) -> Response {
    let (gateway, key) = target.get().unwrap();
    let (head, body) = request.into_parts();
    let mut headers = head.headers;
    headers.insert(HeaderName::from_static("x-api-key"), key.parse().unwrap());
    let body = body.collect().await.unwrap().to_bytes();
    let asked = client
        .request(head.method, format!("{gateway}{}", head.uri))
        .headers(headers)
        .body(body);
    let answer = asked.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut response = (status, Body::from(answer.bytes().await.unwrap())).into_response();
    *response.headers_mut() = headers;
    response
}
