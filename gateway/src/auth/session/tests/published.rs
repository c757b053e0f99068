//! Keys that the issuer publishes: in good order, changing, away, and hostile.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::StreamExt as _;
use http::StatusCode;
use runtime::shutdown::Shutdown;

use super::*;
use crate::server::{ConnectionLimits, Timeouts};

/// The public half as a JSON Web Key.
pub(super) fn jwk(id: &str, pair: &EcdsaKeyPair) -> Value {
    let point = pair.public_key().as_ref();
    let coordinate = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "alg": "ES256",
           "x": coordinate(&point[1..33]), "y": coordinate(&point[33..65])})
}

fn with(mut key: Value, name: &str, value: Value) -> Value {
    key[name] = value;
    key
}

fn token_of(key: &EncodingKey, id: Option<&str>) -> String {
    let claims = json!({"exp": in_seconds(60), "account_id": "acme"});
    let header = Header {
        kid: id.map(str::to_owned),
        ..Header::new(Algorithm::ES256)
    };
    encode(&header, &claims, key).unwrap()
}

/// What the issuer's address says.
type Answer = Arc<dyn Fn() -> Response + Send + Sync>;

fn set(keys: &[Value]) -> Answer {
    let set = json!({ "keys": keys });
    Arc::new(move || axum::Json(set.clone()).into_response())
}

fn status(status: StatusCode) -> Answer {
    Arc::new(move || status.into_response())
}

fn text(text: &'static str) -> Answer {
    Arc::new(move || text.into_response())
}

/// An issuer, and a gateway that takes its tokens. Both end with the test.
struct Issuer {
    answer: Arc<Mutex<Answer>>,
    fetches: Arc<AtomicUsize>,
    shutdown: Shutdown,
    sessions: Sessions,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

impl Issuer {
    /// One that is asked at most so often.
    async fn start(first: Answer, at_most_every: Duration) -> Self {
        let (answer, fetches) = (Arc::new(Mutex::new(first)), Arc::<AtomicUsize>::default());
        let shutdown = Shutdown::new();
        let (answering, counting) = (Arc::clone(&answer), Arc::clone(&fetches));
        let router = axum::Router::new().fallback(async move || {
            counting.fetch_add(1, Ordering::SeqCst);
            let answer = Arc::clone(&answering.lock().unwrap());
            answer()
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let serving = shutdown.clone();
        shutdown.spawn(async move {
            let minute = Duration::from_mins(1);
            let limits = ConnectionLimits {
                max_connections: 100,
                timeouts: Timeouts {
                    head: minute,
                    idle: minute,
                    answer: minute,
                },
            };
            crate::server::serve(listener, router, limits, &Ambient::system(), &serving).await;
        });
        let jwks = Jwks::new(url, Algorithm::ES256).unwrap();
        let jwks = Arc::new(jwks.at_most_every(at_most_every));
        let (fetching, draining) = (Arc::clone(&jwks), shutdown.drain_token());
        shutdown.spawn(async move { draining.run_until_cancelled(fetching.keep_fresh()).await });
        let sessions = sessions_by(&rules(Algorithm::ES256), SessionKeys::Published(jwks));
        Self {
            answer,
            fetches,
            shutdown,
            sessions,
        }
    }

    fn say(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }

    /// `Ok` if the token opens, else why not.
    async fn opens(&self, token: &str) -> Result<(), ErrorCode> {
        let header = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
        let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, header)]);
        let answer = self.sessions.authenticate(&headers).await;
        answer.map(|_| ()).map_err(|error| error.code())
    }
}

/// Waits until the condition holds.
async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !condition().await {
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "waited in vain until {what}"
        );
    }
}

/// So long that no test lasts until it is over.
const SELDOM: Duration = Duration::from_hours(1);

#[tokio::test]
async fn published_keys_are_fetched_when_they_are_needed_and_not_more_often() {
    let ((first, first_pair), (second, _)) = (es256(), es256());
    let issuer = Issuer::start(set(&[jwk("first", &first_pair)]), SELDOM).await;
    let named = |key, name| token_of(key, Some(name));
    assert_eq!(issuer.opens(&named(&first, "first")).await, Ok(()));
    let unnamed = token_of(&first, None);
    assert_eq!(issuer.opens(&unnamed).await, Ok(()), "the only one there is");
    for _ in 0..5 {
        let refused = issuer.opens(&named(&second, "second")).await;
        assert_eq!(refused, Err(ErrorCode::InvalidToken));
    }
    for wrong in [named(&second, "first"), token_of(&second, None)] {
        assert_eq!(issuer.opens(&wrong).await, Err(ErrorCode::InvalidToken));
    }
    assert_eq!(issuer.fetches(), 1, "unknown names cause no traffic");
}

#[tokio::test]
async fn keys_change_without_a_good_token_refused() {
    let ((old, old_pair), (new, new_pair)) = (es256(), es256());
    let (old, new) = (token_of(&old, Some("old")), token_of(&new, Some("new")));
    let issuer = Issuer::start(set(&[jwk("old", &old_pair)]), Duration::ZERO).await;
    assert_eq!(issuer.opens(&old).await, Ok(()));
    assert_eq!(issuer.opens(&new).await, Err(ErrorCode::InvalidToken));
    issuer.say(set(&[jwk("old", &old_pair), jwk("new", &new_pair)]));
    // A fetch that had begun before tells of the time before.
    until("the new key counts", async || issuer.opens(&new).await == Ok(())).await;
    assert_eq!(issuer.opens(&old).await, Ok(()));
    issuer.say(set(&[jwk("new", &new_pair)]));
    // Whatever needs a fetch ends the old one.
    let unknown = token_of(&es256().0, Some("unknown"));
    until("the old key is gone", async || {
        assert_eq!(issuer.opens(&unknown).await, Err(ErrorCode::InvalidToken));
        assert_eq!(issuer.opens(&new).await, Ok(()));
        issuer.opens(&old).await == Err(ErrorCode::InvalidToken)
    })
    .await;
}

