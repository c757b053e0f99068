//! What the name of an API key is.

use crate::violation::{Violation, ViolationCode};

/// Most characters (code points) of a name.
pub const MAX_NAME_CHARACTERS: usize = 100;

/// The name of a key that was given none.
pub const DEFAULT_NAME: &str = "API key";

/// The name without the spaces around it, if 1-100 characters remain and none of them is a control character.
/// The violation is at `name`.
pub fn check_name(name: &str) -> Result<String, Violation> {
    let name = name.trim();
    let violation = |code, message: String| Err(Violation::at("name", code, message));
    match name.chars().count() {
        0 => violation(ViolationCode::TooSmall, "is blank".to_owned()),
        1..=MAX_NAME_CHARACTERS if name.contains(char::is_control) => {
            violation(ViolationCode::InvalidValue, "has a control character".to_owned())
        }
        1..=MAX_NAME_CHARACTERS => Ok(name.to_owned()),
        length => violation(
            ViolationCode::TooLong,
            format!("has {length} characters, at most {MAX_NAME_CHARACTERS} are allowed"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_1_to_100_characters_after_trimming() {
        let longest = "ü".repeat(100);
        for (name, kept) in [
            ("x", "x"),
            ("  my key\t\n", "my key"),
            ("\u{3000}鍵\u{3000}", "鍵"),
            (&format!(" {longest} "), &longest),
        ] {
            assert_eq!(check_name(name).unwrap(), kept);
        }
        let refused = [
            ("", ViolationCode::TooSmall),
            (" \t\u{a0}", ViolationCode::TooSmall),
            ("a\0b", ViolationCode::InvalidValue),
            ("a\nb", ViolationCode::InvalidValue),
            ("a\u{9f}b", ViolationCode::InvalidValue),
            (&"ü".repeat(101), ViolationCode::TooLong),
        ];
        for (name, code) in refused {
            let violation = check_name(name).unwrap_err();
            assert_eq!(
                (violation.code, violation.field().as_str()),
                (code, "name"),
                "{name:?}"
            );
        }
        assert_eq!(check_name(DEFAULT_NAME).unwrap(), DEFAULT_NAME);
    }
}
