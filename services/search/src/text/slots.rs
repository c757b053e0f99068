//! What of its words a record's value is found by.
//!
//! A slot holds a word's exact forms as they are, where plurals count alike also its stems with [`STEM`] before
//! them. The first slot holds the whole value with [`WHOLE`] before it. No word begins with either mark.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use super::stem;
use super::words::{Word, words};
use crate::document::MAX_SLOTS;
use crate::plan::{Phrase, Slot};

/// Marks the stem of a word.
const STEM: char = '~';
/// Marks a whole value.
const WHOLE: char = '=';
/// A whole value longer than this, in bytes, is told by its hash.
const MAX_WHOLE_LEN: usize = 64;

/// How the words of a field are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// As they are: names.
    Exact,
    /// English singular and plural alike: everything else.
    Stemmed,
}

/// The slots of a record's value; none if it has no words.
#[must_use]
pub fn value(words: &[Word], comparison: Comparison) -> Option<Vec<Slot>> {
    let mut slots = words
        .iter()
        .map(|word| {
            let mut slot = asked(word, Comparison::Exact);
            if comparison == Comparison::Stemmed {
                slot.append(&mut asked(word, comparison));
            }
            slot
        })
        .collect::<Vec<_>>();
    slots.truncate(MAX_SLOTS);
    slots.first_mut()?.append(&mut whole(words, comparison));
    Some(slots)
}

/// The values of several texts, each once.
#[must_use]
pub fn values<'a>(texts: impl IntoIterator<Item = &'a [Word]>, comparison: Comparison) -> Vec<Vec<Slot>> {
    let mut seen = HashSet::new();
    let values = texts.into_iter().filter_map(|words| value(words, comparison));
    values.filter(|value| seen.insert(value.clone())).collect()
}

/// The slot that a query asks for by a word.
#[must_use]
pub fn asked(word: &Word, comparison: Comparison) -> Slot {
    let form = |form: &str| match comparison {
        Comparison::Exact => form.to_owned(),
        Comparison::Stemmed => format!("{STEM}{}", stem(form)),
    };
    let mut slot = vec![form(&word.plain)];
    if let Some(expanded) = &word.expanded {
        slot.push(form(expanded));
        slot.dedup();
    }
    slot
}

/// The phrase that a query asks for by words that follow each other.
#[must_use]
pub fn asked_phrase(words: &[Word], comparison: Comparison) -> Phrase {
    words.iter().map(|word| asked(word, comparison)).collect()
}

/// The terms of the whole value, in the plain and in the expanded form; none without words.
#[must_use]
pub fn whole(words: &[Word], comparison: Comparison) -> Slot {
    let join = |form: fn(&Word) -> &str| {
        let forms = words.iter().map(|word| match comparison {
            Comparison::Exact => form(word).to_owned(),
            Comparison::Stemmed => stem(form(word)),
        });
        let joined = forms.collect::<Vec<_>>().join(" ");
        if joined.len() <= MAX_WHOLE_LEN {
            return format!("{WHOLE}{joined}");
        }
        let hash = Sha256::digest(joined.as_bytes());
        let hex = hash
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>();
        format!("{WHOLE}{WHOLE}{hex}")
    };
    if words.is_empty() {
        return Vec::new();
    }
    let mut terms = vec![join(|word| &word.plain), join(Word::expanded_or_plain)];
    terms.dedup();
    terms
}

/// The terms of a tag that is compared as a whole; none if it has no words.
#[must_use]
pub fn whole_tag(tag: &str) -> Slot {
    whole(&words(tag), Comparison::Exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_holds_all_forms_of_its_word() {
        assert_eq!(
            value(&words("Müller Cars"), Comparison::Stemmed).unwrap(),
            [
                vec![
                    "muller",
                    "mueller",
                    "~muller",
                    "~mueller",
                    "=muller car",
                    "=mueller car"
                ],
                vec!["cars", "~car"],
            ]
        );
        assert_eq!(
            value(&words("Cars"), Comparison::Exact).unwrap(),
            [vec!["cars", "=cars"]]
        );
        assert_eq!(value(&words("--"), Comparison::Exact), None);
    }

    #[test]
    fn a_long_value_is_told_by_its_hash() {
        let long = "word ".repeat(2_000);
        let slots = value(&words(&long), Comparison::Stemmed).unwrap();
        assert_eq!(slots.len(), MAX_SLOTS);
        let term = slots[0].last().unwrap();
        assert!(term.starts_with("==") && term.len() == 34, "{term}");
        assert_ne!(
            whole(&words(&long), Comparison::Stemmed),
            whole(&words(&format!("{long}x")), Comparison::Stemmed)
        );
    }

    #[test]
    fn equal_values_are_one() {
        let texts = [words("Cars"), words("CARS"), words("car")];
        assert_eq!(
            values(texts.iter().map(Vec::as_slice), Comparison::Stemmed).len(),
            2
        );
    }
}
