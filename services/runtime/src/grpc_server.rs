//! A gRPC server as every service of ours has it: service tokens, deadlines, request ids, traces, metrics, health,
//! reflection, keep-alive, an end without lost calls.

mod lingering;

use std::convert::Infallible;
use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyStream, StreamBody};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tonic_reflection::server::Builder;
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};
use tower::{Layer, Service};
use tracing::Instrument as _;

use self::lingering::Lingering;
use crate::process::{BoxError, Process};
use crate::readiness::Changes;
use crate::request_id;
use crate::rpc::{Call, NOT_TAKEN, Side, code_of};
use crate::service_token::{Denied, Scope, ServiceTokens};
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::telemetry::{self, REQUEST};

/// What the paths of reflection begin with.
const REFLECTION: &str = "/grpc.reflection.";

const REFLECTION_METHODS: [&str; 2] = [
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Calls that were not let in, as a metric.
const DENIED: &str = "rpc_server_calls_denied_total";

/// Settings of a gRPC server.
#[derive(Clone, Debug)]
pub struct GrpcServerConfig {
    tokens: ServiceTokens,
    timeout: Duration,
    max_connection_age: Duration,
    tls: Option<TlsFiles>,
}

#[derive(Clone, Debug)]
struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    client_authority: Option<PathBuf>,
}

impl GrpcServerConfig {
    /// Reads `service_tokens`, `grpc_timeout`, `grpc_max_connection_age`, `tls_certificate`, `tls_key`,
    /// `tls_client_authority`.
    pub fn read(settings: &mut Settings) -> Self {
        let tokens = settings.service_tokens();
        let timeout = settings.value(
            "grpc_timeout",
            Duration::from_secs(30),
            "Longest time for a call; a caller's own deadline counts if it is sooner. Streams may take longer.",
        );
        let max_connection_age = settings.value(
            "grpc_max_connection_age",
            Duration::from_mins(5),
            "Age at which a connection is closed in good order, so that callers find new replicas.",
        );
        let certificate = settings.optional(
            "tls_certificate",
            "PEM file with this server's certificate chain.",
        );
        let key = settings.optional("tls_key", "PEM file with the key of the certificate.");
        let client_authority = settings.optional(
            "tls_client_authority",
            "PEM file with the authority that callers' certificates come from (mTLS).",
        );
        let tls = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(TlsFiles {
                certificate,
                key,
                client_authority,
            }),
            (None, None) if client_authority.is_none() => None,
            _ => {
                settings.contradiction(
                    "tls_certificate and tls_key are set together or not at all, tls_client_authority only with them",
                );
                None
            }
        };
        Self {
            tokens,
            timeout,
            max_connection_age,
            tls,
        }
    }
}

/// What a service serves.
pub struct GrpcService {
    /// Its methods.
    pub routes: Routes,
    /// Its files as a serialised `FileDescriptorSet`.
    pub descriptors: &'static [u8],
    /// The scope that a method asks for, by its path (`/keys.v1.KeyService/VerifyKey`). None: nobody may call it.
    pub scope_of: fn(&str) -> Option<Scope>,
    /// Full names of its services, for health.
    pub names: &'static [&'static str],
}

/// Serves until the process drains, then finishes what runs.
pub async fn serve(process: Process, config: GrpcServerConfig, service: GrpcService) -> Result<(), BoxError> {
    metrics::describe_counter!(
        DENIED,
        "Calls without a token that is known, or whose token may not do this."
    );
    metrics::counter!(DENIED).increment(0);
    Side::Server.describe();
    let (health, health_service) = tonic_health::server::health_reporter();
    process.shutdown.spawn(report_health(
        process.readiness.changes(),
        process.shutdown.clone(),
        health,
        service.names,
    ));
    let reflection = reflection(&service)?;
    let routes = service
        .routes
        .add_service(health_service)
        .add_service(reflection)
        .prepare();
    let admission = AdmissionLayer {
        tokens: config.tokens,
        scope_of: service.scope_of,
        draining: process.shutdown.drain_token(),
    };
    let mut server = Server::builder()
        .timeout(config.timeout)
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .max_connection_age(config.max_connection_age);
    if let Some(files) = &config.tls {
        server = server.tls_config(tls_config(files)?)?;
    }
    let (listener, shutdown) = process.listen()?;
    server
        .layer(admission)
        .add_routes(routes)
        .serve_with_incoming_shutdown(connections(listener), async move { shutdown.draining().await })
        .await?;
    Ok(())
}

