//! Credentials, as the headers of a request carry them.
//!
//! - An API key is found exactly where the contract says, and is one exactly if it has the contract's form: both are said
//!   anew here, the checksum bit by bit. What the gateway sends on, the keys service takes.
//! - The account of a session is told exactly to who shows the one token that was signed.
//!
//! An input is the lines of a head; lines without the name of a header are of `X-API-Key`. A fuzzer finds no checksum and
//! no signature: `$KEY` stands for a good key, `$SUM` for the checksum of the 36 characters before it, `$JWT` for a good
//! token.

use std::sync::{Arc, LazyLock};

use chrono::DateTime;
use futures::FutureExt as _;
use gateway::auth::api_key::secret_of;
use gateway::auth::session::{SessionKeys, SessionRules, Sessions};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, encode};
use proto::account::AccountId;
use proto::api_key::ApiKeySecret;
use runtime::ambient::Ambient;
use serde_json::json;

const API_KEY: &str = "dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV0lYb4h";
const ACCOUNT: &str = "an account";
const JWT_SECRET: &[u8] = b"the secret of these session tokens";
/// 2100-01-01.
const EXPIRES: i64 = 4_102_444_800;

/// A token that is good, and who takes it.
static SESSION: LazyLock<(String, Sessions)> = LazyLock::new(|| {
    let claims = json!({"account_id": ACCOUNT, "exp": EXPIRES});
    let key = EncodingKey::from_secret(JWT_SECRET);
    let token = encode(&Header::new(Algorithm::HS256), &claims, &key).expect("claims that can be signed");
    let rules = SessionRules {
        algorithm: Algorithm::HS256,
        issuer: None,
        audience: Vec::new(),
        account_claim: "account_id".to_owned(),
        max_lifetime: None,
    };
    let keys = SessionKeys::Fixed(Arc::new([DecodingKey::from_secret(JWT_SECRET)]));
    let ambient = Ambient::fixed(DateTime::UNIX_EPOCH, 1);
    (token, Sessions::new(&rules, keys, ambient))
});

/// Tries an input as the lines of a head.
///
/// # Panics
/// If a property does not hold.
pub fn holds(input: &[u8]) {
    let head = head(&String::from_utf8_lossy(input));
    api_key(&head);
    session(&head);
}

fn head(text: &str) -> HeaderMap {
    let mut head = HeaderMap::new();
    for line in text.lines().take(16) {
        let (name, value) = match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => (AUTHORIZATION, value),
            Some((name, value)) if name.eq_ignore_ascii_case("x-api-key") => (X_API_KEY, value),
            _ => (X_API_KEY, line),
        };
        let value = value.replace("$KEY", API_KEY).replace("$JWT", &SESSION.0);
        // Control characters are refused before any of ours sees them.
        if let Ok(value) = HeaderValue::from_str(&with_checksums(&value)) {
            head.append(name, value);
        }
    }
    head
}

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

fn with_checksums(text: &str) -> String {
    let mut made = String::new();
    for (at, part) in text.split("$SUM").enumerate() {
        if at > 0 {
            let start = made.floor_char_boundary(made.len().saturating_sub(36));
            let sum = checksum(&made.as_bytes()[start..]);
            made.push_str(&sum);
        }
        made.push_str(part);
    }
    made
}

fn api_key(head: &HeaderMap) {
    let found = secret_of(head);
    let expected = shown_key(head).filter(|key| is_key(key));
    assert_eq!(
        found.as_ref().map(ApiKeySecret::expose),
        expected.as_deref(),
        "{head:?}"
    );
    if let Some(secret) = found {
        let again =
            ApiKeySecret::parse(secret.expose()).expect("the keys service takes what the gateway took");
        assert_eq!(again.prefix(), &secret.expose()[..12]);
        assert!(!format!("{secret:?}").contains(&secret.expose()[12..]));
    }
}

/// What all headers agree on that carry an API key.
fn shown_key(head: &HeaderMap) -> Option<String> {
    let own = head.get_all(X_API_KEY).iter().map(text);
    let mut shown: Vec<Option<String>> = own
        .chain(head.get_all(AUTHORIZATION).iter().map(bearer))
        .collect();
    shown.dedup();
    match shown.as_mut_slice() {
        [one] => one.take(),
        _ => None,
    }
}

/// A header's value without the spaces around it, if it is ASCII.
fn text(value: &HeaderValue) -> Option<String> {
    let text = String::from_utf8(value.as_bytes().trim_ascii().to_vec()).ok()?;
    text.is_ascii().then_some(text)
}

fn bearer(value: &HeaderValue) -> Option<String> {
    let text = text(value)?;
    let (scheme, rest) = text.split_at_checked("bearer ".len())?;
    (scheme.to_lowercase() == "bearer ").then(|| rest.trim_ascii().to_owned())
}

/// `dsk_`, 32 characters of base62, and their checksum in six.
fn is_key(text: &str) -> bool {
    let Some((body, sum)) = text.split_at_checked(36) else {
        return false;
    };
    let random = body.strip_prefix("dsk_");
    random.is_some_and(|random| random.bytes().all(|byte| DIGITS.contains(&byte)))
        && sum == checksum(body.as_bytes())
}

const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// CRC-32 (IEEE), in six digits of base62.
fn checksum(bytes: &[u8]) -> String {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    let crc = !crc;
    let digit = |place: u32| char::from(DIGITS[(crc / 62_u32.pow(place) % 62) as usize]);
    (0..6).rev().map(digit).collect()
}

fn session(head: &HeaderMap) {
    let (token, sessions) = &*SESSION;
    let found = sessions
        .authenticate(head)
        .now_or_never()
        .expect("its key is at hand");
    let mut shown = head.get_all(AUTHORIZATION).iter();
    let expected = match (shown.next(), shown.next()) {
        (Some(value), None) => bearer(value).as_ref() == Some(token),
        _ => false,
    };
    let account = found.ok();
    assert_eq!(
        account.as_ref().map(AccountId::as_str),
        expected.then_some(ACCOUNT),
        "{head:?}"
    );
}
