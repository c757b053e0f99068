//! Reads JSON so that every problem of it can be told.
//!
//! A derived deserialiser stops at the first problem, drops all but the last of duplicate properties and hides what an
//! unknown one was called. Here a body is first checked as a whole (UTF-8, syntax, depth: the three things after which
//! nothing else can be said) and then walked value by value, by whoever knows what should stand where. The syntax is
//! `serde_json`'s; a [`Value`] is the checked text of one value, read a level at a time, so that a body costs what its
//! known properties cost, whatever else is nested in it.

use std::fmt;

use proto::violation::{Violation, ViolationCode};
use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 16;

/// One value, known to be well-formed.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a>(&'a RawValue);

/// What a value is, one level deep.
#[derive(Debug)]
pub enum Shape<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number, exactly.
    Number(Number<'a>),
    /// A text; none if its escapes hold an unpaired surrogate, so that it is no Unicode text.
    Text(Option<String>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object: its properties as they stand, duplicates too. A name that is no Unicode text is left as it is spelt.
    Object(Vec<(String, Value<'a>)>),
}

/// A number as it is spelt.
#[derive(Clone, Copy, Debug)]
pub struct Number<'a>(&'a str);

/// Checks a whole body.
pub fn parse(body: &[u8]) -> Result<Value<'_>, Violation> {
    let text = std::str::from_utf8(body).map_err(|error| {
        invalid(
            "a byte that is not UTF-8",
            Position::of(body, error.valid_up_to()),
        )
    })?;
    let raw = serde_json::from_str::<&RawValue>(text).map_err(|error| {
        let position = Position {
            line: error.line(),
            column: error.column(),
        };
        let told = error.to_string();
        // It ends with its own form of the position.
        let reason = told.split(" at line ").next().unwrap_or_default();
        invalid(reason, position)
    })?;
    match too_deep(text) {
        Some(offset) => {
            let reason = format!("nesting deeper than {MAX_DEPTH}");
            Err(invalid(&reason, Position::of(body, offset)))
        }
        None => Ok(Value(raw)),
    }
}

impl<'a> Value<'a> {
    /// What it is.
    #[must_use]
    pub fn shape(self) -> Shape<'a> {
        let text = self.0.get();
        match text.as_bytes().first() {
            Some(b'n') => Shape::Null,
            Some(b't' | b'f') => Shape::Boolean,
            Some(b'"') => Shape::Text(serde_json::from_str(text).ok()),
            Some(b'[') => Shape::Array(self.children(Items)),
            Some(b'{') => Shape::Object(self.children(Properties)),
            _ => Shape::Number(Number(text)),
        }
    }

    /// The syntax was checked as a whole, so a part of it can't fail; if it did, the part would be empty.
    fn children<T, V: Visitor<'a, Value = Vec<T>>>(self, visitor: V) -> Vec<T> {
        serde_json::Deserializer::from_str(self.0.get())
            .deserialize_any(visitor)
            .unwrap_or_default()
    }
}

impl Shape<'_> {
    /// What it is, as one would say it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

impl Number<'_> {
    /// Its value if that is integral, however it is spelt (`25`, `25.0`, `2.5e1`); what is beyond 64 bits is the
    /// nearest that is not, so that a bound can be told.
    #[must_use]
    pub fn integer(self) -> Option<i64> {
        let (negative, digits) = match self.0.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, self.0),
        };
        let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let significant = format!("{whole}{fraction}");
        let significant = significant.trim_start_matches('0');
        if significant.is_empty() {
            return Some(0);
        }
        // An exponent beyond 64 bits is only ever compared with numbers of digits.
        let exponent = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        });
        let shift = exponent.saturating_sub(i64::try_from(fraction.len()).unwrap_or(i64::MAX));
        let trailing_zeros = significant.len() - significant.trim_end_matches('0').len();
        if shift < 0 && shift.unsigned_abs() > trailing_zeros as u64 {
            return None;
        }
        let clamped = if negative { i64::MIN } else { i64::MAX };
        let length = i64::try_from(significant.len())
            .unwrap_or(i64::MAX)
            .saturating_add(shift);
        if length > 19 {
            return Some(clamped);
        }
        let length = usize::try_from(length).unwrap_or(0);
        let sign = if negative { "-" } else { "" };
        let spelt = format!("{sign}{significant:0<length$}");
        Some(spelt[..sign.len() + length].parse().unwrap_or(clamped))
    }
}

/// The items of an array.
struct Items;

impl<'a> Visitor<'a> for Items {
    type Value = Vec<Value<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = array.next_element()? {
            items.push(Value(item));
        }
        Ok(items)
    }
}

/// The properties of an object, duplicates too.
struct Properties;

