//! Where the services are and how they are spoken to.
//!
//! Addresses come from flags or the environment as `./dev env` prints it. Secrets come from the environment alone:
//! what stands in a command line can be read by every user of the machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use reqwest::RequestBuilder;
use serde_json::Value;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt as _;

use crate::failure::{Failure, Refusal};

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A connection as the generated clients take it.
pub(crate) type GrpcChannel = InterceptedService<Channel, ServiceToken>;

/// Where the services are.
#[derive(Args, Debug)]
pub(crate) struct Connection {
    /// Public address, with /api/v1
    #[arg(
        long,
        global = true,
        env = "BASE_URL",
        value_name = "URL",
        help_heading = "Addresses"
    )]
    base_url: Option<String>,
    /// Search service
    #[arg(
        long,
        global = true,
        env = "SEARCH_GRPC",
        value_name = "URL",
        help_heading = "Addresses"
    )]
    search_grpc: Option<String>,
    /// Keys service
    #[arg(
        long,
        global = true,
        env = "KEYS_GRPC",
        value_name = "URL",
        help_heading = "Addresses"
    )]
    keys_grpc: Option<String>,
    /// Billing service
    #[arg(
        long,
        global = true,
        env = "BILLING_GRPC",
        value_name = "URL",
        help_heading = "Addresses"
    )]
    billing_grpc: Option<String>,
    /// PEM file with the authority of the https addresses' certificates
    #[arg(
        long,
        global = true,
        env = "TLS_AUTHORITY",
        value_name = "FILE",
        help_heading = "Addresses"
    )]
    tls_authority: Option<PathBuf>,
    /// PEM file with the certificate shown to services that ask for one (mTLS)
    #[arg(
        long,
        global = true,
        env = "TLS_CLIENT_CERTIFICATE",
        value_name = "FILE",
        help_heading = "Addresses",
        requires = "tls_client_key"
    )]
    tls_client_certificate: Option<PathBuf>,
    /// PEM file with the key of that certificate
    #[arg(
        long,
        global = true,
        env = "TLS_CLIENT_KEY",
        value_name = "FILE",
        help_heading = "Addresses",
        requires = "tls_client_certificate"
    )]
    tls_client_key: Option<PathBuf>,
}

/// A secret of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    /// `API_KEY`: for searches.
    ApiKey,
    /// `JWT`: session, for keys.
    Jwt,
    /// `SERVICE_TOKEN`: for the services themselves.
    ServiceToken,
    /// `JWT_SECRET`: signs session tokens; of development only.
    SigningKey,
}

impl Secret {
    const fn variable(self) -> &'static str {
        match self {
            Self::ApiKey => "API_KEY",
            Self::Jwt => "JWT",
            Self::ServiceToken => "SERVICE_TOKEN",
            Self::SigningKey => "JWT_SECRET",
        }
    }

    /// Its value.
    #[expect(
        clippy::disallowed_methods,
        reason = "a tool of one command reads the variables that ./dev env prints, no settings of a process"
    )]
    pub(crate) fn read(self) -> Result<String, Failure> {
        std::env::var(self.variable())
            .ok()
            .filter(|value| !value.trim().is_empty())
            .ok_or(Failure::Unset(self.variable()))
    }
}

/// Shows the service token on every call.
#[derive(Clone)]
pub(crate) struct ServiceToken(MetadataValue<Ascii>);

impl ServiceToken {
    /// The token, ready to be shown.
    pub(crate) fn of(token: &str) -> Result<Self, Failure> {
        let mut authorization: MetadataValue<Ascii> = format!("Bearer {token}").parse().map_err(|_| {
            Failure::Refused("SERVICE_TOKEN has characters that a header can't carry".to_owned())
        })?;
        authorization.set_sensitive(true);
        Ok(Self(authorization))
    }
}

impl Interceptor for ServiceToken {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

impl Connection {
    /// The search service.
    pub(crate) async fn search(&self) -> Result<GrpcChannel, Failure> {
        self.grpc("search", "SEARCH_GRPC", self.search_grpc.as_deref())
            .await
    }

    /// The keys service.
    pub(crate) async fn keys(&self) -> Result<GrpcChannel, Failure> {
        self.grpc("keys", "KEYS_GRPC", self.keys_grpc.as_deref()).await
    }

    /// The billing service.
    pub(crate) async fn billing(&self) -> Result<GrpcChannel, Failure> {
        self.grpc("billing", "BILLING_GRPC", self.billing_grpc.as_deref())
            .await
    }

