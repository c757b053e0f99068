//! Names of companies that are asked for: words in any order, or whole names in quotes, without legal forms.

use proto::alternatives::{Part, composed, parts};

use super::keywords::one_or_many;
use super::legal_forms::{strip_legal_forms, without_legal_forms};
use super::slots::{Comparison, asked_phrase, whole};
use super::words::{Word, runs, words};
use crate::plan::{InValue, RankAlternative};

/// A company's name that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompanyName {
    /// The words outside quotes.
    pub words: Vec<Word>,
    /// Names in quotes: each is the whole name.
    pub whole: Vec<Vec<Word>>,
}

impl CompanyName {
    /// Parses it; none without a word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = composed(text);
        let mut plain = Vec::new();
        let mut whole = Vec::new();
        for part in parts(&text) {
            match part {
                Part::Plain(text) => plain.extend(words(text)),
                Part::Quoted(text) => whole.push(without_legal_forms(&words(text))),
            }
        }
        whole.retain(|words| !words.is_empty());
        let words = if whole.is_empty() {
            without_legal_forms(&plain)
        } else {
            strip_legal_forms(&plain)
        };
        let is_empty = words.is_empty() && whole.is_empty();
        (!is_empty).then_some(Self { words, whole })
    }

    /// The name has it.
    #[must_use]
    pub fn holds(&self) -> Option<InValue> {
        let phrases = runs(&self.words).map(|run| InValue::Phrase(asked_phrase(run, Comparison::Exact)));
        let names = self
            .whole
            .iter()
            .map(|words| InValue::Phrase(vec![whole(words, Comparison::Exact)]));
        one_or_many(phrases.chain(names).collect(), InValue::All)
    }

    /// Its degrees for the ranking; none as [`Self::holds`].
    #[must_use]
    pub fn rank(&self) -> Option<RankAlternative> {
        let holds = self.holds()?;
        let (adjacent, whole_name) = if self.whole.is_empty() {
            let adjacent = InValue::Phrase(asked_phrase(&self.words, Comparison::Exact));
            (
                adjacent,
                InValue::Phrase(vec![whole(&self.words, Comparison::Exact)]),
            )
        } else {
            // A whole name can't hold in a lower degree.
            (holds.clone(), holds.clone())
        };
        Some(RankAlternative {
            adjacent: (adjacent != holds).then_some(adjacent),
            whole: Some(whole_name),
            holds,
        })
    }
}
