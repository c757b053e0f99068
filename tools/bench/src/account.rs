//! The account that measurements are made with: credits and a rate without end.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use devstack::Environment;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use proto::billing::v1::GrantCreditsRequest;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::keys::v1::{Rate, SetRateRequest};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tonic::transport::Endpoint;

use crate::BoxError;

/// Its id.
pub(crate) const ACCOUNT: &str = "bench";

/// A measured system, and a key to it.
pub(crate) struct Target {
    /// `address:port` of the gateway.
    pub(crate) address: String,
    /// Path that all addresses start with.
    pub(crate) prefix: String,
    /// API key.
    pub(crate) api_key: String,
}

/// Prepares an account of its own in the system that the environment names.
pub(crate) async fn prepare() -> Result<Target, BoxError> {
    prepare_by(&variable).await
}

/// Prepares an account of its own in this system.
pub(crate) async fn prepare_in(system: &Environment) -> Result<Target, BoxError> {
    let variables = system.variables();
    prepare_by(&|wanted| {
        let found = variables.iter().find(|(name, _)| *name == wanted);
        let (_, value) = found.ok_or_else(|| format!("the system has no {wanted}"))?;
        Ok(value.clone())
    })
    .await
}

/// Tells an address or a secret of a system by its name.
type Variables<'a> = &'a (dyn Fn(&str) -> Result<String, BoxError> + Sync);

async fn prepare_by(variable: Variables<'_>) -> Result<Target, BoxError> {
    let base = variable("BASE_URL")?;
    let token = variable("SERVICE_TOKEN")?;
    let rest = base
        .strip_prefix("http://")
        .ok_or_else(|| format!("BASE_URL is no http address: {base}"))?;
    let (address, prefix) = rest
        .split_once('/')
        .map_or((rest, String::new()), |(a, p)| (a, format!("/{p}")));
    let account_id = ACCOUNT.to_owned();
    let seconds = SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
    let grant = GrantCreditsRequest {
        account_id: account_id.clone(),
        grant_id: format!("bench-{seconds}"),
        amount: 100_000_000,
    };
    let billing = Endpoint::from_shared(variable("BILLING_GRPC")?)?
        .connect()
        .await?;
    BillingServiceClient::new(billing)
        .grant_credits(with_token(grant, &token)?)
        .await?;
    let rate = Rate {
        requests: 1_000_000,
        window: Some(prost_types::Duration { seconds: 1, nanos: 0 }),
    };
    let rate = SetRateRequest {
        account_id: account_id.clone(),
        rate: Some(rate),
    };
    let keys = Endpoint::from_shared(variable("KEYS_GRPC")?)?.connect().await?;
    KeyServiceClient::new(keys)
        .set_rate(with_token(rate, &token)?)
        .await?;
    let api_key = make_key(address, &prefix, &account_id, &variable("JWT_SECRET")?, seconds).await?;
    Ok(Target {
        address: address.to_owned(),
        prefix,
        api_key,
    })
}

async fn make_key(
    address: &str,
    prefix: &str,
    account_id: &str,
    jwt_secret: &str,
    now: u64,
) -> Result<String, BoxError> {
    let claims = json!({"account_id": account_id, "exp": now + Duration::from_hours(1).as_secs()});
    let secret = jsonwebtoken::EncodingKey::from_secret(jwt_secret.as_bytes());
    let jwt = jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &secret)?;
    // An account has a limited number of keys: those of earlier runs go first.
    let listed = call(address, "GET", &format!("{prefix}/keys"), &jwt).await?;
    for key in listed["keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|key| key["active"] == true)
    {
        let id = key["id"].as_str().ok_or("a key has no id")?;
        call(address, "DELETE", &format!("{prefix}/keys/{id}"), &jwt).await?;
    }
    let created = call(address, "POST", &format!("{prefix}/keys"), &jwt).await?;
    Ok(created["secret"]
        .as_str()
        .ok_or_else(|| format!("no key was made: {created}"))?
        .to_owned())
}

/// Calls with a session token; the answer's body.
pub(crate) async fn call(address: &str, method: &str, path: &str, jwt: &str) -> Result<Value, BoxError> {
    let stream = TokioIo::new(TcpStream::connect(address).await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", address)
        .header("authorization", format!("Bearer {jwt}"))
        .body(Full::new(Bytes::new()))?;
    let exchange = async {
        let body = sender
            .send_request(request)
            .await?
            .into_body()
            .collect()
            .await?
            .to_bytes();
        Ok::<_, BoxError>(serde_json::from_slice(&body)?)
    };
    tokio::select! {
        answer = exchange => answer,
        closed = connection => Err(closed.err().map_or_else(|| "the gateway closed the connection".into(), BoxError::from)),
    }
}

/// A call of a service by who has this token.
pub(crate) fn with_token<T>(message: T, token: &str) -> Result<tonic::Request<T>, BoxError> {
    let mut request = tonic::Request::new(message);
    let token = format!("Bearer {token}").parse()?;
    request.metadata_mut().insert("authorization", token);
    Ok(request)
}

/// An address or a secret of the running system.
#[expect(
    clippy::disallowed_methods,
    reason = "the addresses of a running system come by the environment"
)]
pub(crate) fn variable(name: &str) -> Result<String, BoxError> {
    std::env::var(name)
        .map_err(|_| format!("{name} is not set: start the system with ./dev up, then ./dev bench").into())
}
