//! Looking up, against looking at every value.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proto::search::v1::Suggestion;

use super::vocabulary::{Keys, MAX_MISTYPED_CHARS, OrderedBy, Value, Vocabulary};
use crate::plan::Stop;
use crate::text::words::{Word, joined, words};

/// Fewest typing errors that make the text of a beginning of the other one: characters that are missing, too many, others,
/// or swapped with their neighbour.
fn errors(text: &str, other: &str) -> usize {
    let (text, other) = (
        text.chars().collect::<Vec<_>>(),
        other.chars().collect::<Vec<_>>(),
    );
    let mut rows = vec![vec![0; other.len() + 1]; text.len() + 1];
    for at in 0..=text.len() {
        for to in 0..=other.len() {
            let mut least = if at == 0 { to } else { at };
            if at > 0 && to > 0 {
                let differs = usize::from(text[at - 1] != other[to - 1]);
                least = (rows[at - 1][to] + 1)
                    .min(rows[at][to - 1] + 1)
                    .min(rows[at - 1][to - 1] + differs);
                if at > 1 && to > 1 && text[at - 1] == other[to - 2] && text[at - 2] == other[to - 1] {
                    least = least.min(rows[at - 2][to - 2] + 1);
                }
            }
            rows[at][to] = least;
        }
    }
    rows[text.len()].iter().copied().min().unwrap_or_default()
}

/// How well a text finds a name, best first; none if it does not.
fn way(text: &str, name: &[Word]) -> Option<u8> {
    let from = |at: usize| {
        [(|word| &word.plain) as fn(&Word) -> &str, Word::expanded_or_plain]
            .map(|form| joined(&name[at..], form))
    };
    let starts = (0..name.len()).map(from).collect::<Vec<_>>();
    let begins = |forms: &[String; 2]| forms.iter().any(|form| form.starts_with(text));
    if begins(&starts[0]) {
        return Some(0);
    }
    if starts.iter().any(begins) {
        return Some(1);
    }
    let chars = text.chars().count();
    let nearly = |form: &String| match errors(text, form) {
        1 if (4..=MAX_MISTYPED_CHARS).contains(&chars) => Some(2),
        2 if (8..=MAX_MISTYPED_CHARS).contains(&chars) && text.chars().next() == form.chars().next() => {
            Some(3)
        }
        _ => None,
    };
    starts.iter().flatten().filter_map(nearly).min()
}

const PIECES: [&str; 16] = [
    "Software",
    "software",
    "Softwear",
    "Engineer",
    "engineering",
    "of",
    "Müller",
    "Muller",
    "Mueller",
    "sales",
    "東京",
    "C++",
    "C#",
    "Head",
    "head",
    "Œuvre",
];

fn value(name: &str, companies: i64, people: i64) -> Value {
    let mut keys = Keys::default();
    keys.add(&words(name));
    Value {
        suggestion: Suggestion {
            value: name.to_owned(),
            filter: name.to_owned(),
            companies,
            people,
        },
        keys: Arc::new(keys),
    }
}

/// What has been typed of one of the values, with some characters changed.
fn typed() -> impl Strategy<Value = String> {
    let change = (
        0..12_usize,
        0..4_u8,
        prop::sample::select(vec!['a', 'e', 'o', 'x', 'ü', ' ']),
    );
    (
        vec(prop::sample::select(&PIECES[..]), 1..4),
        1..20_usize,
        vec(change, 0..4),
    )
        .prop_map(|(pieces, most, changes)| {
            let mut typed = pieces.join(" ").chars().take(most).collect::<Vec<_>>();
            for (at, how, other) in changes {
                let at = at % typed.len();
                match how {
                    0 if typed.len() > 1 => drop(typed.remove(at)),
                    1 => typed.insert(at, other),
                    2 if at > 0 => typed.swap(at, at - 1),
                    _ => typed[at] = other,
                }
            }
            typed.into_iter().collect()
        })
}

proptest! {
    #[test]
    fn what_is_found_is_what_looking_at_every_value_finds(
        names in vec(vec(prop::sample::select(&PIECES[..]), 1..5), 0..30),
        counts in vec((0..3_i64, 0..3_i64), 30),
        typed in typed(),
        limit in 1..12_usize,
        by in prop::sample::select(vec![OrderedBy::Companies, OrderedBy::People]),
    ) {
        let text = joined(&words(&typed), |word| &word.plain);
        prop_assume!(!text.is_empty());
        let mut names = names.into_iter().map(|pieces| pieces.join(" ")).collect::<Vec<_>>();
        names.sort_unstable();
        names.dedup();
        let values = || names.iter().zip(&counts).map(|(name, (companies, people))| value(name, *companies, *people));
        let vocabulary = Vocabulary::of(values().collect(), by);
        let found = vocabulary.find(std::slice::from_ref(&text), limit, &Stop::never());
        let mut expected = values()
            .filter_map(|value| Some((way(&text, &words(&value.suggestion.value))?, value.suggestion)))
            .collect::<Vec<_>>();
        expected.sort_by_key(|(way, suggestion)| {
            let Suggestion { value, companies, people, .. } = suggestion.clone();
            let counts = match by {
                OrderedBy::Companies => (-companies, -people),
                OrderedBy::People => (-people, -companies),
            };
            (*way, counts, crate::text::fold::fold(&value), value)
        });
        // Typing errors are for texts that nothing begins with.
        let most = expected.first().map_or(0, |(way, ..)| (*way).max(1));
        let expected = expected.iter().filter(|(way, ..)| *way <= most).take(limit);
        let expected = expected.map(|(_, suggestion)| suggestion).collect::<Vec<_>>();
        prop_assert_eq!(found, expected, "{}", text);
    }
}

#[test]
fn a_search_that_has_to_stop_does() {
    let values = (0..5_000).map(|number| value(&format!("software {number}"), number, 0));
    let vocabulary = Vocabulary::of(values.collect(), OrderedBy::Companies);
    let stop = Stop::never();
    assert_eq!(vocabulary.find(&["softvare".to_owned()], 3, &stop).len(), 3);
    drop(stop.waiting());
    assert!(vocabulary.find(&["softvare".to_owned()], 3, &stop).is_empty());
}