/// The connections that callers make.
pub(crate) fn connections(listener: TcpListener) -> impl Stream<Item = std::io::Result<Lingering>> {
    TcpIncoming::from(listener)
        .with_nodelay(Some(true))
        .map_ok(Lingering::new)
}

/// Reflection of the services that are served here, and of what refusals carry in their details.
fn reflection(
    service: &GrpcService,
) -> Result<ServerReflectionServer<impl ServerReflection>, tonic_reflection::server::Error> {
    let builder = Builder::configure()
        .register_encoded_file_descriptor_set(service.descriptors)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
        .with_service_name("grpc.health.v1.Health");
    let names = service.names.iter().copied();
    names.fold(builder, Builder::with_service_name).build_v1()
}

/// Tells the readiness by `grpc.health.v1`, for each service and as a whole.
async fn report_health(
    mut changes: Changes,
    shutdown: Shutdown,
    health: HealthReporter,
    names: &'static [&'static str],
) {
    loop {
        let ready = tokio::select! {
            ready = changes.next() => ready,
            () = shutdown.draining() => false,
        };
        let status = if ready {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        for name in names.iter().chain(&[""]) {
            health.set_service_status(*name, status).await;
        }
        if shutdown.is_draining() {
            return;
        }
    }
}

fn tls_config(files: &TlsFiles) -> Result<ServerTlsConfig, BoxError> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| format!("{} can't be read: {error}", path.display()))
    };
    let identity = Identity::from_pem(read(&files.certificate)?, read(&files.key)?);
    let tls = ServerTlsConfig::new().identity(identity);
    Ok(match &files.client_authority {
        Some(path) => tls.client_ca_root(Certificate::from_pem(read(path)?)),
        None => tls,
    })
}

/// A refusal of a call that this replica has done nothing for, and that another one may be able to answer: clients of ours
/// ask the others before they tell their callers.
#[must_use]
pub fn not_taken(mut status: Status) -> Status {
    let told = MetadataValue::from_static("true");
    status.metadata_mut().insert(NOT_TAKEN, told);
    status
}

/// How long the caller will wait, if it said so.
#[must_use]
pub fn deadline(metadata: &MetadataMap) -> Option<Instant> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number = number.parse::<u64>().ok()?;
    let timeout = match unit {
        "H" => Duration::from_secs(number.checked_mul(3_600)?),
        "M" => Duration::from_secs(number.checked_mul(60)?),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    };
    Instant::now().checked_add(timeout)
}

/// Lets in who may come in, and tells of each call.
#[derive(Clone)]
struct AdmissionLayer {
    tokens: ServiceTokens,
    scope_of: fn(&str) -> Option<Scope>,
    draining: CancellationToken,
}

impl<S> Layer<S> for AdmissionLayer {
    type Service = Admission<S>;

    fn layer(&self, inner: S) -> Admission<S> {
        Admission {
            layer: self.clone(),
            inner,
        }
    }
}

#[derive(Clone)]
struct Admission<S> {
    layer: AdmissionLayer,
    inner: S,
}

