//! The public interface: requests to it, and what it answers.

use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use crate::connection::{ANSWER_TIMEOUT, CONNECT_TIMEOUT, causes};
use crate::failure::{Failure, Refusal};

/// How the address of the interface ends.
const BASE_PATH: &str = "/api/v1";

/// The header with the key.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The public interface at one address.
pub(crate) struct Rest {
    client: reqwest::Client,
    base: String,
}

impl Rest {
    /// The interface at an address with `/api/v1`. The authority is PEM, for an address with a certificate of its own.
    pub(crate) fn new(base: &str, authority: Option<&[u8]>) -> Result<Self, Failure> {
        let base = base.trim_end_matches('/').to_owned();
        let unusable = |error: &dyn std::error::Error| {
            Failure::Refused(format!("can't speak to {base}: {}", causes(error)))
        };
        let mut client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(ANSWER_TIMEOUT);
        if let Some(pem) = authority {
            let certificate = reqwest::Certificate::from_pem(pem).map_err(|error| unusable(&error))?;
            client = client.tls_certs_merge([certificate]);
        }
        let client = client.build().map_err(|error| unusable(&error))?;
        Ok(Self { client, base })
    }

    /// Sends a request; the body of its answer.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        prepare: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Value, Failure> {
        let url = format!("{}{path}", self.base);
        let unreachable = |error: reqwest::Error| {
            let before_it_was_sent = error.is_connect() || error.is_builder();
            Failure::Unreachable {
                message: format!(
                    "can't reach {url}: {} (does it run? ./dev status)",
                    causes(&error.without_url())
                ),
                before_it_was_sent,
            }
        };
        let response = prepare(self.client.request(method, &url))
            .send()
            .await
            .map_err(unreachable)?;
        let status = response.status();
        let retry_after = retry_after(&response);
        let body = response.bytes().await.map_err(unreachable)?;
        let value: Value = serde_json::from_slice(&body).map_err(|_| {
            Failure::Refused(format!(
                "{url} answered {status} without JSON: is the address right? It ends in /api/v1"
            ))
        })?;
        if status.is_success() {
            Ok(value)
        } else {
            Err(Failure::Rest(Box::new(Refusal {
                status: status.as_u16(),
                body: value,
                retry_after,
            })))
        }
    }
}

/// Seconds that the answer asks to wait.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// The public interface, asked with an API key.
pub(crate) struct Api {
    rest: Rest,
    key: HeaderValue,
}

impl Api {
    /// The interface, and the key as its owner wrote it.
    pub(crate) fn new(rest: Rest, key: &str) -> Result<Self, Failure> {
        let mut key: HeaderValue = key.trim().parse().map_err(|_| {
            Failure::Usage("the API key has characters that no key has: copy it again, whole".to_owned())
        })?;
        key.set_sensitive(true);
        Ok(Self { rest, key })
    }

    /// Where it is, without a slash at the end.
    pub(crate) fn base(&self) -> &str {
        &self.rest.base
    }

    /// Reads a path, with these parameters.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, Failure> {
        let mut written = form_urlencoded::Serializer::new(String::new());
        let path = format!("{path}?{}", written.extend_pairs(query).finish());
        let prepare =
            |request: RequestBuilder| request.header(HeaderName::from_static("x-api-key"), self.key.clone());
        self.rest.send(Method::GET, &path, prepare).await
    }

    /// Posts a body, with an `Idempotency-Key` if there is one.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Value,
        idempotency_key: Option<&str>,
    ) -> Result<Value, Failure> {
        let prepare = |request: RequestBuilder| {
            let request = request.header(API_KEY, self.key.clone()).json(body);
            match idempotency_key {
                Some(key) => request.header(HeaderName::from_static("idempotency-key"), key),
                None => request,
            }
        };
        self.rest.send(Method::POST, path, prepare).await
    }

    /// What is at this path beside the interface, with the same key.
    pub(crate) fn beside(mut self, path: &str) -> Result<Self, Failure> {
        let Some(host) = self.rest.base.strip_suffix(BASE_PATH) else {
            return Err(Failure::Usage(format!(
                "{} does not end in {BASE_PATH}: it is not known where {path} is",
                self.rest.base
            )));
        };
        self.rest.base = format!("{host}{path}");
        Ok(self)
    }

    /// Posts a message of the Model Context Protocol, in this version of it.
    pub(crate) async fn post_message(&self, message: &Value, protocol: &str) -> Result<Value, Failure> {
        let prepare = |request: RequestBuilder| {
            request
                .header(API_KEY, self.key.clone())
                .header(ACCEPT, "application/json, text/event-stream")
                .header(HeaderName::from_static("mcp-protocol-version"), protocol)
                .json(message)
        };
        self.rest.send(Method::POST, "", prepare).await
    }
}
