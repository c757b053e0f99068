//! Tokens of every kind, each against each rule.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use aws_lc_rs::{hmac, rsa};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::HeaderValue;
use jsonwebtoken::{EncodingKey, Header, encode};
use runtime::ambient::Ambient;
use serde_json::json;
use serde_json::value::RawValue;

use super::*;

mod published;

const SECRET: &[u8] = b"a secret of the tests, with 32 characters or more";

fn rules(algorithm: Algorithm) -> SessionRules {
    SessionRules {
        algorithm,
        issuer: None,
        audience: Vec::new(),
        account_claim: "account_id".to_owned(),
        max_lifetime: None,
    }
}

fn sessions_by(rules: &SessionRules, keys: SessionKeys) -> Sessions {
    Sessions::new(rules, keys, Ambient::system())
}

fn hs256() -> SessionKeys {
    SessionKeys::Fixed(Arc::new([DecodingKey::from_secret(SECRET)]))
}

fn in_seconds(seconds: i64) -> i64 {
    Ambient::system().now().timestamp() + seconds
}

fn signed(claims: &impl serde::Serialize) -> String {
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
    let sessions = sessions_by(&rules(Algorithm::HS256), hs256());
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
    let sessions = sessions_by(&rules(Algorithm::HS256), hs256());
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
        account(&sessions_by(&tenant, hs256()), &token).await.as_deref(),
        Some("t")
    );
}

#[tokio::test]
async fn whatever_is_wrong_with_the_claims_it_is_refused() {
    let sessions = sessions_by(&rules(Algorithm::HS256), hs256());
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
    let sessions = sessions_by(&rules, hs256());
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
    let sessions = sessions_by(&rules(Algorithm::HS256), hs256());
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
    let fixed = SessionKeys::Fixed(Arc::new([DecodingKey::from_rsa_pem(&public).unwrap()]));
    let sessions = sessions_by(&rules(Algorithm::RS256), fixed);
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
        account(&sessions_by(&rules(Algorithm::HS256), hs256()), &good).await,
        None
    );
}

#[tokio::test]
async fn an_ed25519_key_verifies() {
    let pair = Ed25519KeyPair::generate().unwrap();
    let private = pair.to_pkcs8v1().unwrap();
    let key = DecodingKey::from_ed_der(pair.public_key().as_ref());
    let sessions = sessions_by(&rules(Algorithm::EdDSA), SessionKeys::Fixed(Arc::new([key])));
    let claims = json!({"exp": in_seconds(60), "account_id": "acme"});
    let good = encode(
        &Header::new(Algorithm::EdDSA),
        &claims,
        &EncodingKey::from_ed_der(private.as_ref()),
    )
    .unwrap();
    assert_eq!(account(&sessions, &good).await.as_deref(), Some("acme"));
}