impl<S> Service<Request<Body>> for Admission<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let path = request.uri().path().to_owned();
        if path.starts_with("/grpc.health.v1.Health/") {
            if path.ends_with("/Watch") {
                let (answer, draining) = (self.inner.call(request), self.layer.draining.clone());
                return Box::pin(async move { Ok(until_draining(answer.await?, draining)) });
            }
            return Box::pin(self.inner.call(request));
        }
        let caller = match self.layer.admit(&path, request.headers()) {
            Ok(caller) => caller,
            Err(denied) => {
                metrics::counter!(DENIED).increment(1);
                tracing::warn!(rpc.method = %path, reason = %denied, "a call was denied");
                return Box::pin(std::future::ready(Ok(status_of(denied).into_http())));
            }
        };
        let id = request
            .headers()
            .get(request_id::HEADER)
            .and_then(|value| value.to_str().ok())
            .filter(|id| request_id::is_valid(id))
            .unwrap_or_default()
            .to_owned();
        let method = method_of(&path);
        let span = tracing::info_span!(
            target: REQUEST,
            "call",
            otel.name = method,
            otel.kind = "server",
            rpc.system.name = "grpc",
            rpc.method = method,
            request.id = %id,
            caller = %caller,
            trace_id = tracing::field::Empty,
        );
        telemetry::continue_trace(&span, request.headers());
        let mut call = Call::begin(Side::Server, method.to_owned(), span.clone());
        let stream_ends = path.starts_with(REFLECTION).then(|| self.layer.draining.clone());
        // The clone that was polled ready is the one to call.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let work = async move {
            let response = inner.call(request).await?;
            call.ends(code_of(&response));
            Ok(match stream_ends {
                Some(draining) => until_draining(response, draining),
                None => response,
            })
        };
        Box::pin(request_id::scope(id, work.instrument(span)))
    }
}

impl AdmissionLayer {
    fn admit(&self, path: &str, headers: &HeaderMap) -> Result<String, Denied> {
        let authorization = headers
            .get(http::header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let scope = (self.scope_of)(path);
        let caller = self.tokens.admit(authorization, scope)?;
        let is_reflection = path.starts_with(REFLECTION);
        if scope.is_none() && !is_reflection {
            return Err(Denied::NoScope);
        }
        Ok(caller.name)
    }
}

/// The response, whose body ends when the process drains: such a stream has no end of its own, and would keep the process
/// up for all of its grace time.
fn until_draining(response: Response<Body>, draining: CancellationToken) -> Response<Body> {
    response.map(|body| {
        let frames = BodyStream::new(body).take_until(draining.cancelled_owned());
        Body::new(StreamBody::new(frames))
    })
}

fn status_of(denied: Denied) -> Status {
    match denied {
        Denied::NoToken => Status::unauthenticated(denied.to_string()),
        Denied::NoScope => Status::permission_denied(denied.to_string()),
    }
}

/// The method of a path, `package.Service/Method`. Paths of ours are known by their scopes; what else a caller may make up
/// behind the name of the reflection service has one name.
fn method_of(path: &str) -> &str {
    let method = path.trim_start_matches('/');
    if path.starts_with(REFLECTION) && !REFLECTION_METHODS.contains(&method) {
        "_OTHER"
    } else {
        method
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_method_has_no_name_of_its_own() {
        for (path, method) in [
            ("/keys.v1.KeyService/VerifyKey", "keys.v1.KeyService/VerifyKey"),
            (
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                REFLECTION_METHODS[0],
            ),
            ("/grpc.reflection.v1.ServerReflection/Other", "_OTHER"),
            ("/grpc.reflection.x", "_OTHER"),
        ] {
            assert_eq!(method_of(path), method);
        }
    }

    #[test]
    fn deadlines_are_read_in_every_unit() {
        let read = |text: &'static str| {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-timeout", text.parse().unwrap());
            deadline(&metadata).map(|at| at.saturating_duration_since(Instant::now()).as_secs_f64().round())
        };
        assert_eq!(read("2H"), Some(7200.0));
        assert_eq!(read("3M"), Some(180.0));
        assert_eq!(read("4S"), Some(4.0));
        assert_eq!(read("5000m"), Some(5.0));
        assert_eq!(read("6000000u"), Some(6.0));
        assert_eq!(read("7000000000n"), Some(7.0));
        for text in ["", "S", "4", "4x", "-4S", "999999999999999999999S"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
