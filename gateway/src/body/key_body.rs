//! The bodies of the key operations: an object with the key's name.

use proto::key;
use proto::violation::{PathSegment, Violation, ViolationCode};

use super::property::{at, known, object, text};

/// The only property.
pub const NAME: &str = "name";

/// The body of a creation: nothing, or an object that may have a name.
pub fn parse_create(body: &[u8]) -> Result<Option<String>, Vec<Violation>> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let (name, found) = parse_name(body)?;
    if found.is_empty() { Ok(name) } else { Err(found) }
}

/// The body of a renaming: an object with a name.
pub fn parse_rename(body: &[u8]) -> Result<String, Vec<Violation>> {
    let (name, mut found) = parse_name(body)?;
    if name.is_none() && !found.iter().any(|violation| violation.field() == NAME) {
        found.push(at(&[], NAME, ViolationCode::Missing, "is missing".to_owned()));
    }
    match name {
        Some(name) if found.is_empty() => Ok(name),
        _ => Err(found),
    }
}

/// The name, and what is wrong with an object that can be read.
fn parse_name(body: &[u8]) -> Result<(Option<String>, Vec<Violation>), Vec<Violation>> {
    let properties = object(body, r#"{"name": "..."}"#).map_err(|violation| vec![violation])?;
    let mut found = Vec::new();
    let mut name = None;
    for (_, value) in known(&mut found, &[], properties, &[NAME]) {
        let path = vec![PathSegment::Name(NAME.to_owned())];
        match text(path, value).and_then(|text| key::check_name(&text)) {
            Ok(text) => name = Some(text),
            Err(violation) => found.push(violation),
        }
    }
    Ok((name, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(problems: Vec<Violation>) -> Vec<(String, &'static str)> {
        problems
            .into_iter()
            .map(|violation| (violation.field(), violation.code.as_str()))
            .collect()
    }

    #[test]
    fn a_key_is_created_without_a_body_with_an_empty_one_or_a_name() {
        for body in ["", " \n", "{}"] {
            assert_eq!(parse_create(body.as_bytes()), Ok(None), "{body:?}");
        }
        assert_eq!(
            parse_create(br#"{"name": " mine "}"#),
            Ok(Some("mine".to_owned()))
        );
    }

    #[test]
    fn everything_wrong_is_told() {
        let cases: [(&str, &[(&str, &str)]); 10] = [
            ("[]", &[("", "invalid_type")]),
            ("null", &[("", "invalid_type")]),
            ("{", &[("", "invalid_json")]),
            (r#"{"name": null}"#, &[("name", "invalid_type")]),
            (r#"{"name": 7}"#, &[("name", "invalid_type")]),
            (r#"{"name": "  "}"#, &[("name", "too_small")]),
            (r#"{"name": "a\u0000"}"#, &[("name", "invalid_value")]),
            (r#"{"name": "\ud800"}"#, &[("name", "invalid_value")]),
            (r#"{"name": "a", "name": "b"}"#, &[("name", "duplicate_key")]),
            (
                r#"{"nmae": "a", "name": "\n-\n-"}"#,
                &[("nmae", "unrecognized_key"), ("name", "invalid_value")],
            ),
        ];
        for (body, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|(field, code)| ((*field).to_owned(), *code))
                .collect();
            assert_eq!(
                told(parse_create(body.as_bytes()).unwrap_err()),
                expected,
                "{body}"
            );
        }
        let long = format!(r#"{{"name": "{}"}}"#, "é".repeat(101));
        assert_eq!(
            told(parse_create(long.as_bytes()).unwrap_err()),
            [("name".to_owned(), "too_long")]
        );
    }

    #[test]
    fn a_renaming_needs_a_name() {
        assert_eq!(parse_rename(br#"{"name": "x"}"#), Ok("x".to_owned()));
        assert_eq!(
            told(parse_rename(b"{}").unwrap_err()),
            [("name".to_owned(), "missing")]
        );
        assert_eq!(told(parse_rename(b"").unwrap_err()), [(String::new(), "missing")]);
        let both = [
            ("x".to_owned(), "unrecognized_key"),
            ("name".to_owned(), "missing"),
        ];
        assert_eq!(told(parse_rename(br#"{"x": 1}"#).unwrap_err()), both);
        assert_eq!(
            told(parse_rename(br#"{"name": 1}"#).unwrap_err()),
            [("name".to_owned(), "invalid_type")]
        );
    }
}
