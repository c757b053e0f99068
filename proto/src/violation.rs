//! One broken rule of a message, and how all of them cross the wire.

use std::fmt::{self, Write as _};

use tonic::Status;
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use crate::error_code::{DOMAIN, ErrorCode};

/// A rule that a message breaks: where, which, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where, in the names of the public JSON: `["jobTitles", 3]`. Empty for the message as a whole.
    pub path: Vec<PathSegment>,
    /// Which kind of rule.
    pub code: ViolationCode,
    /// What is wrong, as a sentence without its end, that can stand after `jobTitles[3]: `.
    pub message: String,
    /// What to do about it, where that is not plain from the message.
    pub hint: Option<String>,
}

/// A step into a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSegment {
    /// Into a property.
    Name(String),
    /// Into an item of an array, from 0.
    Index(usize),
}

/// The kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViolationCode {
    /// Not JSON.
    InvalidJson,
    /// Another type than asked for.
    InvalidType,
    /// Of the right type, but not one of the allowed values, or nothing to search for.
    InvalidValue,
    /// Not of the form of a date, cursor, field name or domain.
    InvalidFormat,
    /// A number below its bound, or a text or list too short.
    TooSmall,
    /// A number above its bound, or too many items.
    TooBig,
    /// Too many characters.
    TooLong,
    /// A property nobody knows.
    UnrecognizedKey,
    /// A property given twice.
    DuplicateKey,
    /// Required and not there.
    Missing,
    /// At odds with another value.
    Conflict,
}

/// Every code.
pub const ALL_CODES: [ViolationCode; 11] = [
    ViolationCode::InvalidJson,
    ViolationCode::InvalidType,
    ViolationCode::InvalidValue,
    ViolationCode::InvalidFormat,
    ViolationCode::TooSmall,
    ViolationCode::TooBig,
    ViolationCode::TooLong,
    ViolationCode::UnrecognizedKey,
    ViolationCode::DuplicateKey,
    ViolationCode::Missing,
    ViolationCode::Conflict,
];

impl ViolationCode {
    /// Name in the public JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidJson => "invalid_json",
            Self::InvalidType => "invalid_type",
            Self::InvalidValue => "invalid_value",
            Self::InvalidFormat => "invalid_format",
            Self::TooSmall => "too_small",
            Self::TooBig => "too_big",
            Self::TooLong => "too_long",
            Self::UnrecognizedKey => "unrecognized_key",
            Self::DuplicateKey => "duplicate_key",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
        }
    }
}

impl Violation {
    /// A violation by the message as a whole.
    pub fn whole(code: ViolationCode, message: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            code,
            message: message.into(),
            hint: None,
        }
    }

    /// A violation at a property of the message.
    pub fn at(property: &str, code: ViolationCode, message: impl Into<String>) -> Self {
        Self {
            path: vec![PathSegment::Name(property.to_owned())],
            code,
            message: message.into(),
            hint: None,
        }
    }

    /// The same, at an item of the property.
    #[must_use]
    pub fn item(mut self, index: usize) -> Self {
        self.path.push(PathSegment::Index(index));
        self
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The path as text: `jobTitles[3]`, `sort.field`; empty for the message as a whole.
    #[must_use]
    pub fn field(&self) -> String {
        let mut text = String::new();
        for segment in &self.path {
            match segment {
                PathSegment::Name(name) if text.is_empty() => text.push_str(name),
                PathSegment::Name(name) => {
                    text.push('.');
                    text.push_str(name);
                }
                PathSegment::Index(index) => {
                    text.push('[');
                    text.push_str(&index.to_string());
                    text.push(']');
                }
            }
        }
        text
    }
}

/// In words, for people. What senders have written is in it: characters that control a terminal are escaped.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write_escaped(f, &self.field())?;
            f.write_str(": ")?;
        }
        write_escaped(f, &self.message)?;
        match &self.hint {
            Some(hint) => {
                f.write_str(" (")?;
                write_escaped(f, hint)?;
                f.write_str(")")
            }
            None => Ok(()),
        }
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.chars().try_for_each(|character| {
        if character.is_control() {
            write!(f, "{}", character.escape_unicode())
        } else {
            f.write_char(character)
        }
    })
}

