//! Tokens of every kind, each against each rule.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::HeaderValue;
use jsonwebtoken::{EncodingKey, Header, encode};
use runtime::ambient::Ambient;
use serde_json::json;

use super::*;

const SECRET: &[u8] = b"a secret of the tests, with 32 characters or more";

fn rules(algorithm: Algorithm) -> SessionRules {
    SessionRules {
        algorithm,
        issuer: None,
        audience: Vec::new(),
        account_claim: "account_id".to_owned(),
    }
}

fn hs256() -> SessionKeys {
    SessionKeys::Fixed(Arc::new(DecodingKey::from_secret(SECRET)))
}

fn in_seconds(seconds: i64) -> i64 {
    Ambient::system().now().timestamp() + seconds
}

fn signed(claims: &Value) -> String {
    encode(
        &Header::new(Algorithm::HS256),
        claims,
        &EncodingKey::from_secret(SECRET),
    )
    .unwrap()
}

fn part(value: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

async fn account_of_header(sessions: &Sessions, header: &str) -> Option<String> {
    let headers = HeaderMap::from_iter([(
        http::header::AUTHORIZATION,
        HeaderValue::from_str(header).unwrap(),
    )]);
    match sessions.authenticate(&headers).await {
        Ok(account) => Some(account.as_str().to_owned()),
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::InvalidToken);
            None
        }
    }
}

async fn account(sessions: &Sessions, token: &str) -> Option<String> {
    account_of_header(sessions, &format!("Bearer {token}")).await
}

#[tokio::test]
async fn a_token_with_conditions_that_nobody_knows_is_refused() {
    let sessions = Sessions::new(&rules(Algorithm::HS256), hs256());
    let claims = json!({"exp": in_seconds(60), "account_id": "acme"});
    for (crit, expected) in [(None, Some("acme")), (Some(vec!["b64".to_owned()]), None)] {
        let header = Header {
            crit,
            ..Header::new(Algorithm::HS256)
        };
        let token = encode(&header, &claims, &EncodingKey::from_secret(SECRET)).unwrap();
        assert_eq!(account(&sessions, &token).await.as_deref(), expected);
    }
}

#[tokio::test]
async fn a_valid_token_names_its_account() {
    let sessions = Sessions::new(&rules(Algorithm::HS256), hs256());
    let exp = in_seconds(60);
    for claims in [
        json!({"exp": exp, "account_id": "acme"}),
        json!({"exp": exp, "account_id": "acme", "sub": "somebody"}),
        json!({"exp": exp, "sub": "acme"}),
        json!({"exp": exp, "account_id": "acme", "nbf": in_seconds(-60), "iss": "any", "aud": ["any"]}),
        json!({"exp": in_seconds(-20), "account_id": "acme"}),
        json!({"exp": exp, "account_id": "acme", "nbf": in_seconds(20)}),
    ] {
        assert_eq!(
            account(&sessions, &signed(&claims)).await.as_deref(),
            Some("acme"),
            "{claims}"
        );
    }
    let token = signed(&json!({"exp": exp, "account_id": "acme"}));
    for header in [format!("bearer {token}"), format!("BEARER   {token} ")] {
        assert_eq!(
            account_of_header(&sessions, &header).await.as_deref(),
            Some("acme")
        );
    }
    let tenant = SessionRules {
        account_claim: "tenant".to_owned(),
        ..rules(Algorithm::HS256)
    };
    let token = signed(&json!({"exp": exp, "tenant": "t", "account_id": "acme"}));
    assert_eq!(
        account(&Sessions::new(&tenant, hs256()), &token).await.as_deref(),
        Some("t")
    );
}

#[tokio::test]
async fn whatever_is_wrong_with_the_claims_it_is_refused() {
    let sessions = Sessions::new(&rules(Algorithm::HS256), hs256());
    let exp = in_seconds(60);
    for claims in [
        json!({"account_id": "acme"}),
        json!({"exp": null, "account_id": "acme"}),
        json!({"exp": exp.to_string(), "account_id": "acme"}),
        json!({"exp": -1, "account_id": "acme"}),
        json!({"exp": in_seconds(-40), "account_id": "acme"}),
        json!({"exp": exp, "nbf": in_seconds(40), "account_id": "acme"}),
        json!({"exp": exp, "nbf": "soon", "account_id": "acme"}),
        json!({"exp": exp}),
        json!({"exp": exp, "account_id": ""}),
        json!({"exp": exp, "account_id": " acme"}),
        json!({"exp": exp, "account_id": 7}),
        json!({"exp": exp, "account_id": null, "sub": "acme"}),
        json!({"exp": exp, "account_id": ["acme"], "sub": "acme"}),
        json!({"exp": exp, "account_id": "x".repeat(129)}),
        json!(["acme"]),
        json!("acme"),
    ] {
        assert_eq!(account(&sessions, &signed(&claims)).await, None, "{claims}");
    }
}

