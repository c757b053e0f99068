//! Where the services are and how they are spoken to.
//!
//! Addresses come from flags or the environment as `./dev env` prints it. Secrets come from the environment, or the API key
//! from a file or a profile: what stands in a command line can be read by every user of the machine.
//!
//! A key goes to the address that it was kept for, and nowhere else: a profile that was asked for by name is used whole, and
//! the key of the default one is not sent to another address that is in the environment.

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

use crate::environment;
use crate::failure::Failure;
use crate::profile::{self, Profiles};
use crate::rest::{Api, Rest};

/// Longest wait for a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for an answer.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A connection as the generated clients take it.
pub(crate) type GrpcChannel = InterceptedService<Channel, ServiceToken>;

/// Where the services are.
#[derive(Args, Debug)]
pub(crate) struct Connection {
    /// Profile that `dsctl login` has kept: its address and API key
    #[arg(
        long,
        global = true,
        env = "DSCTL_PROFILE",
        value_name = "NAME",
        help_heading = "Addresses"
    )]
    profile: Option<String>,
    /// Public address, with /api/v1 [env: `BASE_URL`]
    #[arg(long, global = true, value_name = "URL", help_heading = "Addresses")]
    base_url: Option<String>,
    /// File with the API key in its first line, `-` for standard input [env: `API_KEY_FILE`]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Addresses")]
    api_key_file: Option<String>,
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
    pub(crate) fn read(self) -> Result<String, Failure> {
        environment::variable(self.variable()).ok_or(Failure::Unset(self.variable()))
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
        let rest = Rest::new(&self.address()?, self.tls_authority()?.as_deref())?;
        rest.send(method, path, prepare).await
    }

    /// The public interface, with the API key.
    pub(crate) fn api(&self) -> Result<Api, Failure> {
        let address = self.address()?;
        let key = self.api_key(&address)?;
        Api::new(Rest::new(&address, self.tls_authority()?.as_deref())?, &key)
    }

    /// The profile in use.
    pub(crate) fn profile_name(&self) -> &str {
        self.profile.as_deref().unwrap_or(profile::DEFAULT)
    }

    /// The address of the public interface that the command line or the environment names.
    pub(crate) fn given_address(&self) -> Option<String> {
        self.base_url
            .clone()
            .or_else(|| environment::variable("BASE_URL"))
    }

    /// The address of the public interface.
    fn address(&self) -> Result<String, Failure> {
        if let Some(name) = &self.profile {
            let address = Profiles::read()?.named(name)?.base_url.clone();
            return match &self.base_url {
                Some(given) if !same_address(given, &address) => Err(Failure::Usage(format!(
                    "profile {name} is for {address}: leave --base-url out, or keep the other address by `dsctl login \
                     --profile {name} --base-url {given}`"
                ))),
                _ => Ok(address),
            };
        }
        if let Some(given) = self.given_address() {
            return Ok(given);
        }
        let profiles = Profiles::read()?;
        let default = profiles.get(profile::DEFAULT).ok_or(Failure::Unset("BASE_URL"))?;
        Ok(default.base_url.clone())
    }

    /// The API key for an address.
    fn api_key(&self, address: &str) -> Result<String, Failure> {
        if let Some(key) = self.key_of_file()? {
            return Ok(key);
        }
        if let Some(name) = &self.profile {
            return Ok(Profiles::read()?.named(name)?.api_key.clone());
        }
        match Secret::ApiKey.read() {
            Ok(key) => Ok(key),
            Err(unset) => {
                if let Some(path) = environment::variable("API_KEY_FILE") {
                    return read_key(&path);
                }
                let profiles = Profiles::read()?;
                let default = profiles.get(profile::DEFAULT).ok_or(unset)?;
                if same_address(&default.base_url, address) {
                    return Ok(default.api_key.clone());
                }
                Err(Failure::Usage(format!(
                    "the key of profile {} is for {}, not for {address}: unset BASE_URL, or keep a key for that address by \
                     `dsctl login --profile NAME --base-url {address}`",
                    profile::DEFAULT,
                    default.base_url
                )))
            }
        }
    }

    /// The API key of the file that the command line names, if it names one.
    pub(crate) fn key_of_file(&self) -> Result<Option<String>, Failure> {
        self.api_key_file.as_deref().map(read_key).transpose()
    }

    /// Whether the API key would be read from standard input.
    pub(crate) fn key_is_on_standard_input(&self) -> bool {
        let file = self.api_key_file.clone();
        file.or_else(|| environment::variable("API_KEY_FILE"))
            .is_some_and(|file| file == "-")
    }

    /// The certificate authority of https addresses, as PEM.
    pub(crate) fn tls_authority(&self) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.tls_authority.as_deref();
        path.map(|path| read_pem(path, "--tls-authority takes a PEM file"))
            .transpose()
    }
}

/// The API key in a file's first line; `-` is standard input.
fn read_key(path: &str) -> Result<String, Failure> {
    let failed = |error| Failure::File {
        path: path.to_owned(),
        error,
        hint: "the API key is to be in its first line",
    };
    let text = if path == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(failed)?;
    match text.lines().next().map(str::trim) {
        Some(key) if !key.is_empty() => Ok(key.to_owned()),
        _ => Err(Failure::Usage(format!(
            "{path}: has no API key in its first line"
        ))),
    }
}

/// Whether two addresses are written alike but for a slash at the end.
fn same_address(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
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
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
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
