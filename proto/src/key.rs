//! What the name of an API key is.

use crate::violation::{Violation, ViolationCode};

/// Most characters (code points) of a name.
pub const MAX_NAME_CHARACTERS: usize = 100;

/// The name of a key that was given none.
pub const DEFAULT_NAME: &str = "API key";

/// [`check_name`] as a regular expression, for who can't call it: what it finds is exactly what is good, in the dialects of
/// JSON Schema (ECMA-262), Python and Rust alike. They disagree about `\s`, so the white space of Unicode is spelled out,
/// and a length of its own could not tell the spaces around a name from the name.
pub const NAME_PATTERN: &str = concat!(
    r"^[\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*",
    r"[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]",
    r"([^\u0000-\u001f\u007f-\u009f]{0,98}",
    r"[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?",
    r"[\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$",
);

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

    /// Every character alone, at either end, within, and doubled: what the pattern says is what the check does.
    #[test]
    fn the_pattern_finds_exactly_what_is_good() {
        let pattern = regex::Regex::new(NAME_PATTERN).unwrap();
        let agree = |name: &str| assert_eq!(pattern.is_match(name), check_name(name).is_ok(), "{name:?}");
        for c in '\0'..=char::MAX {
            for name in [
                format!("{c}"),
                format!("{c}."),
                format!(".{c}"),
                format!(".{c}."),
                format!(" {c}\t{c}. "),
            ] {
                agree(&name);
            }
        }
        for length in [0, 1, 2, 99, 100, 101, 102] {
            for around in ["", " ", "\u{85}\t\u{3000}"] {
                agree(&format!("{around}{}{around}", "ü".repeat(length)));
                agree(&format!("{around}{}{around}", "a ".repeat(length)));
            }
        }
    }
}
