//! What of its words a record's value is found by.
//!
//! Most words are their own stems: one term says both. A word that is not has [`EXACT`] before it, and, where plurals
//! count alike, stands beside its stem with [`STEM`] before it. So what is asked for by its stem is either of two terms,
//! and an index holds little more than one for each word. The first slot holds the whole value with [`WHOLE`] before
//! it. No word begins with any of the marks.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use super::stem;
use super::words::{Word, words};
use crate::document::MAX_SLOTS;
use crate::plan::{Phrase, Slot};

/// Marks a word that is not its own stem.
const EXACT: char = '!';
/// Marks the stem of such a word.
const STEM: char = '~';
/// Marks a whole value.
const WHOLE: char = '=';
/// A whole value longer than this, in bytes, is told by its hash.
const MAX_WHOLE_LEN: usize = 64;
/// Most words of a whole value that are looked for in their plain and expanded forms each on its own.
const MAX_MIXED: usize = 4;

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
        .map(|word| held(word, comparison))
        .collect::<Vec<_>>();
    slots.first_mut()?.append(&mut whole(words, comparison));
    Some(slots)
}

/// The values of several texts, each once; a value ends at [`MAX_SLOTS`].
#[must_use]
pub fn values<'a>(texts: impl IntoIterator<Item = &'a [Word]>, comparison: Comparison) -> Vec<Vec<Slot>> {
    let mut seen = HashSet::new();
    let cut = |mut value: Vec<Slot>| {
        value.truncate(MAX_SLOTS);
        value
    };
    let values = texts
        .into_iter()
        .filter_map(|words| value(words, comparison))
        .map(cut);
    values.filter(|value| seen.insert(value.clone())).collect()
}

/// The slot that a record has for a word.
fn held(word: &Word, comparison: Comparison) -> Slot {
    each_form(word, |form| {
        let stem = stem(form);
        let is_own = stem == form;
        let stemmed = (comparison == Comparison::Stemmed && !is_own).then(|| marked(STEM, &stem));
        std::iter::once(exact(form, is_own)).chain(stemmed)
    })
}

/// The slot that a query asks for by a word.
#[must_use]
pub fn asked(word: &Word, comparison: Comparison) -> Slot {
    each_form(word, |form| {
        let stem = stem(form);
        match comparison {
            Comparison::Exact => vec![exact(form, stem == form)],
            // No other word has a stem that is not of these letters.
            Comparison::Stemmed if !stem.bytes().all(|byte| byte.is_ascii_lowercase()) => vec![stem],
            Comparison::Stemmed => vec![marked(STEM, &stem), stem],
        }
    })
}

/// What becomes of the forms of a word, each once.
fn each_form<I: IntoIterator<Item = String>>(word: &Word, terms: impl Fn(&str) -> I) -> Slot {
    let expanded = word.expanded.as_deref().filter(|form| *form != word.plain);
    let forms = std::iter::once(word.plain.as_str()).chain(expanded);
    let mut slot = Slot::new();
    for term in forms.flat_map(terms) {
        if !slot.contains(&term) {
            slot.push(term);
        }
    }
    slot
}

fn exact(form: &str, is_own_stem: bool) -> String {
    if is_own_stem {
        form.to_owned()
    } else {
        marked(EXACT, form)
    }
}

fn marked(mark: char, form: &str) -> String {
    let mut term = String::with_capacity(form.len() + 1);
    term.push(mark);
    term.push_str(form);
    term
}

/// The phrase that a query asks for by words that follow each other.
#[must_use]
pub fn asked_phrase(words: &[Word], comparison: Comparison) -> Phrase {
    words.iter().map(|word| asked(word, comparison)).collect()
}

