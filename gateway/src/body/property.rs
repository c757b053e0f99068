//! What all bodies have in common: an object of known properties, each at most once, each of its type. (Names of query
//! strings keep the same rule.)

use std::collections::HashSet;

use proto::search_query::nearest;
use proto::violation::{PathSegment, Violation, ViolationCode};

use super::json::{self, Shape, Value};
use crate::error::MAX_ISSUES;

/// Most characters of an unknown name that are told back.
const MAX_TOLD_CHARS: usize = 100;

/// Stands for the rest.
const REST: &str = "...";

/// Most characters of a name in the path of a problem.
pub const MAX_STEP_CHARS: usize = MAX_TOLD_CHARS + REST.len();

/// The object that a body has to be. A body without anything in it is `missing`; `least` is what has to be there.
pub fn object<'a>(body: &'a [u8], least: &str) -> Result<Vec<(String, Value<'a>)>, Violation> {
    if body.trim_ascii().is_empty() {
        let missing = Violation::whole(ViolationCode::Missing, "the body is missing");
        return Err(missing.hint(format!("send at least {least}")));
    }
    match json::parse(body)?.shape() {
        Shape::Object(properties) => Ok(properties),
        other => {
            let message = format!("the body is {}, but has to be an object", other.name());
            Err(Violation::whole(ViolationCode::InvalidType, message))
        }
    }
}

/// The properties that are known, in the order given. One that is unknown or there twice is told and left out:
/// which of the two values was meant, nobody can say.
pub fn known<V>(
    found: &mut Vec<Violation>,
    within: &[PathSegment],
    properties: Vec<(String, V)>,
    names: &[&'static str],
) -> Vec<(&'static str, V)> {
    let (mut seen, mut duplicates) = (HashSet::new(), HashSet::new());
    for (name, _) in &properties {
        if !seen.insert(name.as_str()) {
            duplicates.insert(name.clone());
        }
    }
    let mut told = HashSet::new();
    let mut kept = Vec::new();
    for (name, value) in properties {
        let known = names.iter().find(|known| **known == name);
        let is_duplicate = duplicates.contains(&name);
        match known {
            Some(known) if !is_duplicate => kept.push((*known, value)),
            _ if told.contains(&name) => {}
            Some(known) => {
                let message = "is there more than once".to_owned();
                found.push(at(within, known, ViolationCode::DuplicateKey, message));
                told.insert(name);
            }
            None => {
                found.push(unknown(within, &name, names, found.len() < MAX_ISSUES));
                told.insert(name);
            }
        }
    }
    kept
}

fn unknown(within: &[PathSegment], name: &str, names: &[&'static str], with_hint: bool) -> Violation {
    let shown = match name.char_indices().nth(MAX_TOLD_CHARS) {
        Some((end, _)) => format!("{}{REST}", &name[..end]),
        None => name.to_owned(),
    };
    let mut violation = at(
        within,
        &shown,
        ViolationCode::UnrecognizedKey,
        "is not known".to_owned(),
    );
    // Looking for the nearest name costs time, and of more problems than are listed nobody reads the hint.
    if with_hint {
        violation.hint = Some(match nearest(name, names.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("one of: {}", names.join(", ")),
        });
    }
    violation
}

/// A text: Unicode without NUL.
pub fn text(path: Vec<PathSegment>, value: Value<'_>) -> Result<String, Violation> {
    let invalid = |path, message: &str| {
        Err(Violation {
            path,
            code: ViolationCode::InvalidValue,
            message: message.to_owned(),
            hint: None,
        })
    };
    match value.shape() {
        Shape::Text(Some(text)) if text.contains('\0') => invalid(path, "contains a NUL character"),
        Shape::Text(Some(text)) => Ok(text),
        Shape::Text(None) => invalid(path, "contains an unpaired surrogate, which is no character"),
        other => Err(wrong_type(path, &other, "a string")),
    }
}

/// What stands there is of another type than asked for.
#[must_use]
pub fn wrong_type(path: Vec<PathSegment>, found: &Shape<'_>, expected: &str) -> Violation {
    let hint = match found {
        Shape::Null => Some("leave it out instead".to_owned()),
        Shape::Text(Some(text)) if text.trim().parse::<f64>().is_ok() && expected.contains("integer") => {
            Some("without the quotes it is a number".to_owned())
        }
        _ => None,
    };
    let message = format!("is {}, but has to be {expected}", found.name());
    Violation {
        path,
        code: ViolationCode::InvalidType,
        message,
        hint,
    }
}

/// A violation at a property of an object within the body.
#[must_use]
pub fn at(within: &[PathSegment], name: &str, code: ViolationCode, message: String) -> Violation {
    Violation {
        path: path(within, PathSegment::Name(name.to_owned())),
        code,
        message,
        hint: None,
    }
}

/// One step further.
#[must_use]
pub fn path(within: &[PathSegment], step: PathSegment) -> Vec<PathSegment> {
    within.iter().cloned().chain([step]).collect()
}
