//! What both sides of a gRPC call tell of it: one span and one duration each, by the semantic conventions.

use std::time::Instant;

use http::Response;
use tonic::{Code, Status};
use tracing::Span;

use crate::telemetry;

/// Metadata of a refusal: this replica has done nothing for the call, and another one may.
pub(crate) const NOT_TAKEN: &str = "not-taken";

/// Which side of a call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Client,
}

impl Side {
    const fn metric(self) -> &'static str {
        match self {
            Self::Server => "rpc_server_call_duration_seconds",
            Self::Client => "rpc_client_call_duration_seconds",
        }
    }

    /// What the metric means.
    pub(crate) fn describe(self) {
        let meaning = match self {
            Self::Server => "Calls that were answered, by method and status.",
            Self::Client => "Calls of other processes, by method and status.",
        };
        metrics::describe_histogram!(self.metric(), meaning);
    }

    /// Whether a call that ended so has failed, as seen from this side: what a caller did wrong is no failure of the
    /// server.
    const fn is_failure(self, code: Code) -> bool {
        match self {
            Self::Client => !matches!(code, Code::Ok),
            Self::Server => matches!(
                code,
                Code::Unknown
                    | Code::DeadlineExceeded
                    | Code::Unimplemented
                    | Code::Internal
                    | Code::Unavailable
                    | Code::DataLoss
            ),
        }
    }
}

/// A call that goes on. It is told when this is dropped, as cancelled unless [`Call::ends`] has said otherwise.
pub(crate) struct Call {
    side: Side,
    method: String,
    started: Instant,
    code: Code,
    span: Span,
}

impl Call {
    /// A call of a method (`keys.v1.KeyService/VerifyKey`) that begins now.
    pub(crate) fn begin(side: Side, method: String, span: Span) -> Self {
        Self {
            side,
            method,
            started: Instant::now(),
            code: Code::Cancelled,
            span,
        }
    }

    pub(crate) const fn ends(&mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        let status = name(self.code);
        telemetry::set(&self.span, "rpc.response.status_code", status);
        if self.side.is_failure(self.code) {
            telemetry::fail(&self.span, status);
        }
        if self.side == Side::Server {
            tracing::debug!(
                rpc.response.status_code = status,
                duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
                "a call was answered"
            );
        }
        let method = std::mem::take(&mut self.method);
        metrics::histogram!(
            self.side.metric(), "rpc_method" => method, "rpc_response_status_code" => status
        )
        .record(took.as_secs_f64());
    }
}

/// The status of an answer. That of a refusal stands in the headers; one that comes after a body (streams) counts as OK,
/// and is told by the method itself.
pub(crate) fn code_of<B>(response: &Response<B>) -> Code {
    response
        .headers()
        .get(Status::GRPC_STATUS)
        .map_or(Code::Ok, |value| Code::from_bytes(value.as_bytes()))
}

/// The name of a status as gRPC has it.
const fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
