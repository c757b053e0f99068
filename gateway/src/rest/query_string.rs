//! Query strings, read as strictly as bodies: what is unknown, repeated, missing or malformed is told, all of it at once.
//!
//! A parameter without a value (`?limit=`) is as good as left out.

use std::ops::RangeInclusive;

use proto::violation::{Violation, ViolationCode};

use crate::body::property::known;
use crate::error::ApiError;

/// The parameters of a query string that an operation knows.
pub struct QueryString {
    values: Vec<(&'static str, String)>,
    found: Vec<Violation>,
}

impl QueryString {
    /// Reads a query string with these names.
    #[must_use]
    pub fn parse(query: Option<&str>, names: &[&'static str]) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned()));
        let mut found = Vec::new();
        let mut values = known(&mut found, &[], pairs.collect(), names);
        values.retain(|(name, value)| {
            let is_text = !value.contains(['\0', char::REPLACEMENT_CHARACTER]);
            if !is_text {
                let message = "is not UTF-8, or contains a NUL character";
                found.push(Violation::at(name, ViolationCode::InvalidValue, message));
            }
            is_text && !value.trim().is_empty()
        });
        Self { values, found }
    }

    /// A text, without spaces around it.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let at = self.values.iter().position(|(known, _)| *known == name)?;
        Some(self.values.swap_remove(at).1.trim().to_owned())
    }

    /// A whole number in decimal digits, within these bounds.
    pub fn integer(&mut self, name: &str, bounds: RangeInclusive<i64>) -> Option<i64> {
        let text = self.text(name)?;
        let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
        // One that is too long for a number is above all bounds.
        let number = text.parse().unwrap_or(i64::MAX);
        let (least, most) = (bounds.start(), bounds.end());
        let (code, message) = if !is_whole {
            (ViolationCode::InvalidType, "is not a whole number".to_owned())
        } else if number < *least {
            (ViolationCode::TooSmall, format!("is less than {least}"))
        } else if number > *most {
            (ViolationCode::TooBig, format!("is more than {most}"))
        } else {
            return Some(number);
        };
        let hint = format!("{least} to {most}");
        self.found.push(Violation::at(name, code, message).hint(hint));
        None
    }

    /// Notes a problem that the operation itself has found, unless one of the same parameter has been told.
    pub fn refuse(&mut self, violation: Violation) {
        if !self.found.iter().any(|told| told.path == violation.path) {
            self.found.push(violation);
        }
    }

    /// Everything that is wrong, if something is.
    pub fn check(self) -> Result<(), ApiError> {
        if self.found.is_empty() {
            return Ok(());
        }
        Err(ApiError::invalid(self.found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> (Option<String>, Option<i64>, Vec<String>) {
        let mut string = QueryString::parse(Some(query), &["q", "limit"]);
        let (q, limit) = (string.text("q"), string.integer("limit", 1..=25));
        let told = string.check().err();
        let issues = told
            .map(|told| told.body(String::new()).issues)
            .unwrap_or_default();
        let issues = issues
            .iter()
            .map(|issue| format!("{:?} {}", issue.path, issue.code));
        (q, limit, issues.collect())
    }

    #[test]
    fn parameters_are_decoded_and_blank_ones_left_out() {
        assert_eq!(
            read("q=S%C3%A3o+Paulo%20&limit=10"),
            (Some("São Paulo".to_owned()), Some(10), vec![])
        );
        assert_eq!(read(""), (None, None, vec![]));
        assert_eq!(read("q=&limit=%20"), (None, None, vec![]));
        assert_eq!(read("q=a%26b%3Dc").0.as_deref(), Some("a&b=c"));
        assert_eq!(read("&&q=x&").0.as_deref(), Some("x"));
    }

    #[test]
    fn every_problem_is_told() {
        let (_, _, told) = read("Q=a&limit=0&q=%00&limt=3&a=1&a=2");
        assert_eq!(
            told,
            [
                "[Name(\"Q\")] unrecognized_key",
                "[Name(\"limt\")] unrecognized_key",
                "[Name(\"a\")] unrecognized_key",
                "[Name(\"q\")] invalid_value",
                "[Name(\"limit\")] too_small",
            ]
        );
        for (query, told) in [
            ("q=a&q=a", "[Name(\"q\")] duplicate_key"),
            ("q=%ff", "[Name(\"q\")] invalid_value"),
            ("limit=26", "[Name(\"limit\")] too_big"),
            ("limit=99999999999999999999", "[Name(\"limit\")] too_big"),
            ("limit=-1", "[Name(\"limit\")] invalid_type"),
            ("limit=1.0", "[Name(\"limit\")] invalid_type"),
            ("limit=%2B1", "[Name(\"limit\")] invalid_type"),
        ] {
            assert_eq!(read(query).2, [told], "{query}");
        }
    }
}