    async fn grpc(
        &self,
        service: &str,
        variable: &'static str,
        address: Option<&str>,
    ) -> Result<GrpcChannel, Failure> {
        let address = address.ok_or(Failure::Unset(variable))?;
        let token = Secret::ServiceToken.read()?;
        let token = ServiceToken::of(token.trim())?;
        let unusable = |error: tonic::transport::Error| {
            Failure::Refused(format!(
                "{variable}: {address} is no address of a service: {}",
                causes(&error)
            ))
        };
        let mut endpoint = Endpoint::from_shared(address.to_owned())
            .map_err(unusable)?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_timeout(Duration::from_secs(10))
            .tcp_nodelay(true);
        if address.starts_with("https://") {
            let mut tls = ClientTlsConfig::new();
            if let Some(pem) = self.tls_authority()? {
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            if let (Some(certificate), Some(key)) = (&self.tls_client_certificate, &self.tls_client_key) {
                let certificate = read_pem(certificate, "--tls-client-certificate takes a PEM file")?;
                let key = read_pem(key, "--tls-client-key takes a PEM file")?;
                tls = tls.identity(Identity::from_pem(certificate, key));
            }
            endpoint = endpoint.tls_config(tls).map_err(unusable)?;
        }
        let channel = endpoint.connect().await.map_err(|error| {
            let causes = causes(&error);
            Failure::Refused(format!(
                "can't reach the {service} service at {address}: {causes} (does it run? ./dev status)"
            ))
        })?;
        Ok(InterceptedService::new(channel, token))
    }

    /// Sends a request to the public interface; the body of its answer.
    pub(crate) async fn rest(
        &self,
        method: reqwest::Method,
        path: &str,
        prepare: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Value, Failure> {
        let base = self.base_url.as_deref().ok_or(Failure::Unset("BASE_URL"))?;
        let url = format!("{}{path}", base.trim_end_matches('/'));
        let unusable = |error: &dyn std::error::Error| {
            Failure::Refused(format!(
                "can't reach {url}: {} (does it run? ./dev status)",
                causes(error)
            ))
        };
        let mut client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(ANSWER_TIMEOUT);
        if let Some(pem) = self.tls_authority()? {
            let certificate = reqwest::Certificate::from_pem(&pem).map_err(|error| unusable(&error))?;
            client = client.tls_certs_merge([certificate]);
        }
        let client = client.build().map_err(|error| unusable(&error))?;
        let response = prepare(client.request(method, &url))
            .send()
            .await
            .map_err(|error| unusable(&error.without_url()))?;
        let status = response.status();
        let body = response.bytes().await.map_err(|error| unusable(&error))?;
        let value: Value = serde_json::from_slice(&body).map_err(|_| {
            Failure::Refused(format!(
                "{url} answered {status} without JSON: is BASE_URL right?"
            ))
        })?;
        if status.is_success() {
            Ok(value)
        } else {
            Err(Failure::Rest(Box::new(Refusal {
                status: status.as_u16(),
                body: value,
            })))
        }
    }

    fn tls_authority(&self) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.tls_authority.as_deref();
        path.map(|path| read_pem(path, "--tls-authority takes a PEM file"))
            .transpose()
    }
}

fn read_pem(path: &Path, hint: &'static str) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::File {
        path: path.display().to_string(),
        error,
        hint,
    })
}

/// What a service refused with, in words.
pub(crate) fn refusal(service: &str, status: &Status) -> String {
    let name = status
        .get_details_error_info()
        .map_or_else(|| format!("{:?}", status.code()), |info| info.reason);
    let violations = proto::violation::from_status(status);
    let mut text = format!("the {service} service refused: {name}: ");
    if violations.is_empty() {
        text.push_str(status.message());
    } else {
        let problems: Vec<_> = violations.iter().map(ToString::to_string).collect();
        text.push_str(&problems.join("; "));
    }
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => {
            text.push_str(" (SERVICE_TOKEN is not accepted for this: run eval \"$(./dev env)\")");
        }
        Code::Unavailable => text.push_str(" (does it run? ./dev status)"),
        _ => {}
    }
    text
}

/// The answer to a call, or what the service refused with.
pub(crate) fn accepted<T>(service: &str, answer: Result<tonic::Response<T>, Status>) -> Result<T, Failure> {
    answer
        .map(tonic::Response::into_inner)
        .map_err(|status| Failure::Refused(refusal(service, &status)))
}

/// A request that is answered in time or not at all.
pub(crate) fn timely<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(ANSWER_TIMEOUT);
    request
}

/// An error and its causes in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}