#[tokio::test]
async fn while_the_issuer_is_away_or_hostile_old_keys_go_on_and_new_ones_come_later() {
    let ((old, old_pair), (new, new_pair)) = (es256(), es256());
    let (old, new) = (token_of(&old, Some("old")), token_of(&new, Some("new")));
    let new_key = jwk("new", &new_pair);
    let padding = "x".repeat(2 * 1024 * 1024);
    let huge = with(new_key.clone(), "padding", json!(padding));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let elsewhere: Answer = Arc::new(|| {
        let to = [(http::header::LOCATION, "http://127.0.0.1:1/jwks")];
        (StatusCode::TEMPORARY_REDIRECT, to).into_response()
    });
    // A byte now and then, for ever.
    let dripping: Answer = Arc::new(|| {
        let drops = futures::stream::repeat(Bytes::from_static(b" ")).then(async |drop| {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok::<_, Infallible>(drop)
        });
        Body::from_stream(drops).into_response()
    });
    let secret =
        json!({"kty": "oct", "kid": "new", "alg": "HS256", "k": BASE64_URL_SAFE_NO_PAD.encode(SECRET)});
    let answers: [(&str, Answer); 15] = [
        ("an error", status(StatusCode::INTERNAL_SERVER_ERROR)),
        ("nothing there", status(StatusCode::NOT_FOUND)),
        ("no content", status(StatusCode::NO_CONTENT)),
        ("another address", elsewhere),
        ("a page", text("<html>maintenance</html>")),
        ("half of it", text("{\"keys\": [")),
        ("another shape", text("{\"keys\": {}}")),
        ("nested", Arc::new(move || deep.clone().into_response())),
        ("huge", set(&[huge])),
        ("never whole", dripping),
        ("no key", set(&[])),
        (
            "a shared secret",
            set(&[secret.clone(), with(secret, "alg", json!("ES256"))]),
        ),
        (
            "keys for encryption",
            set(&[with(new_key.clone(), "use", json!("enc"))]),
        ),
        (
            "keys for signing",
            set(&[with(new_key.clone(), "key_ops", json!(["sign"]))]),
        ),
        (
            "keys for others",
            set(&[
                with(new_key.clone(), "alg", json!("ES384")),
                json!({"kty": "unheard of"}),
                json!(7),
            ]),
        ),
    ];
    for (what, answer) in answers {
        let issuer = Issuer::start(set(&[jwk("old", &old_pair)]), Duration::ZERO).await;
        assert_eq!(issuer.opens(&old).await, Ok(()), "{what}");
        issuer.say(answer);
        until(what, async || {
            let refused = issuer.opens(&new).await.unwrap_err();
            assert_eq!(issuer.opens(&old).await, Ok(()), "{what}");
            refused == ErrorCode::Unavailable
        })
        .await;
        let by_secret = signed(&json!({"exp": in_seconds(60), "account_id": "acme"}));
        assert!(issuer.opens(&by_secret).await.is_err(), "{what}");
        issuer.say(set(&[jwk("old", &old_pair), new_key.clone()]));
        until("the new key counts", async || issuer.opens(&new).await == Ok(())).await;
        assert_eq!(issuer.opens(&old).await, Ok(()), "{what}");
    }
}

#[tokio::test]
async fn good_keys_beside_bad_ones_count() {
    let ((good, good_pair), (_, other)) = (es256(), es256());
    let issuer = Issuer::start(
        set(&[
            json!({"kty": "unheard of", "kid": "good"}),
            json!({"kty": "oct", "kid": "good", "k": BASE64_URL_SAFE_NO_PAD.encode(SECRET)}),
            json!({"kty": "EC", "crv": "P-256", "kid": "broken", "x": "AA", "y": "AA"}),
            with(jwk("good", &other), "use", json!("enc")),
            jwk("good", &good_pair),
        ]),
        SELDOM,
    )
    .await;
    assert_eq!(issuer.opens(&token_of(&good, Some("good"))).await, Ok(()));
}

#[tokio::test]
async fn while_no_keys_could_be_fetched_nobody_is_told_that_its_token_is_bad() {
    let issuer = Issuer::start(status(StatusCode::BAD_GATEWAY), SELDOM).await;
    let token = token_of(&es256().0, Some("x"));
    for _ in 0..2 {
        assert_eq!(issuer.opens(&token).await, Err(ErrorCode::Unavailable));
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn callers_who_leave_cause_no_traffic() {
    let (key, pair) = es256();
    let issuer = Issuer::start(set(&[jwk("known", &pair)]), Duration::ZERO).await;
    let (known, unknown) = (token_of(&key, Some("known")), token_of(&key, Some("unknown")));
    assert_eq!(issuer.opens(&known).await, Ok(()));
    let before = issuer.fetches();
    issuer.say(Arc::new(|| {
        Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>()).into_response()
    }));
    for _ in 0..100 {
        let asked = tokio::time::timeout(Duration::from_millis(1), issuer.opens(&unknown));
        assert!(asked.await.is_err(), "nobody can tell yet");
    }
    assert!(issuer.fetches() < before + 10, "{}", issuer.fetches());
    assert_eq!(issuer.opens(&known).await, Ok(()));
}
