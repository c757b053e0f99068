//! The issuer of sessions changes the key that it signs with, and publishes its keys.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use devstack::{Options, Part, Service};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::KeyPair;
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, World, claims, until};

use crate::fleet::Fleet;

/// A key of the issuer's.
struct Key {
    id: &'static str,
    pair: KeyPair,
}

impl Key {
    fn new(id: &'static str) -> Self {
        let pair = KeyPair::generate().unwrap();
        Self { id, pair }
    }

    /// The public half as a JSON Web Key.
    fn published(&self) -> Value {
        let point = self.pair.public_key_raw();
        let coordinate = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "kid": self.id, "use": "sig", "alg": "ES256",
               "x": coordinate(&point[1..33]), "y": coordinate(&point[33..65])})
    }

    /// Signs the session of an account with it.
    fn signer(&self) -> impl Fn(&str) -> String + Send + use<> {
        let key = EncodingKey::from_ec_pem(self.pair.serialize_pem().as_bytes()).unwrap();
        let header = Header {
            kid: Some(self.id.to_owned()),
            ..Header::new(Algorithm::ES256)
        };
        move |account| jsonwebtoken::encode(&header, &claims(account), &key).unwrap()
    }
}

/// Publishes keys.
struct Issuer {
    address: String,
    keys: Arc<Mutex<Value>>,
    /// Ends it.
    _runtime: tokio::runtime::Runtime,
}

impl Issuer {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let keys = Arc::<Mutex<Value>>::default();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = format!("http://{}/keys", listener.local_addr().unwrap());
        let published = Arc::clone(&keys);
        let router = Router::new()
            .fallback(async move || Json(published.lock().unwrap_or_else(PoisonError::into_inner).clone()));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            keys,
            _runtime: runtime,
        }
    }

    fn publish(&self, keys: &[&Key]) {
        let keys: Vec<_> = keys.iter().map(|key| key.published()).collect();
        *self.keys.lock().unwrap() = json!({ "keys": keys });
    }
}

/// What a gateway answers to a session that is signed with this key. A key that it does not know has it ask the issuer.
fn status(fleet: &Fleet, gateway: u8, account: &Account, key: &Key) -> u16 {
    let address = fleet
        .world
        .stack
        .address(Part::Process(Service::Gateway, gateway));
    let mut account = account.at(&format!("{}/api/v1", address.unwrap()));
    account.jwt = key.signer()(&account.id);
    account.keys(Method::GET, "", None).status
}

#[test]
fn the_issuers_key_is_changed_and_no_request_is_lost() {
    let [first, second, never] = ["first", "second", "never"].map(Key::new);
    let issuer = Issuer::start();
    issuer.publish(&[&first]);
    let world = World::start(Options::new());
    for (name, value) in [
        ("algorithm", "ES256"),
        ("jwks_url", &issuer.address),
        ("secret", ""),
    ] {
        world
            .stack
            .set(&format!("DS_GATEWAY__SESSION_{}", name.to_uppercase()), value);
    }
    let fleet = Fleet::of(world);
    fleet.load.sign_with(first.signer());
    let account = fleet.world.account_of(first.signer());
    fleet.while_asked(|| {
        assert_eq!(
            [1, 2].map(|gateway| status(&fleet, gateway, &account, &second)),
            [401; 2]
        );
        // Published beside the old one, until every gateway has fetched it.
        issuer.publish(&[&first, &second]);
        for gateway in [1, 2] {
            until("the new key is known", || {
                status(&fleet, gateway, &account, &second) == 200
            });
        }
        fleet.load.sign_with(second.signer());
        fleet.go_on();
        // Once all tokens that it has signed have expired the old one goes.
        issuer.publish(&[&second]);
        for gateway in [1, 2] {
            until("the old key is forgotten", || {
                assert_eq!(status(&fleet, gateway, &account, &never), 401);
                status(&fleet, gateway, &account, &first) == 401
            });
        }
        fleet.go_on();
    });
}
