//! A collector of traces, as processes see it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};

/// Takes traces as an OTLP collector does, and keeps them as they came.
pub struct Collector {
    /// Where it listens.
    pub address: String,
    exports: Arc<Mutex<Vec<Bytes>>>,
    /// Ends it.
    _runtime: tokio::runtime::Runtime,
}

impl Collector {
    /// Starts one, on a free port.
    #[must_use]
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("threads can be started");
        let exports = Arc::<Mutex<Vec<Bytes>>>::default();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let kept = Arc::clone(&exports);
        let router = Router::new().fallback(async move |body: Body| {
            let bytes = body.collect().await.map(http_body_util::Collected::to_bytes);
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(bytes.unwrap_or_default());
            taken()
        });
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            address: format!("http://{address}"),
            exports,
            _runtime: runtime,
        }
    }

    /// All that it has been sent: each a message of gRPC with its head.
    #[must_use]
    pub fn exports(&self) -> Vec<Bytes> {
        self.exports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// An empty message of gRPC, and that all is well.
fn taken() -> Response {
    let status = (
        HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("0"),
    );
    let trailers = HeaderMap::from_iter([status]);
    let body =
        Full::new(Bytes::from_static(&[0; 5])).with_trailers(async { Some(Ok::<_, Infallible>(trailers)) });
    ([("content-type", "application/grpc")], Body::new(body)).into_response()
}