/// Signed like a good one, whatever it says.
fn signed_text(header: &str, claims: &str) -> String {
    let signed = format!(
        "{}.{}",
        BASE64_URL_SAFE_NO_PAD.encode(header),
        BASE64_URL_SAFE_NO_PAD.encode(claims)
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
    let signature = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn what_stands_twice_counts_for_nothing() {
    let sessions = sessions_by(&rules(Algorithm::HS256), hs256());
    let (header, exp) = (r#"{"alg":"HS256"}"#, in_seconds(60));
    let once = format!(r#"{{"exp":{exp},"account_id":"acme"}}"#);
    let good = signed_text(header, &once);
    assert_eq!(account(&sessions, &good).await.as_deref(), Some("acme"));
    for twice in [
        format!(r#"{{"exp":{exp},"account_id":"acme","account_id":"other"}}"#),
        format!(r#"{{"exp":{exp},"account_id":"acme","account_id":"acme"}}"#),
        format!(r#"{{"exp":{exp},"account_id":"acme","account\u005fid":"other"}}"#),
        format!(r#"{{"exp":1,"account_id":"acme","exp":{exp}}}"#),
        format!(r#"{{"exp":{exp},"account_id":"acme","exp":1}}"#),
        format!(
            r#"{{"exp":{exp},"account_id":"acme","nbf":{0},"nbf":1}}"#,
            exp + 60
        ),
        format!(r#"{{"exp":{exp},"sub":"acme","sub":"other"}}"#),
    ] {
        assert_eq!(
            account(&sessions, &signed_text(header, &twice)).await,
            None,
            "{twice}"
        );
    }
    for header in [
        r#"{"alg":"HS256","alg":"none"}"#,
        r#"{"alg":"none","alg":"HS256"}"#,
        r#"{"alg":"HS256","kid":"a","kid":"b"}"#,
        r#"{"alg":"HS256","kid":7}"#,
        r#"{"alg":["HS256"]}"#,
        "[]",
    ] {
        assert_eq!(
            account(&sessions, &signed_text(header, &once)).await,
            None,
            "{header}"
        );
    }
}

#[tokio::test]
async fn a_far_future_is_a_time_and_may_be_bounded() {
    let any = sessions_by(&rules(Algorithm::HS256), hs256());
    let bounded = SessionRules {
        max_lifetime: Some(Duration::from_hours(1)),
        ..rules(Algorithm::HS256)
    };
    let bounded = sessions_by(&bounded, hs256());
    // (`exp` as it stands, whether it counts at all, whether it counts where an hour is the longest)
    let cases = [
        (in_seconds(3_600).to_string(), true, true),
        (format!("{}.5", in_seconds(3_500)), true, true),
        (in_seconds(3_700).to_string(), true, false),
        // The last second of the year 9999.
        ("253402300799".to_owned(), true, false),
        (u64::MAX.to_string(), true, false),
        ("18446744073709551616".to_owned(), false, false),
        ("1e300".to_owned(), false, false),
        (in_seconds(-3_600).to_string(), false, false),
    ];
    for (exp, counts, counts_bounded) in cases {
        let claims = format!(r#"{{"exp":{exp},"account_id":"acme"}}"#);
        let token = signed(&RawValue::from_string(claims).unwrap());
        assert_eq!(account(&any, &token).await.is_some(), counts, "{exp}");
        assert_eq!(account(&bounded, &token).await.is_some(), counts_bounded, "{exp}");
    }
    let later =
        json!({"exp": in_seconds(9_000_000_000), "nbf": in_seconds(8_000_000_000_i64), "account_id": "acme"});
    assert_eq!(account(&any, &signed(&later)).await, None);
}

#[tokio::test]
async fn a_token_that_is_too_long_is_refused_however_good_it_is() {
    let sessions = sessions_by(&rules(Algorithm::HS256), hs256());
    let of_length = |padding: usize| {
        signed(&json!({"exp": in_seconds(60), "account_id": "acme", "padding": "x".repeat(padding)}))
    };
    let (longest, longer) = (of_length(12_000), of_length(12_400));
    assert!(longest.len() <= MAX_LENGTH && longer.len() > MAX_LENGTH);
    assert_eq!(account(&sessions, &longest).await.as_deref(), Some("acme"));
    assert_eq!(account(&sessions, &longer).await, None);
}

#[tokio::test]
async fn keys_that_a_token_brings_along_are_not_looked_at() {
    let (signing, pair) = es256();
    let claims = json!({"exp": in_seconds(60), "account_id": "acme"});
    let brought = Header {
        jwk: serde_json::from_value(published::jwk("x", &pair)).unwrap(),
        jku: Some("http://127.0.0.1:1/jwks".to_owned()),
        x5u: Some("http://127.0.0.1:1/x".to_owned()),
        kid: Some("../../dev/null".to_owned()),
        ..Header::new(Algorithm::ES256)
    };
    let token = encode(&brought, &claims, &signing).unwrap();
    let (_, other) = es256();
    let keys = DecodingKey::from_jwk(&serde_json::from_value(published::jwk("x", &other)).unwrap()).unwrap();
    let sessions = sessions_by(&rules(Algorithm::ES256), SessionKeys::Fixed(Arc::new([keys])));
    assert_eq!(account(&sessions, &token).await, None);
}
