//! Session tokens: JWTs of the dashboard.
//!
//! Every check is set here on purpose: the algorithm is the configured one and never the token's, `exp` and the account
//! are required, `iss` and `aud` are required and compared where configured, `nbf` counts where it stands, a claim that
//! stands twice counts for nothing, clocks may differ by [`LEEWAY`]. Keys, addresses of keys and certificates that a token
//! brings along are never looked at. Whatever is wrong, the caller is told the same.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use proto::account::{self, AccountId};
use proto::error_code::ErrorCode;
use runtime::ambient::Ambient;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::bearer_credentials;
use super::jwks::Jwks;
use crate::error::ApiError;

/// How far clocks may differ.
const LEEWAY: Duration = Duration::from_secs(30);

/// Longest token that is looked at.
const MAX_LENGTH: usize = 16 * 1024;

/// What a token has to say.
#[derive(Clone, Debug)]
pub struct SessionRules {
    /// The one algorithm.
    pub algorithm: Algorithm,
    /// Who has to have issued it, if that is asked for.
    pub issuer: Option<String>,
    /// Whom it has to be meant for: one of these, if there are any.
    pub audience: Vec<String>,
    /// The claim that holds the account; `sub` where it is not there.
    pub account_claim: String,
    /// Longest time until it expires, if there is one.
    pub max_lifetime: Option<Duration>,
}

/// Where the keys come from that tokens are signed with.
#[derive(Clone)]
pub enum SessionKeys {
    /// Configured: one, or two while it is changed.
    Fixed(Arc<[DecodingKey]>),
    /// Keys that the issuer publishes and changes.
    Published(Arc<Jwks>),
}

/// Tells whose session a request belongs to.
#[derive(Clone)]
pub struct Sessions {
    keys: SessionKeys,
    validation: Arc<Validation>,
    account_claim: Arc<str>,
    max_lifetime: Option<Duration>,
    ambient: Ambient,
}

impl Sessions {
    /// Takes tokens that meet the rules and are signed with one of the keys.
    #[must_use]
    pub fn new(rules: &SessionRules, keys: SessionKeys, ambient: Ambient) -> Self {
        let mut validation = Validation::new(rules.algorithm);
        let mut required = vec!["exp"];
        validation.leeway = LEEWAY.as_secs();
        validation.reject_tokens_expiring_in_less_than = 0;
        validation.validate_exp = true;
        validation.validate_nbf = true;
        validation.validate_aud = !rules.audience.is_empty();
        if validation.validate_aud {
            validation.set_audience(&rules.audience);
            required.push("aud");
        }
        if let Some(issuer) = &rules.issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        validation.set_required_spec_claims(&required);
        Self {
            keys,
            validation: Arc::new(validation),
            account_claim: rules.account_claim.as_str().into(),
            max_lifetime: rules.max_lifetime,
            ambient,
        }
    }

    /// The account whose session token the headers carry.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<AccountId, ApiError> {
        let refusal = || ApiError::new(ErrorCode::InvalidToken);
        let mut shown = bearer_credentials(headers);
        let (Some(Some(token)), None) = (shown.next(), shown.next()) else {
            return Err(refusal());
        };
        if token.len() > MAX_LENGTH {
            return Err(refusal());
        }
        let header = decode_header(token).map_err(|_| refusal())?;
        // Whoever made it says that it is not to be understood without something that we don't know (RFC 7515, 4.1.11).
        if header.crit.is_some() {
            return Err(refusal());
        }
        let claims = |key: &DecodingKey| decode(token, key, &self.validation).map(|token| token.claims);
        let claims = match &self.keys {
            SessionKeys::Fixed(keys) => keys.iter().find_map(|key| claims(key).ok()),
            SessionKeys::Published(jwks) => {
                let key = jwks.key(header.kid.as_deref()).await?;
                key.and_then(|key| claims(&key).ok())
            }
        };
        let Claims(claims) = claims.ok_or_else(refusal)?;
        if self.lives_too_long(claims.get("exp")) {
            return Err(refusal());
        }
        let account = claims.get(&*self.account_claim).or_else(|| claims.get("sub"));
        let account = account.and_then(Value::as_str).ok_or_else(refusal)?;
        account::check(account).map_err(|_| refusal())
    }

    fn lives_too_long(&self, exp: Option<&Value>) -> bool {
        let Some(longest) = self.max_lifetime else {
            return false;
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "seconds of any time to come are far below what a double tells apart"
        )]
        let now = self.ambient.now().timestamp() as f64;
        let latest = now + longest.saturating_add(LEEWAY).as_secs_f64();
        exp.and_then(Value::as_f64).is_none_or(|exp| exp > latest)
    }
}

/// The claims of a token. A name that stands twice spoils them: who signed it may have meant the one that we don't see.
struct Claims(Map<String, Value>);

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Claims;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of claims")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Claims, A::Error> {
                let mut claims = Map::new();
                while let Some((name, value)) = entries.next_entry()? {
                    if claims.insert(name, value).is_some() {
                        return Err(A::Error::custom("a claim stands twice"));
                    }
                }
                Ok(Claims(claims))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests;
