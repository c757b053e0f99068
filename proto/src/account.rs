//! What an account id is: the owner of keys, credits and reveals, as the session token names it.

use std::fmt;

use crate::violation::{Violation, ViolationCode};

/// Most characters (code points) of an account id.
pub const MAX_CHARACTERS: usize = 128;

/// An account id that meets the rule of [`check`]. Ids are compared as they are: nothing is trimmed or folded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId(String);

impl AccountId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id, if it has 1-128 characters, none of them a control character, and no space at either end, so that two
/// accounts can't look the same. The violation is at `accountId`.
pub fn check(id: &str) -> Result<AccountId, Violation> {
    let violation = |code, message: &str| Err(Violation::at("accountId", code, message));
    match id.chars().count() {
        0 => violation(ViolationCode::Missing, "is missing"),
        1..=MAX_CHARACTERS if id.contains(char::is_control) => {
            violation(ViolationCode::InvalidValue, "has a control character")
        }
        1..=MAX_CHARACTERS if id.trim() != id => {
            violation(ViolationCode::InvalidValue, "begins or ends with a space")
        }
        1..=MAX_CHARACTERS => Ok(AccountId(id.to_owned())),
        _ => violation(
            ViolationCode::TooLong,
            "is longer than the 128 characters of an account id",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_id_has_1_to_128_printable_characters() {
        for id in ["a", "auth0|12", "Müller & Söhne", &"é".repeat(128)] {
            assert_eq!(check(id).unwrap().as_str(), id);
        }
        let refused = [
            ("", ViolationCode::Missing),
            (" ", ViolationCode::InvalidValue),
            ("a ", ViolationCode::InvalidValue),
            ("\u{a0}a", ViolationCode::InvalidValue),
            ("a\0b", ViolationCode::InvalidValue),
            ("a\u{85}b", ViolationCode::InvalidValue),
            (&"a".repeat(129), ViolationCode::TooLong),
        ];
        for (id, code) in refused {
            let violation = check(id).unwrap_err();
            assert_eq!(
                (violation.code, violation.field().as_str()),
                (code, "accountId"),
                "{id:?}"
            );
        }
    }
}