impl<'a> Visitor<'a> for Properties {
    type Value = Vec<(String, Value<'a>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut properties = Vec::new();
        while let Some(name) = object.next_key::<&RawValue>()? {
            let spelt = name.get();
            let name = serde_json::from_str(spelt).unwrap_or_else(|_| spelt.trim_matches('"').to_owned());
            properties.push((name, Value(object.next_value()?)));
        }
        Ok(properties)
    }
}

/// Where the nesting of well-formed JSON first gets too deep.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(offset);
                }
            }
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Line and column, both from 1; a column is a byte.
#[derive(Clone, Copy)]
struct Position {
    line: usize,
    column: usize,
}

impl Position {
    fn of(body: &[u8], offset: usize) -> Self {
        let before = &body[..offset];
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        Self {
            line: before.split(|byte| *byte == b'\n').count(),
            column: offset - line_start + 1,
        }
    }
}

fn invalid(reason: &str, position: Position) -> Violation {
    let Position { line, column } = position;
    let message = format!("the body is not JSON: {reason} at line {line}, column {column}");
    Violation::whole(ViolationCode::InvalidJson, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(body: &[u8]) -> String {
        parse(body).map(|_| ()).unwrap_err().message
    }

    #[test]
    fn what_is_not_json_is_told_with_its_place() {
        let cases: [(&[u8], &str); 12] = [
            (b"{", "line 1, column 1"),
            (b"{\n  \"page\": 1,\n}", "line 3, column 1"),
            (b"{\"page\":1} x", "trailing characters at line 1, column 12"),
            (b"{'page':1}", "line 1, column 2"),
            (b"{\"a\":01}", "line 1, column 7"),
            (b"{\"a\":NaN}", "line 1, column 6"),
            (b"{\"a\":\"\x01\"}", "control character"),
            (b"{\"a\":\"\\x\"}", "invalid escape"),
            (b"{\"a\":\"\xff\"}", "not UTF-8 at line 1, column 7"),
            (b"\n\xc3", "not UTF-8 at line 2, column 1"),
            (b"\xef\xbb\xbf{}", "line 1, column 1"),
            (b"// {}", "line 1, column 1"),
        ];
        for (body, told) in cases {
            let message = refusal(body);
            assert!(message.contains(told), "{body:?}: {message}");
        }
    }

    #[test]
    fn sixteen_levels_are_read_and_seventeen_are_not() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(16).as_bytes()).is_ok());
        assert!(refusal(nested(17).as_bytes()).ends_with("nesting deeper than 16 at line 1, column 17"));
        assert!(refusal(nested(200_000).as_bytes()).contains("deeper than 16"));
        let quoted = format!("[\"{}\\\"[[\"]", "[{".repeat(50));
        assert!(
            parse(quoted.as_bytes()).is_ok(),
            "brackets in a text are no nesting"
        );
    }

    #[test]
    fn integers_are_told_by_their_value_not_by_their_spelling() {
        let cases = [
            ("25", Some(25)),
            ("-1", Some(-1)),
            ("-0", Some(0)),
            ("0.000", Some(0)),
            ("0e999999999999999999999", Some(0)),
            ("25.0", Some(25)),
            ("25.5", None),
            ("1e2", Some(100)),
            ("1E+2", Some(100)),
            ("2.5e1", Some(25)),
            ("2.55e1", None),
            ("2500e-2", Some(25)),
            ("2500e-3", None),
            ("1e-400", None),
            ("1e-99999999999999999999", None),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", Some(i64::MAX)),
            ("-9223372036854775809", Some(i64::MIN)),
            ("1e400", Some(i64::MAX)),
            ("-1e99999999999999999999", Some(i64::MIN)),
        ];
        for (spelt, value) in cases {
            let Shape::Number(number) = parse(spelt.as_bytes()).unwrap().shape() else {
                panic!("{spelt}")
            };
            assert_eq!(number.integer(), value, "{spelt}");
        }
    }

    #[test]
    fn duplicates_and_broken_texts_are_kept_for_telling() {
        let body = br#"{"a": 1, "a": "\ud800", "\u0061": "\ud83d\ude00", "\udfff": null}"#;
        let Shape::Object(properties) = parse(body).unwrap().shape() else {
            panic!()
        };
        let names: Vec<_> = properties.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "a", "a", "\\udfff"]);
        assert!(matches!(properties[1].1.shape(), Shape::Text(None)));
        assert!(matches!(properties[2].1.shape(), Shape::Text(Some(text)) if text == "😀"));
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&body).map(Value::shape);
        }

        #[test]
        fn nearly_json_does_not_make_it_panic(body in "[\\[\\]{}:,\"\\\\u0-9eE.+ -]{0,60}") {
            if let Ok(value) = parse(body.as_bytes()) {
                let _ = value.shape();
            }
        }

        #[test]
        fn every_integer_reads_as_itself(value: i64) {
            prop_assert_eq!(Number(&value.to_string()).integer(), Some(value));
            prop_assert_eq!(Number(&format!("{value}.0")).integer(), Some(value));
        }
    }
}