/// Counts the violations and names the first: the top message of a refusal.
#[must_use]
pub fn summary(violations: &[Violation]) -> String {
    match violations {
        [] => "The request is invalid".to_owned(),
        [only] => format!("1 problem: {only}"),
        [first, ..] => format!("{} problems, the first: {first}", violations.len()),
    }
}

/// `INVALID_ARGUMENT` with one `BadRequest` violation for each broken rule.
///
/// `field` is the path, `reason` the code in capitals, `description` the message, and `localized_message` the hint
/// where there is one.
#[must_use]
pub fn to_status(violations: &[Violation]) -> Status {
    let code = ErrorCode::ValidationError;
    let fields = violations
        .iter()
        .map(|violation| FieldViolation {
            field: violation.field(),
            description: violation.message.clone(),
            reason: violation.code.as_str().to_uppercase(),
            localized_message: violation.hint.as_ref().map(|hint| tonic_types::LocalizedMessage {
                locale: "en".to_owned(),
                message: hint.clone(),
            }),
        })
        .collect::<Vec<_>>();
    let mut details = ErrorDetails::with_bad_request(fields);
    details.set_error_info(code.as_str(), DOMAIN, std::collections::HashMap::new());
    Status::with_error_details(code.grpc_code(), summary(violations), details)
}

/// The violations that [`to_status`] wrote; none if the status carries none.
#[must_use]
pub fn from_status(status: &Status) -> Vec<Violation> {
    status
        .get_details_bad_request()
        .into_iter()
        .flat_map(|details| details.field_violations)
        .map(|violation| Violation {
            path: parse_path(&violation.field),
            code: ALL_CODES
                .into_iter()
                .find(|code| code.as_str().eq_ignore_ascii_case(&violation.reason))
                .unwrap_or(ViolationCode::InvalidValue),
            message: violation.description,
            hint: violation.localized_message.map(|localized| localized.message),
        })
        .collect()
}

fn parse_path(field: &str) -> Vec<PathSegment> {
    field
        .split(['.', '['])
        .filter(|part| !part.is_empty())
        .map(|part| match part.strip_suffix(']').map(str::parse) {
            Some(Ok(index)) => PathSegment::Index(index),
            _ => PathSegment::Name(part.to_owned()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_survive_the_wire() {
        let violations = vec![
            Violation::at("jobTitles", ViolationCode::TooLong, "has 201 characters").item(3),
            Violation::at("cursor", ViolationCode::InvalidFormat, "is not a cursor").hint("send null"),
            Violation {
                path: vec![
                    PathSegment::Name("sort".into()),
                    PathSegment::Name("field".into()),
                ],
                code: ViolationCode::InvalidFormat,
                message: "is unknown".into(),
                hint: None,
            },
            Violation::whole(ViolationCode::Missing, "is missing"),
        ];
        let status = to_status(&violations);
        assert_eq!(from_status(&status), violations);
        assert_eq!(ErrorCode::of(&status), ErrorCode::ValidationError);
        assert_eq!(
            status.message(),
            "4 problems, the first: jobTitles[3]: has 201 characters"
        );
    }

    #[test]
    fn nothing_that_controls_a_terminal_is_told_in_words() {
        let violation = Violation::at(
            "a\0\u{1b}[2J\u{85}ü",
            ViolationCode::UnrecognizedKey,
            "is not known",
        );
        assert_eq!(
            summary(&[violation]),
            r"1 problem: a\u{0}\u{1b}[2J\u{85}ü: is not known"
        );
        let violation =
            Violation::at("sort", ViolationCode::InvalidFormat, "\"\u{1b}\" is not known").hint("\u{7}");
        assert_eq!(
            summary(&[violation]),
            r#"1 problem: sort: "\u{1b}" is not known (\u{7})"#
        );
    }
}
