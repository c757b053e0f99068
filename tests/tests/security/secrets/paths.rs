//! The paths that secrets take: the right ones, the wrong ones, and those that end in a failure.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use proto::billing::v1::GrantCreditsRequest;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::keys::v1::{CreateKeyRequest, VerifyKeyRequest};
use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};
use system_tests::{Account, World, raw, sign};
use tonic::Request;
use tonic::transport::Endpoint;

use super::marks::Marks;

/// Sends what holds secrets, and keeps every answer.
pub(crate) struct Sender<'a> {
    world: &'a World,
    client: Client,
    /// All that was answered.
    pub(crate) answers: Vec<u8>,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        Self {
            world,
            client: Client::new(),
            answers: Vec::new(),
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let base = &self.world.environment.base_url;
        self.client.request(method, format!("{base}{path}"))
    }

    /// Sends it and keeps the answer, but for the one place where a new secret is told.
    pub(crate) fn send(&mut self, request: RequestBuilder) -> Value {
        // Who sends too much may be cut off before it has read why.
        let Ok(answer) = request.send() else {
            return Value::Null;
        };
        let head = format!("{} {:?}\n", answer.status(), answer.headers());
        self.answers.extend_from_slice(head.as_bytes());
        let bytes = answer.bytes().unwrap();
        let mut body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if let Some(secret) = body.get_mut("secret") {
            let told = secret.take();
            self.answers.extend_from_slice(body.to_string().as_bytes());
            body["secret"] = told;
        } else {
            self.answers.extend_from_slice(&bytes);
        }
        body
    }

    fn search(&self) -> RequestBuilder {
        self.request(Method::POST, "/companies/search")
            .json(&json!({"limit": 1}))
    }

    /// The life of a key; the last secret works, the others did once.
    pub(crate) fn life_of_a_key(&mut self, account: &Account, marks: &mut Marks) -> Vec<String> {
        let session = |request: RequestBuilder| request.bearer_auth(&account.jwt);
        let mut keys = Vec::new();
        let mut learn = |answer: &Value, what: &str| {
            let secret = answer["secret"].as_str().unwrap().to_owned();
            marks.add_key(what, &secret);
            keys.push(secret);
        };
        let revoked = self.send(session(self.request(Method::POST, "/keys")));
        learn(&revoked, "a revoked key");
        let id = revoked["key"]["id"].as_str().unwrap();
        self.send(session(self.request(Method::DELETE, &format!("/keys/{id}"))));
        let created = self.send(session(self.request(Method::POST, "/keys")).json(&json!({"name": "one"})));
        learn(&created, "a replaced key");
        let id = created["key"]["id"].as_str().unwrap();
        let renamed = session(self.request(Method::PATCH, &format!("/keys/{id}")));
        self.send(renamed.json(&json!({"name": "two"})));
        let path = format!("/keys/{id}/regenerate");
        let regenerated = self.send(session(self.request(Method::POST, &path)));
        learn(&regenerated, "a key");
        self.send(session(self.request(Method::GET, "/keys")));
        keys
    }

    /// The paths that are meant for them, whatever becomes of it.
    pub(crate) fn right_paths(&mut self, account: &Account, keys: &[String], marks: &mut Marks) {
        for key in keys {
            self.send(self.search().header("X-API-Key", key));
            self.send(self.search().bearer_auth(key));
        }
        let path = format!("/keys/{}/regenerate", account.key_id);
        for (method, path) in [
            (Method::GET, "/keys"),
            (Method::POST, "/keys"),
            (Method::POST, &path),
        ] {
            let answer = self.send(self.request(method, path).bearer_auth(&account.jwt));
            if let Some(secret) = answer["secret"].as_str() {
                marks.add_key("a key made while a part was dead", secret);
            }
        }
    }

    /// A key, good or bad, wherever callers put it.
    pub(crate) fn key_everywhere(&mut self, key: &str, marks: &mut Marks) {
        let basic = BASE64_STANDARD.encode(format!("user:{key}"));
        marks.add("a key as a password", &basic);
        let search = || self.search();
        let requests = [
            search().header("X-API-Key", key),
            search().bearer_auth(key),
            search()
                .header("X-API-Key", key)
                .header("Idempotency-Key", "once"),
            search().header("X-API-Key", key).header(
                "traceparent",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            ),
            search().header("X-API-Key", key).bearer_auth("another"),
            search().header("X-API-Key", format!("{key}, {key}")),
            search().header("X-API-Key", format!("{key}x")),
            search().header("Authorization", key),
            search().header("Authorization", format!("Token {key}")),
            search().header("Authorization", format!("Basic {basic}")),
            search().header("Cookie", format!("api_key={key}")),
            self.request(Method::POST, &format!("/companies/search?api_key={key}")),
            self.request(Method::POST, &format!("/companies/search?key={key}"))
                .header("X-API-Key", key)
                .json(&json!({"limit": 1})),
            search()
                .header("X-API-Key", key)
                .header("Referer", format!("https://a.example/?key={key}")),
            search().header("X-API-Key", key).header("User-Agent", key),
            search()
                .header("X-API-Key", key)
                .header("X-Request-Id", format!("\"{key}\"")),
            search()
                .header("X-API-Key", key)
                .header("Content-Type", "text/plain")
                .body("x"),
            search().header("X-API-Key", key).body("{"),
            search()
                .header("X-API-Key", key)
                .body(vec![b' '; 2 * 1024 * 1024]),
            search()
                .header("X-API-Key", key)
                .json(&json!({"companyName": key, "limit": 1})),
            search()
                .header("X-API-Key", key)
                .header("X-Padding", "x".repeat(100_000)),
            self.request(Method::GET, "/keys").bearer_auth(key),
            self.request(Method::GET, "/keys").header("X-API-Key", key),
            self.request(Method::DELETE, &format!("/keys/{key}"))
                .bearer_auth(key),
            self.request(Method::GET, &format!("/{key}")),
            self.request(Method::PUT, "/companies/search")
                .header("X-API-Key", key),
            self.request(Method::OPTIONS, "/companies/search")
                .header("X-API-Key", key),
        ];
        for request in requests {
            self.send(request);
        }
        // What does not get as far as a request.
        for head in [
            format!("GET /api/v1/keys HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nBad Header: x\r\n\r\n"),
            format!("GET /api/v1/keys HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nContent-Length: x\r\n\r\n"),
            format!("GET /{key}\u{1}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
            format!("{key} / HTTP/9.9\r\n\r\n"),
        ] {
            let answer = raw(self.world, head.as_bytes());
            self.answers.extend_from_slice(&answer.body);
        }
    }

    /// Session tokens, good and bad, wherever callers put them.
    pub(crate) fn sessions_everywhere(&mut self, account: &Account, marks: &mut Marks) {
        let secret = &self.world.environment.jwt_secret;
        let expired = sign(&json!({"account_id": account.id, "exp": 1}), secret);
        let forged = sign(
            &json!({"account_id": account.id, "exp": 9_999_999_999_i64}),
            "a secret that is not the one",
        );
        let nobodys = sign(&json!({"exp": 9_999_999_999_i64}), secret);
        for (what, token) in [
            ("a session", &account.jwt),
            ("an expired session", &expired),
            ("a forged session", &forged),
            ("nobody's session", &nobodys),
        ] {
            marks.add_token(what, token);
            let keys = || self.request(Method::GET, "/keys");
            let requests = [
                keys().bearer_auth(token),
                keys().header("Authorization", token),
                keys().header("X-API-Key", token),
                keys().header("Cookie", format!("session={token}")),
                self.request(Method::GET, &format!("/keys?token={token}")),
                keys()
                    .bearer_auth(token)
                    .header("Authorization", format!("Bearer {token}")),
                keys().bearer_auth(format!("{token}.x")),
                self.request(Method::PATCH, "/keys/none")
                    .bearer_auth(token)
                    .json(&json!({"name": ""})),
                self.request(Method::PATCH, &format!("/keys/{token}"))
                    .bearer_auth(token),
                self.search().bearer_auth(token),
                self.search().header("X-API-Key", token),
            ];
            for request in requests {
                self.send(request);
            }
        }
    }

    /// The internal side: with the right token, with one of no worth, with messages that are refused.
    pub(crate) fn services(&mut self, keys: &[String], wrong_token: &str) {
        let environment = &self.world.environment;
        let endpoint = |address: &str| Endpoint::from_shared(address.to_owned()).unwrap();
        let mut told = Vec::new();
        self.world.operator.block_on(async {
            let mut service = KeyServiceClient::new(endpoint(&environment.keys_grpc).connect_lazy());
            let mut billing = BillingServiceClient::new(endpoint(&environment.billing_grpc).connect_lazy());
            for token in [&*environment.service_token, wrong_token] {
                for key in keys {
                    for secret in [key.clone(), format!("{key}x")] {
                        let request = with_token(VerifyKeyRequest { secret }, token);
                        told.push(format!("{:?}", service.verify_key(request).await));
                    }
                }
                let request = CreateKeyRequest {
                    account_id: String::new(),
                    name: None,
                };
                told.push(format!(
                    "{:?}",
                    service.create_key(with_token(request, token)).await.unwrap_err()
                ));
                let request = with_token(GrantCreditsRequest::default(), token);
                told.push(format!("{:?}", billing.grant_credits(request).await.unwrap_err()));
            }
        });
        self.answers.extend_from_slice(told.concat().as_bytes());
    }
}

fn with_token<T>(message: T, token: &str) -> Request<T> {
    let mut request = Request::new(message);
    let bearer = format!("Bearer {token}").parse().unwrap();
    request.metadata_mut().insert("authorization", bearer);
    request
}
