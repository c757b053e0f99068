//! Calls to another service of ours: all of its replicas as one, with the service token, the id of the request, the
//! trace and the deadline on every call.

mod address;
mod replicas;

use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

use self::address::ServiceAddress;
pub use self::address::ServiceAddresses;
pub use self::replicas::{Replicas, Unreached};
use crate::grpc_call::ToldCalls;
use crate::process::BoxError;
use crate::request_id;
use crate::rpc::Side;
use crate::secret::Secret;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::telemetry;

/// Silence after which the other side is asked if it is still there, and longest wait for its answer: a busy process may
/// take seconds, and what hangs on a way that leads nowhere is cut off all the sooner, to be tried on a new one.
const PING_EVERY: Duration = Duration::from_secs(3);
const PING_PATIENCE: Duration = Duration::from_secs(5);

/// Longest wait for a connection, that of TLS included.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// A service as the generated clients take it.
pub type GrpcChannel = ToldCalls<InterceptedService<Replicas, CallContext>>;

/// Settings of the calls to other processes.
#[derive(Debug)]
pub struct GrpcClientConfig {
    token: Secret,
    authority: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl GrpcClientConfig {
    /// Reads `service_token`, `tls_authority`, `tls_client_certificate`, `tls_client_key`.
    pub fn read(settings: &mut Settings) -> Self {
        let config = Self {
            token: settings.secret("service_token", 24, "Token shown to the services."),
            authority: settings.optional(
                "tls_authority",
                "PEM file with the authority of the services' certificates.",
            ),
            certificate: settings.optional(
                "tls_client_certificate",
                "PEM file with this process's certificate (mTLS).",
            ),
            key: settings.optional("tls_client_key", "PEM file with the key of that certificate."),
        };
        if config.certificate.is_some() != config.key.is_some() {
            settings
                .contradiction("tls_client_certificate and tls_client_key are set together or not at all");
        }
        config
    }

    /// The service at these addresses, whose name is for logs and metrics. Connections to its replicas are made when they
    /// are called, and made anew whenever they have died; a dead peer is noticed by HTTP/2 keep-alive.
    pub fn connect(
        &self,
        service: &'static str,
        addresses: &ServiceAddresses,
        shutdown: &Shutdown,
    ) -> Result<GrpcChannel, BoxError> {
        let mut origins = Vec::new();
        for address in addresses.iter() {
            origins.push((address.clone(), self.endpoint(address)?));
        }
        let authorization = MetadataValue::from_str(&format!("Bearer {}", self.token.expose()))
            .map_err(|_| "service_token has characters that a header can't carry")?;
        let (replicas, draining) = (Replicas::new(service), shutdown.drain_token());
        let looking = replicas.clone().keep_looking(origins);
        shutdown.spawn(async move { draining.run_until_cancelled(looking).await });
        Side::Client.describe();
        replicas::describe();
        let server = addresses.iter().next().and_then(|address| address.uri().host());
        let calls = InterceptedService::new(replicas, CallContext { authorization });
        Ok(ToldCalls::new(calls, server.unwrap_or(service)))
    }

    fn endpoint(&self, address: &ServiceAddress) -> Result<Endpoint, BoxError> {
        let endpoint = Endpoint::from(address.uri().clone())
            .connect_timeout(CONNECT_PATIENCE)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_PATIENCE)
            .keep_alive_while_idle(true);
        if address.is_tls() {
            return Ok(endpoint.tls_config(self.tls()?)?);
        }
        Ok(endpoint)
    }

    fn tls(&self) -> Result<ClientTlsConfig, BoxError> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| format!("{} can't be read: {error}", path.display()))
        };
        let mut tls = ClientTlsConfig::new();
        if let Some(path) = &self.authority {
            tls = tls.ca_certificate(Certificate::from_pem(read(path)?));
        }
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        Ok(tls)
    }
}

/// Puts on every call what goes along with it.
#[derive(Clone)]
pub struct CallContext {
    authorization: MetadataValue<Ascii>,
}

impl Interceptor for CallContext {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let metadata = request.metadata_mut();
        let mut authorization = self.authorization.clone();
        authorization.set_sensitive(true);
        metadata.insert("authorization", authorization);
        if let Some(id) = request_id::current().and_then(|id| id.parse().ok()) {
            metadata.insert(request_id::HEADER, id);
        }
        let mut headers = std::mem::take(metadata).into_headers();
        telemetry::inject(&mut headers);
        *metadata = MetadataMap::from_headers(headers);
        Ok(request)
    }
}