#[tokio::test]
async fn issuer_and_audience_are_required_where_they_are_configured() {
    let rules = SessionRules {
        issuer: Some("https://issuer.example".to_owned()),
        audience: vec!["api".to_owned(), "dashboard".to_owned()],
        ..rules(Algorithm::HS256)
    };
    let sessions = Sessions::new(&rules, hs256());
    let exp = in_seconds(60);
    let claims = |iss: Value, aud: Value| json!({"exp": exp, "account_id": "acme", "iss": iss, "aud": aud});
    let issuer = json!("https://issuer.example");
    for aud in [json!("api"), json!(["other", "dashboard"])] {
        assert!(
            account(&sessions, &signed(&claims(issuer.clone(), aud)))
                .await
                .is_some()
        );
    }
    for (iss, aud) in [
        (json!("https://issuer.example/"), json!("api")),
        (json!("other"), json!("api")),
        (json!(null), json!("api")),
        (issuer.clone(), json!("other")),
        (issuer.clone(), json!([])),
        (issuer.clone(), json!(null)),
        (issuer.clone(), json!(7)),
    ] {
        assert_eq!(
            account(&sessions, &signed(&claims(iss.clone(), aud.clone()))).await,
            None,
            "{iss} {aud}"
        );
    }
    let without = json!({"exp": exp, "account_id": "acme"});
    assert_eq!(account(&sessions, &signed(&without)).await, None);
}

#[tokio::test]
async fn what_is_no_token_of_ours_is_refused() {
    let sessions = Sessions::new(&rules(Algorithm::HS256), hs256());
    let claims = json!({"exp": in_seconds(60), "account_id": "acme"});
    let good = signed(&claims);
    let (body, signature) = good.rsplit_once('.').unwrap();
    let other = EncodingKey::from_secret(b"another secret of the tests, as long as the first");
    let with = |algorithm, key: &EncodingKey| encode(&Header::new(algorithm), &claims, key).unwrap();
    let none = |algorithm: &str| {
        format!(
            "{}.{}.",
            part(&json!({"alg": algorithm, "typ": "JWT"})),
            part(&claims)
        )
    };
    let altered = json!({"exp": in_seconds(60), "account_id": "other"});
    let head = good.split('.').next().unwrap();
    for token in [
        String::new(),
        "dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV0lYb4h".to_owned(),
        "a.b.c".to_owned(),
        "..".to_owned(),
        body.to_owned(),
        format!("{body}."),
        format!("{good}x"),
        format!("{good}.x"),
        format!("{head}.{}.{signature}", part(&altered)),
        with(Algorithm::HS256, &other),
        with(Algorithm::HS384, &EncodingKey::from_secret(SECRET)),
        with(Algorithm::HS512, &EncodingKey::from_secret(SECRET)),
        none("none"),
        none("None"),
        none("HS256"),
        format!("{good}{}", "x".repeat(20_000)),
    ] {
        assert_eq!(account(&sessions, &token).await, None, "{token}");
    }
    for header in [
        good.clone(),
        format!("Basic {good}"),
        format!("Bearer{good}"),
        "Bearer".to_owned(),
    ] {
        assert_eq!(account_of_header(&sessions, &header).await, None);
    }
    let mut twice = HeaderMap::new();
    for _ in 0..2 {
        twice.append(
            http::header::AUTHORIZATION,
            HeaderValue::from_str(&format!("Bearer {good}")).unwrap(),
        );
    }
    assert!(sessions.authenticate(&twice).await.is_err());
    assert!(sessions.authenticate(&HeaderMap::new()).await.is_err());
}

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        BASE64_STANDARD.encode(der)
    )
    .into_bytes()
}

/// A new key pair: what signs, and what verifies.
fn rs256() -> (EncodingKey, Vec<u8>) {
    let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
    let private = aws_lc_rs::encoding::AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
    let public: aws_lc_rs::encoding::PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
    (
        EncodingKey::from_rsa_pem(&pem("PRIVATE KEY", private.as_ref())).unwrap(),
        pem("PUBLIC KEY", public.as_ref()),
    )
}

fn es256() -> (EncodingKey, EcdsaKeyPair) {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let private = pair.to_pkcs8v1().unwrap();
    (EncodingKey::from_ec_der(private.as_ref()), pair)
}

