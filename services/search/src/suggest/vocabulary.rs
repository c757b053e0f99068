//! Values with their counts, and which of them a text may become.

use std::cmp::Reverse;
use std::sync::Arc;

use proto::search::v1::Suggestion;

use super::starts::{Errors, Starts};
use crate::plan::Stop;
use crate::text::fold::fold;
use crate::text::words::{Word, joined};

/// Most values of a vocabulary: those with the highest counts.
pub(super) const MOST_VALUES: usize = 200_000;

/// Longest text, folded, in which typing errors are allowed: an automaton grows with its text.
pub(super) const MAX_MISTYPED_CHARS: usize = 50;

/// Words of a value, from the first, that it is found by the beginning of.
const MOST_STARTS: usize = 16;

/// What a value is found by, folded: each of its names, and each of their words with all that follows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    whole: Vec<String>,
    from_words: Vec<String>,
}

impl Keys {
    /// Adds a name.
    pub(super) fn add(&mut self, words: &[Word]) {
        self.add_form(words, |word| &word.plain);
        if words.iter().any(|word| word.expanded.is_some()) {
            self.add_form(words, Word::expanded_or_plain);
        }
    }

    fn add_form(&mut self, words: &[Word], form: fn(&Word) -> &str) {
        let starts = (0..words.len().min(MOST_STARTS)).map(|at| joined(&words[at..], form));
        for (at, start) in starts.enumerate() {
            let keys = if at == 0 {
                &mut self.whole
            } else {
                &mut self.from_words
            };
            if !keys.contains(&start) {
                keys.push(start);
            }
        }
    }
}

/// A value that may be suggested.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) suggestion: Suggestion,
    pub(super) keys: Arc<Keys>,
}

/// Which of its counts a vocabulary is ordered by; the other one decides ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderedBy {
    /// Companies.
    Companies,
    /// People.
    People,
}

/// All that may be suggested of a kind.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// In the order in which they are suggested where they are found alike. The place of one is its rank.
    values: Vec<Suggestion>,
    whole: Starts,
    from_words: Starts,
}

impl Vocabulary {
    pub(super) fn of(mut values: Vec<Value>, by: OrderedBy) -> Self {
        values.sort_by_cached_key(|Value { suggestion, .. }| {
            let (companies, people) = (Reverse(suggestion.companies), Reverse(suggestion.people));
            let counts = match by {
                OrderedBy::Companies => (companies, people),
                OrderedBy::People => (people, companies),
            };
            let filter = suggestion.filter.clone();
            (counts, fold(&suggestion.value), suggestion.value.clone(), filter)
        });
        values.truncate(MOST_VALUES);
        let pairs = |keys: fn(&Keys) -> &[String]| {
            let pairs = (0..).zip(&values).flat_map(|(rank, value)| {
                let keys = keys(&value.keys).iter();
                keys.map(move |key| (key.as_str(), rank))
            });
            Starts::of(pairs.collect())
        };
        let whole = pairs(|keys| keys.whole.as_slice());
        let from_words = pairs(|keys| keys.from_words.as_slice());
        Self {
            values: values.into_iter().map(|value| value.suggestion).collect(),
            whole,
            from_words,
        }
    }

    /// The first of what the texts may become: values that begin so, then those with a word from which they do. If there is
    /// none, both with one typing error; if there is none of these either, with two of which none is in the first character.
    /// Ends early if it has to stop.
    pub(super) fn find(&self, texts: &[String], limit: usize, stop: &Stop) -> Vec<&Suggestion> {
        let mut found = Found::new(limit);
        for starts in [&self.whole, &self.from_words] {
            for text in texts {
                for rank in starts.beginning_with(text) {
                    found.offer(*rank);
                }
            }
            found.settle();
        }
        for (errors, from_chars) in [(Errors::One, 4), (Errors::Two, 8)] {
            let is_allowed =
                |text: &&String| (from_chars..=MAX_MISTYPED_CHARS).contains(&text.chars().count());
            // Errors are no filler behind what was meant.
            if !found.settled.is_empty() {
                break;
            }
            for text in texts.iter().filter(is_allowed) {
                for starts in [&self.whole, &self.from_words] {
                    starts.beginning_nearly_with(text, errors, stop, |ranks| {
                        for rank in ranks {
                            found.offer(*rank);
                        }
                    });
                }
            }
            found.settle();
        }
        let values = found.settled.iter();
        values
            .filter_map(|rank| self.values.get(*rank as usize))
            .collect()
    }
}

/// The ranks found so far.
struct Found {
    limit: usize,
    /// Found in better ways than those that are looked for now.
    settled: Vec<u32>,
    /// The lowest of those that are looked for now, sorted.
    now: Vec<u32>,
}

impl Found {
    const fn new(limit: usize) -> Self {
        Self {
            limit,
            settled: Vec::new(),
            now: Vec::new(),
        }
    }

    fn offer(&mut self, rank: u32) {
        let room = self.limit - self.settled.len();
        if self.now.len() >= room && self.now.last().is_none_or(|last| rank >= *last) {
            return;
        }
        if let Err(at) = self.now.binary_search(&rank)
            && !self.settled.contains(&rank)
        {
            self.now.insert(at, rank);
            self.now.truncate(room);
        }
    }

    /// What comes from now on is found in a worse way.
    fn settle(&mut self) {
        self.settled.append(&mut self.now);
    }
}