/// The terms of the whole value, in every mix of its words' plain and expanded forms; where more than [`MAX_MIXED`]
/// words have both, in the plain forms and in the expanded ones. None without words.
#[must_use]
pub fn whole(words: &[Word], comparison: Comparison) -> Slot {
    if words.is_empty() {
        return Vec::new();
    }
    let with_both = words.iter().filter(|word| word.expanded.is_some()).count();
    // A mix has a bit for each word with both forms: whether it is expanded.
    let mixes = if with_both <= MAX_MIXED {
        (0..1 << with_both).collect()
    } else {
        vec![0, u64::MAX]
    };
    let mut terms = mixes
        .into_iter()
        .map(|mix| whole_term(words, mix, comparison))
        .collect::<Vec<_>>();
    terms.dedup();
    terms
}

/// A bit of the mix, from the lowest, for each word with both forms: whether it is expanded.
fn whole_term(words: &[Word], mut mix: u64, comparison: Comparison) -> String {
    let mut term = String::from(WHOLE);
    for word in words {
        if term.len() > 1 {
            term.push(' ');
        }
        let mut form = &word.plain;
        if let Some(expanded) = &word.expanded {
            if mix & 1 == 1 {
                form = expanded;
            }
            mix = mix.rotate_right(1);
        }
        match comparison {
            Comparison::Exact => term.push_str(form),
            Comparison::Stemmed => term.push_str(&stem(form)),
        }
    }
    if term.len() <= MAX_WHOLE_LEN {
        return term;
    }
    let hash = Sha256::digest(term.as_bytes());
    // Sixteen bytes of it: no two values of any record meet by chance.
    let half = hash
        .iter()
        .take(16)
        .fold(0, |number: u128, byte| number << 8 | u128::from(*byte));
    format!("{WHOLE}{WHOLE}{half:032x}")
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
                vec!["muller", "mueller", "=muller car", "=mueller car"],
                vec!["!cars", "~car"],
            ]
        );
        assert_eq!(
            value(&words("Cars"), Comparison::Exact).unwrap(),
            [vec!["!cars", "=cars"]]
        );
        assert_eq!(value(&words("--"), Comparison::Exact), None);
    }

    #[test]
    fn a_word_is_asked_for_by_what_records_hold() {
        let asked_for = |text: &str, comparison| asked(&words(text)[0], comparison);
        for (text, exact, stemmed) in [
            ("car", vec!["car"], vec!["~car", "car"]),
            ("Cars", vec!["!cars"], vec!["~car", "car"]),
            (
                "Münze",
                vec!["munze", "muenze"],
                vec!["~munze", "munze", "~muenze", "muenze"],
            ),
            ("c++", vec!["c++"], vec!["c++"]),
            ("東", vec!["東"], vec!["東"]),
        ] {
            assert_eq!(asked_for(text, Comparison::Exact), exact);
            assert_eq!(asked_for(text, Comparison::Stemmed), stemmed);
        }
        // A word that reads as another one's stem, and is not its own, is not that stem's.
        for (asked_word, held_word) in [
            ("cars", "car"),
            ("car", "cars"),
            ("movies", "movie"),
            ("movy", "movie"),
        ] {
            let held = held(&words(held_word)[0], Comparison::Stemmed);
            let asked = asked_for(asked_word, Comparison::Stemmed);
            assert!(
                asked.iter().any(|term| held.contains(term)),
                "{asked_word} {held_word}"
            );
        }
    }

    #[test]
    fn a_long_value_is_told_by_its_hash() {
        let long = "word ".repeat(2_000);
        let slots = value(&words(&long), Comparison::Stemmed).unwrap();
        assert_eq!(slots.len(), 2_000);
        let term = slots[0].last().unwrap();
        assert!(term.starts_with("==") && term.len() == 34, "{term}");
        assert_ne!(
            whole(&words(&long), Comparison::Stemmed),
            whole(&words(&format!("{long}x")), Comparison::Stemmed)
        );
    }

    #[test]
    fn one_of_many_values_ends_somewhere() {
        let long = words(&"word ".repeat(2_000));
        assert_eq!(values([long.as_slice()], Comparison::Stemmed)[0].len(), MAX_SLOTS);
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
