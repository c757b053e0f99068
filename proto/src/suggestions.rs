//! The rules of a request for suggestions.

use crate::alternatives::is_searchable;
use crate::search::v1::{SuggestRequest, Vocabulary};
use crate::search_query::is_blank;
use crate::violation::Violation;
use crate::violation::ViolationCode::{InvalidValue, Missing, TooBig, TooLong, TooSmall};

/// Most characters of what has been typed.
pub const MAX_TYPED_CHARS: usize = 100;
/// Suggestions where the request does not say.
pub const DEFAULT_LIMIT: i64 = 10;
/// Most suggestions.
pub const MAX_LIMIT: i64 = 25;

/// The vocabularies, as the public API names them.
pub const VOCABULARIES: [(&str, Vocabulary); 4] = [
    ("places", Vocabulary::Places),
    ("businessTypes", Vocabulary::BusinessTypes),
    ("jobTitles", Vocabulary::JobTitles),
    ("tags", Vocabulary::Tags),
];

/// Every rule that the request breaks, in the order of the message's fields.
#[must_use]
pub fn check(request: &SuggestRequest) -> Vec<Violation> {
    let mut found = Vec::new();
    if !VOCABULARIES
        .iter()
        .any(|(_, vocabulary)| i32::from(*vocabulary) == request.vocabulary)
    {
        let names = VOCABULARIES.map(|(name, _)| name).join(", ");
        let violation = Violation::at("vocabulary", InvalidValue, "is none of the allowed values");
        found.push(violation.hint(format!("one of: {names}")));
    }
    check_typed(&mut found, &request.q);
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT);
    if limit < 1 {
        found.push(Violation::at(
            "limit",
            TooSmall,
            format!("is {limit}, less than 1"),
        ));
    } else if limit > MAX_LIMIT {
        let message = format!("is {limit}, more than {MAX_LIMIT}");
        found.push(Violation::at("limit", TooBig, message));
    }
    found
}

fn check_typed(found: &mut Vec<Violation>, typed: &str) {
    if is_blank(typed) {
        found.push(
            Violation::at("q", Missing, "is missing or blank")
                .hint("q is the beginning of what is looked for"),
        );
        return;
    }
    let before = found.len();
    if typed.contains('\0') {
        found.push(Violation::at("q", InvalidValue, "contains a NUL character"));
    }
    let chars = typed.trim().chars().count();
    if chars > MAX_TYPED_CHARS {
        let message = format!("has {chars} characters, more than {MAX_TYPED_CHARS}");
        found.push(Violation::at("q", TooLong, message));
    }
    if found.len() == before && !is_searchable(typed) {
        let message = "holds nothing to look for: no letter and no digit";
        found.push(Violation::at("q", InvalidValue, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::ViolationCode;

    fn problems(vocabulary: i32, q: &str, limit: Option<i64>) -> Vec<(String, ViolationCode)> {
        let request = SuggestRequest {
            vocabulary,
            q: q.to_owned(),
            limit,
        };
        let found = check(&request);
        found
            .into_iter()
            .map(|violation| (violation.field(), violation.code))
            .collect()
    }

    #[test]
    fn every_problem_is_told() {
        let tags = Vocabulary::Tags.into();
        for (q, limit) in [
            ("a", None),
            ("  é  ", Some(1)),
            (&"x".repeat(100), Some(25)),
            (&format!(" {} ", "é".repeat(100)), None),
        ] {
            assert_eq!(problems(tags, q, limit), [], "{q}");
        }
        let at = |field: &str, code| (field.to_owned(), code);
        for (q, code) in [
            ("", Missing),
            (" \t ", Missing),
            ("!?", InvalidValue),
            ("a\0b", InvalidValue),
            (&"x".repeat(101), TooLong),
        ] {
            assert_eq!(problems(tags, q, None), [at("q", code)], "{q:?}");
        }
        assert_eq!(
            problems(0, "", Some(0)),
            [
                at("vocabulary", InvalidValue),
                at("q", Missing),
                at("limit", TooSmall)
            ]
        );
        assert_eq!(
            problems(5, &format!("\0{}", "x".repeat(100)), Some(26)),
            [
                at("vocabulary", InvalidValue),
                at("q", InvalidValue),
                at("q", TooLong),
                at("limit", TooBig)
            ]
        );
    }
}
