//! What of its words a record's value is found by.
//!
//! Most words are their own stems: one term says both. A word that is not has [`EXACT`] before it, and, where plurals
//! count alike, stands beside its stem with [`STEM`] before it. So what is asked for by its stem is either of two terms,
//! and an index holds little more than one for each word. The first slot holds the whole value with [`WHOLE`] before
//! it. No word begins with any of the marks.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use super::stem;
use super::words::{Word, words};
use crate::plan::{Phrase, Slot};
use crate::values::{MAX_SLOTS, Value, Values};

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

/// What a record's text is found by: its words, and itself as a whole. Empty if it has no words.
#[must_use]
pub fn value(words: &[Word], comparison: Comparison) -> Values {
    held(words, comparison, usize::MAX, true)
}

/// As [`value`], of a text that is one of several: it ends at [`MAX_SLOTS`].
#[must_use]
pub fn one_of_many(words: &[Word], comparison: Comparison) -> Values {
    held(words, comparison, MAX_SLOTS, true)
}

/// As [`value`], of a text that nobody asks for as a whole.
#[must_use]
pub fn words_alone(words: &[Word], comparison: Comparison) -> Values {
    held(words, comparison, usize::MAX, false)
}

/// The slots that a record has for words; the first has also what tells them as a whole.
fn held(words: &[Word], comparison: Comparison, most: usize, as_whole: bool) -> Values {
    let words = words.iter().map(Stemmed::of).collect::<Vec<_>>();
    let mut value = Value::default();
    for (number, word) in words.iter().take(most).enumerate() {
        value.slot();
        for (form, stem) in word.forms() {
            if stem == form {
                value.term(form);
            } else {
                value.marked(EXACT, form);
                if comparison == Comparison::Stemmed {
                    value.marked(STEM, stem);
                }
            }
        }
        if number == 0 && as_whole {
            for term in whole_terms(&words, comparison) {
                value.term(&term);
            }
        }
    }
    value.finish()
}

/// A word and the stems of its forms.
struct Stemmed<'a> {
    word: &'a Word,
    plain: Cow<'a, str>,
    expanded: Option<Cow<'a, str>>,
}

impl<'a> Stemmed<'a> {
    fn of(word: &'a Word) -> Self {
        Self {
            word,
            plain: stem(&word.plain),
            expanded: word.expanded.as_deref().map(stem),
        }
    }

    /// Each form with its stem, each once.
    fn forms(&self) -> impl Iterator<Item = (&str, &str)> {
        let expanded = self.word.expanded.as_deref().zip(self.expanded.as_deref());
        let expanded = expanded.filter(|(form, _)| *form != self.word.plain);
        std::iter::once((self.word.plain.as_str(), &*self.plain)).chain(expanded)
    }

    /// What stands for it in a whole value.
    fn in_whole(&self, is_expanded: bool, comparison: Comparison) -> &str {
        match (comparison, &self.word.expanded, &self.expanded) {
            (Comparison::Exact, Some(form), _) if is_expanded => form,
            (Comparison::Exact, ..) => &self.word.plain,
            (Comparison::Stemmed, _, Some(stem)) if is_expanded => stem,
            (Comparison::Stemmed, ..) => &self.plain,
        }
    }
}

/// The slot that a query asks for by a word.
#[must_use]
pub fn asked(word: &Word, comparison: Comparison) -> Slot {
    each_form(word, |form, stem| {
        match comparison {
            Comparison::Exact if stem == form => vec![form.to_owned()],
            Comparison::Exact => vec![marked(EXACT, form)],
            // No other word has a stem that is not of these letters.
            Comparison::Stemmed if !stem.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                vec![stem.to_owned()]
            }
            Comparison::Stemmed => vec![marked(STEM, stem), stem.to_owned()],
        }
    })
}

/// What becomes of the forms of a word and their stems, each once.
fn each_form(word: &Word, terms: impl Fn(&str, &str) -> Vec<String>) -> Slot {
    let word = Stemmed::of(word);
    let mut slot = Slot::new();
    for term in word.forms().flat_map(|(form, stem)| terms(form, stem)) {
        if !slot.contains(&term) {
            slot.push(term);
        }
    }
    slot
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
    let words = words.iter().map(Stemmed::of).collect::<Vec<_>>();
    whole_terms(&words, comparison)
}

fn whole_terms(words: &[Stemmed<'_>], comparison: Comparison) -> Slot {
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
fn whole_term(words: &[Stemmed<'_>], mut mix: u64, comparison: Comparison) -> String {
    let mut term = String::from(WHOLE);
    for word in words {
        if term.len() > 1 {
            term.push(' ');
        }
        let is_expanded = word.expanded.is_some() && mix & 1 == 1;
        term.push_str(word.in_whole(is_expanded, comparison));
        if word.expanded.is_some() {
            mix = mix.rotate_right(1);
        }
    }
    if term.len() <= MAX_WHOLE_LEN {
        return term;
    }
    let hash = Sha256::digest(term.as_bytes());
    // Ten bytes of it: no two values of any record meet by chance.
    let some = hash
        .iter()
        .take(10)
        .fold(0, |number: u128, byte| number << 8 | u128::from(*byte));
    format!("{WHOLE}{WHOLE}{some:020x}")
}

/// The terms of a tag that is compared as a whole; none if it has no words.
#[must_use]
pub fn whole_tag(tag: &str) -> Slot {
    whole(&words(tag), Comparison::Exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(values: &Values) -> Vec<Slot> {
        values.iter().next().unwrap()
    }

    #[test]
    fn a_slot_holds_all_forms_of_its_word() {
        let text = words("Müller Cars");
        assert_eq!(
            slots(&value(&text, Comparison::Stemmed)),
            [
                vec!["muller", "mueller", "=muller car", "=mueller car"],
                vec!["!cars", "~car"],
            ]
        );
        assert_eq!(
            slots(&words_alone(&text, Comparison::Stemmed)),
            [vec!["muller", "mueller"], vec!["!cars", "~car"]]
        );
        assert_eq!(
            slots(&value(&words("Cars"), Comparison::Exact)),
            [vec!["!cars", "=cars"]]
        );
        assert!(value(&words("--"), Comparison::Exact).is_empty());
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
            let held = &slots(&value(&words(held_word), Comparison::Stemmed))[0];
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
        let slots = slots(&value(&words(&long), Comparison::Stemmed));
        assert_eq!(slots.len(), 2_000);
        let term = slots[0].last().unwrap();
        assert!(term.starts_with("==") && term.len() == 22, "{term}");
        assert_ne!(
            whole(&words(&long), Comparison::Stemmed),
            whole(&words(&format!("{long}x")), Comparison::Stemmed)
        );
    }

    #[test]
    fn one_of_many_values_ends_somewhere() {
        let long = words(&"word ".repeat(2_000));
        assert_eq!(slots(&one_of_many(&long, Comparison::Stemmed)).len(), MAX_SLOTS);
    }
}
