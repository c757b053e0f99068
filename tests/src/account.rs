//! An account and its requests.

use std::time::{Duration, SystemTime};

use devstack::Environment;
use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::answer::Answer;

/// An account with an API key and a session.
#[derive(Clone)]
pub struct Account {
    /// Id.
    pub id: String,
    /// Session token.
    pub jwt: String,
    /// Id of the API key.
    pub key_id: String,
    /// API key.
    pub key: String,
    /// Address of the gateway, with `/api/v1`.
    pub base: String,
    client: Client,
}

impl Account {
    pub(crate) fn new(environment: &Environment, id: String, jwt: String) -> Self {
        let client = Client::builder()
            .timeout(Duration::from_mins(1))
            .build()
            .expect("a client can be made");
        let base = environment.base_url.clone();
        let mut account = Self {
            id,
            jwt,
            key_id: String::new(),
            key: String::new(),
            base,
            client,
        };
        let created = account
            .keys(Method::POST, "", Some(json!({"name": "test"})))
            .expect(201);
        account.key_id = text(&created.body["key"]["id"]);
        account.key = text(&created.body["secret"]);
        account
    }

    /// The same account, which asks the gateway at this address, with `/api/v1`.
    #[must_use]
    pub fn at(&self, base: &str) -> Self {
        Self {
            base: base.to_owned(),
            ..self.clone()
        }
    }

    /// A request without credentials to a path below the base address.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// A search with the API key.
    #[must_use]
    pub fn search(&self, kind: &str, body: &Value) -> Answer {
        self.search_with(kind, body, &[])
    }

    /// A search with the API key and further headers.
    ///
    /// # Panics
    /// If it is not answered.
    #[must_use]
    pub fn search_with(&self, kind: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut request = self
            .request(Method::POST, &format!("/{kind}/search"))
            .header("X-API-Key", &self.key)
            .json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(request)
    }

    /// What an operation that takes a search's body answers to the API key: `/people/count`.
    ///
    /// # Panics
    /// If it does not answer.
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        let request = self.request(Method::POST, path).header("X-API-Key", &self.key);
        Answer::of(request.json(body))
    }

    /// What a path, with its query string, answers to the API key.
    ///
    /// # Panics
    /// If it does not answer.
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        let request = self.request(Method::GET, path).header("X-API-Key", &self.key);
        Answer::of(request)
    }

    /// A search for companies.
    #[must_use]
    pub fn companies(&self, body: &Value) -> Answer {
        self.search("companies", body)
    }

    /// A search for people.
    #[must_use]
    pub fn people(&self, body: &Value) -> Answer {
        self.search("people", body)
    }

    /// A request to `/keys` with the session.
    ///
    /// # Panics
    /// If it is not answered.
    #[must_use]
    pub fn keys(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let mut request = self
            .request(method, &format!("/keys{path}"))
            .bearer_auth(&self.jwt);
        if let Some(body) = body {
            request = request.json(&body);
        }
        Answer::of(request)
    }
}

/// A session token of an account, good for an hour.
#[must_use]
pub fn session(account: &str, secret: &str) -> String {
    sign(&claims(account), secret)
}

/// What a session token says: it is an account's, and good for an hour.
///
/// # Panics
/// If it is before 1970.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "a test signs for the clock of the processes"
)]
pub fn claims(account: &str) -> Value {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("it is later than 1970")
        .as_secs();
    json!({"account_id": account, "iat": now, "exp": now + 3_600})
}

/// A token with these claims, signed with HS256.
///
/// # Panics
/// If it can't be signed.
#[must_use]
pub fn sign(claims: &Value, secret: &str) -> String {
    let key = jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &key).expect("claims can be signed")
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}