#[tokio::test]
async fn a_public_key_verifies_and_never_serves_as_a_shared_secret() {
    let (signing, public) = rs256();
    let fixed = SessionKeys::Fixed(Arc::new(DecodingKey::from_rsa_pem(&public).unwrap()));
    let sessions = Sessions::new(&rules(Algorithm::RS256), fixed);
    let claims = json!({"exp": in_seconds(60), "account_id": "acme"});
    let good = encode(&Header::new(Algorithm::RS256), &claims, &signing).unwrap();
    assert_eq!(account(&sessions, &good).await.as_deref(), Some("acme"));
    let confused = encode(
        &Header::new(Algorithm::HS256),
        &claims,
        &EncodingKey::from_secret(&public),
    )
    .unwrap();
    assert_eq!(account(&sessions, &confused).await, None);
    let other = encode(&Header::new(Algorithm::RS256), &claims, &rs256().0).unwrap();
    assert_eq!(account(&sessions, &other).await, None);
    let stronger = encode(&Header::new(Algorithm::RS512), &claims, &signing).unwrap();
    assert_eq!(
        account(&sessions, &stronger).await,
        None,
        "the algorithm is the configured one"
    );
    assert_eq!(
        account(&Sessions::new(&rules(Algorithm::HS256), hs256()), &good).await,
        None
    );
}

#[tokio::test]
async fn an_ed25519_key_verifies() {
    let pair = Ed25519KeyPair::generate().unwrap();
    let private = pair.to_pkcs8v1().unwrap();
    let key = DecodingKey::from_ed_der(pair.public_key().as_ref());
    let sessions = Sessions::new(&rules(Algorithm::EdDSA), SessionKeys::Fixed(Arc::new(key)));
    let claims = json!({"exp": in_seconds(60), "account_id": "acme"});
    let good = encode(
        &Header::new(Algorithm::EdDSA),
        &claims,
        &EncodingKey::from_ed_der(private.as_ref()),
    )
    .unwrap();
    assert_eq!(account(&sessions, &good).await.as_deref(), Some("acme"));
}

/// The public half as a JSON Web Key.
fn jwk(id: &str, pair: &EcdsaKeyPair) -> Value {
    let point = pair.public_key().as_ref();
    let coordinate = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "alg": "ES256",
           "x": coordinate(&point[1..33]), "y": coordinate(&point[33..65])})
}

fn token_of(key: &EncodingKey, id: Option<&str>) -> String {
    let claims = json!({"exp": in_seconds(60), "account_id": "acme"});
    let header = Header {
        kid: id.map(str::to_owned),
        ..Header::new(Algorithm::ES256)
    };
    encode(&header, &claims, key).unwrap()
}

#[tokio::test]
async fn published_keys_are_fetched_when_they_are_needed_and_not_more_often() {
    let ((first, first_pair), (second, second_pair)) = (es256(), es256());
    let encryption = {
        let mut key = jwk("first", &second_pair);
        key["use"] = json!("enc");
        key
    };
    let unreadable = json!({"kty": "unheard of", "kid": "x"});
    let set = json!({"keys": [unreadable, encryption, jwk("first", &first_pair)]});
    let (url, fetches, shutdown) = serve(set).await;
    let jwks = Arc::new(Jwks::new(url, Algorithm::ES256).unwrap());
    let sessions = Sessions::new(&rules(Algorithm::ES256), SessionKeys::Published(jwks));
    assert_eq!(
        account(&sessions, &token_of(&first, Some("first")))
            .await
            .as_deref(),
        Some("acme")
    );
    assert_eq!(
        account(&sessions, &token_of(&first, None)).await.as_deref(),
        Some("acme"),
        "the only one there is"
    );
    for _ in 0..5 {
        assert_eq!(account(&sessions, &token_of(&second, Some("second"))).await, None);
    }
    assert_eq!(account(&sessions, &token_of(&second, Some("first"))).await, None);
    assert_eq!(
        fetches.load(std::sync::atomic::Ordering::SeqCst),
        1,
        "unknown names cause no traffic"
    );
    shutdown.begin();
}

#[tokio::test]
async fn while_no_keys_could_be_fetched_nobody_is_told_that_its_token_is_bad() {
    let jwks = Arc::new(Jwks::new("http://127.0.0.1:1/".to_owned(), Algorithm::ES256).unwrap());
    let sessions = Sessions::new(&rules(Algorithm::ES256), SessionKeys::Published(jwks));
    let header = HeaderValue::from_str(&format!("Bearer {}", token_of(&es256().0, Some("x")))).unwrap();
    let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, header)]);
    assert_eq!(
        sessions.authenticate(&headers).await.unwrap_err().code(),
        ErrorCode::Unavailable
    );
}

/// Publishes the set and counts how often it is fetched.
async fn serve(
    set: Value,
) -> (
    String,
    Arc<std::sync::atomic::AtomicUsize>,
    runtime::shutdown::Shutdown,
) {
    let (fetches, shutdown) = (
        Arc::<std::sync::atomic::AtomicUsize>::default(),
        runtime::shutdown::Shutdown::new(),
    );
    let counted = Arc::clone(&fetches);
    let router = axum::Router::new().route(
        "/jwks",
        axum::routing::get(async move || {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            axum::Json(set)
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks", listener.local_addr().unwrap());
    let serving = shutdown.clone();
    shutdown.spawn(async move { crate::server::serve(listener, router, &Ambient::system(), &serving).await });
    (url, fetches, shutdown)
}
