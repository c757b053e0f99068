//! `dsctl token`: a session token for development, signed with the development secret.

use std::time::Duration;

use clap::Args;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use runtime::ambient::Ambient;
use serde_json::json;

use crate::connection::Secret;
use crate::credits::Account;
use crate::duration;
use crate::failure::Failure;
use crate::output::Output;

/// `dsctl token`.
#[derive(Args, Debug)]
pub(crate) struct Token {
    #[command(flatten)]
    account: Account,
    /// How long it holds
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration::parse)]
    ttl: Duration,
}

impl Token {
    /// Makes and prints a token.
    pub(crate) fn run(&self, output: Output) -> Result<(), Failure> {
        let token = sign(&self.account.account, self.ttl, &Ambient::system())?;
        let expires_in = self.ttl.as_secs();
        output.show(
            &json!({"token": token, "accountId": self.account.account, "expiresIn": expires_in}),
            || token.clone(),
        )
    }
}

/// A session token of the account, signed with `JWT_SECRET`.
pub(crate) fn sign(account: &str, ttl: Duration, ambient: &Ambient) -> Result<String, Failure> {
    sign_with(Secret::SigningKey.read()?.as_bytes(), account, ttl, ambient)
}

fn sign_with(secret: &[u8], account: &str, ttl: Duration, ambient: &Ambient) -> Result<String, Failure> {
    let now = ambient.now().timestamp();
    let expires = i64::try_from(ttl.as_secs())
        .ok()
        .and_then(|ttl| now.checked_add(ttl));
    let expires = expires.ok_or_else(|| Failure::Refused("--ttl is longer than time".to_owned()))?;
    let claims = json!({"account_id": account, "iat": now, "exp": expires});
    jsonwebtoken::encode(
        &Header::new(Algorithm::HS256),
        &claims,
        &EncodingKey::from_secret(secret),
    )
    .map_err(|error| Failure::Refused(format!("JWT_SECRET can't sign: {error}")))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use jsonwebtoken::{DecodingKey, Validation};
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_token_names_the_account_and_its_end() {
        let now = DateTime::from_timestamp(4_000_000_000, 0).unwrap();
        let signed = sign_with(b"secret", "a", Duration::from_secs(90), &Ambient::fixed(now, 1)).unwrap();
        let validation = Validation::new(Algorithm::HS256);
        let claims =
            jsonwebtoken::decode::<Value>(&signed, &DecodingKey::from_secret(b"secret"), &validation)
                .unwrap()
                .claims;
        assert_eq!(
            claims,
            json!({"account_id": "a", "iat": 4_000_000_000_i64, "exp": 4_000_000_090_i64})
        );
    }
}
