//! Who may call which gRPC method: service tokens with scopes.
//!
//! A token is shown as `authorization: Bearer <token>`. It speaks for the scopes it was configured with and no others;
//! a method names the one scope it asks for. Without a token only health answers.

use std::fmt;
use std::str::FromStr;

use crate::secret::Secret;

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Search.
    Search,
    /// Manage an account's keys.
    Keys,
    /// Verify keys.
    Verify,
    /// Charge credits.
    Charge,
    /// All that operators do: import, reveal, grant, rates, ledger, index.
    Admin,
}

const SCOPES: [(Scope, &str); 5] = [
    (Scope::Search, "search"),
    (Scope::Keys, "keys"),
    (Scope::Verify, "verify"),
    (Scope::Charge, "charge"),
    (Scope::Admin, "admin"),
];

/// Shortest token that is taken: shorter ones can be guessed.
const MIN_TOKEN_LENGTH: usize = 24;

/// The tokens a process accepts, as configured: `name:scope+scope:token`, comma-separated.
#[derive(Clone)]
pub struct ServiceTokens(Vec<ServiceToken>);

#[derive(Clone)]
struct ServiceToken {
    name: String,
    scopes: Vec<Scope>,
    token: Secret,
}

/// A caller whose token was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name its token was configured with.
    pub name: String,
}

/// Why a caller was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No token, or one of no worth.
    #[error("a service token is required")]
    NoToken,
    /// The token lacks the scope.
    #[error("the service token does not cover this method")]
    NoScope,
}

impl ServiceTokens {
    /// Admits nobody.
    #[must_use]
    pub const fn nobody() -> Self {
        Self(Vec::new())
    }

    /// Who shows this `authorization` value, if they may do what asks for this scope; without one, any token will do.
    pub fn admit(&self, authorization: Option<&str>, scope: Option<Scope>) -> Result<Caller, Denied> {
        let shown = authorization
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .ok_or(Denied::NoToken)?;
        // Every token is compared, so that the time does not tell which one was nearly right.
        let mut found = None;
        for token in &self.0 {
            if token.token.is(shown) {
                found = Some(token);
            }
        }
        let token = found.ok_or(Denied::NoToken)?;
        match scope {
            Some(scope) if !token.scopes.contains(&scope) => Err(Denied::NoScope),
            _ => Ok(Caller {
                name: token.name.clone(),
            }),
        }
    }
}

impl FromStr for ServiceTokens {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let tokens = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(parse_token)
            .collect::<Result<Vec<_>, _>>()?;
        if tokens.is_empty() {
            return Err("names no token; expected name:scope+scope:token".to_owned());
        }
        Ok(Self(tokens))
    }
}

/// Never repeats the token in what it says.
fn parse_token(text: &str) -> Result<ServiceToken, String> {
    let mut parts = text.splitn(3, ':');
    let (Some(name), Some(scopes), Some(token)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("expected name:scope+scope:token for each token".to_owned());
    };
    let scopes = scopes
        .split('+')
        .map(|wanted| {
            let known = SCOPES.iter().find(|(_, name)| *name == wanted);
            known.map(|(scope, _)| *scope).ok_or_else(|| {
                let names = SCOPES.map(|(_, name)| name).join(", ");
                format!("token {name:?} names an unknown scope {wanted:?}; known are {names}")
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if token.len() < MIN_TOKEN_LENGTH {
        return Err(format!(
            "token {name:?} is shorter than {MIN_TOKEN_LENGTH} characters"
        ));
    }
    Ok(ServiceToken {
        name: name.to_owned(),
        scopes,
        token: Secret::new(token),
    })
}

impl fmt::Debug for ServiceTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|token| (&token.name, &token.scopes)))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATEWAY: &str = "gateway-token-0123456789";
    const ADMIN: &str = "admin-token-000123456789";

    fn tokens() -> ServiceTokens {
        format!("gateway:verify+keys:{GATEWAY}, ops:admin:{ADMIN}")
            .parse()
            .unwrap()
    }

    #[test]
    fn a_token_speaks_for_its_scopes_alone() {
        let bearer = format!("Bearer {GATEWAY}");
        let admitted = tokens().admit(Some(&bearer), Some(Scope::Verify));
        assert_eq!(
            admitted,
            Ok(Caller {
                name: "gateway".into()
            })
        );
        assert_eq!(
            tokens().admit(Some(&bearer), Some(Scope::Admin)),
            Err(Denied::NoScope)
        );
        assert!(tokens().admit(Some(&bearer), None).is_ok());
    }

    #[test]
    fn without_a_known_token_nobody_comes_in() {
        for shown in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer "),
            Some("Basic x"),
            Some("Bearer wrong"),
            Some(ADMIN),
        ] {
            assert_eq!(tokens().admit(shown, None), Err(Denied::NoToken), "{shown:?}");
        }
    }

    #[test]
    fn bad_configurations_are_told_without_the_token() {
        for text in [
            "",
            "gateway",
            "gateway:verify",
            "g:fly:secret-secret-secret-secret",
            "g:admin:short",
        ] {
            let problem = text.parse::<ServiceTokens>().unwrap_err();
            assert!(!problem.contains("secret-secret"), "{problem}");
        }
        assert!(!format!("{:?}", tokens()).contains(ADMIN));
    }
}
