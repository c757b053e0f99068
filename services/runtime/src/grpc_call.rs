//! A call to another process of ours, as telemetry sees it: a span that the other side's span is a child of, and how
//! long it took.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use tonic::Code;
use tower::Service;
use tracing::Instrument as _;

use crate::rpc::{Call, Side, code_of};
use crate::telemetry::TRACE;

/// A connection whose calls are told.
#[derive(Clone, Debug)]
pub struct ToldCalls<S> {
    connection: S,
    server: Arc<str>,
}

impl<S> ToldCalls<S> {
    /// Calls over this connection, to the service with this host name.
    pub(crate) fn new(connection: S, server: &str) -> Self {
        Self {
            connection,
            server: Arc::from(server),
        }
    }
}

impl<S, B, R> Service<Request<B>> for ToldCalls<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<R>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.connection.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let method = request.uri().path().trim_start_matches('/').to_owned();
        let span = tracing::info_span!(
            target: TRACE,
            "call",
            otel.name = %method,
            otel.kind = "client",
            rpc.system.name = "grpc",
            rpc.method = %method,
            server.address = %self.server,
        );
        let mut call = Call::begin(Side::Client, method, span.clone());
        // What goes along with the call is written as it begins: its trace is that of the span.
        let answer = span.in_scope(|| self.connection.call(request));
        let told = async move {
            let answer = answer.await;
            call.ends(answer.as_ref().map_or(Code::Unavailable, code_of));
            answer
        };
        Box::pin(told.instrument(span))
    }
}
