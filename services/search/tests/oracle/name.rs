//! Names of companies that are asked for.

use crate::keywords::quoted;
use crate::legal::{name_words, without_forms};
use crate::text::{Word, composed, is_whole, occurs, runs, words};

/// A company's name that is asked for.
pub(crate) struct CompanyName {
    words: Vec<Word>,
    whole: Vec<Vec<Word>>,
}

impl CompanyName {
    pub(crate) fn of(asked: &str) -> Self {
        let pieces = quoted(&composed(asked));
        let (inside, outside): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|(_, in_quotes)| *in_quotes);
        let whole = inside
            .iter()
            .map(|(name, _)| name_words(name))
            .filter(|name| !name.is_empty())
            .collect::<Vec<_>>();
        let all = outside
            .iter()
            .flat_map(|(text, _)| words(text))
            .collect::<Vec<_>>();
        let rest = without_forms(&all);
        let words = if rest.is_empty() && whole.is_empty() {
            all
        } else {
            rest
        };
        Self { words, whole }
    }

    /// As that of a keyword list; a name in quotes is the whole name.
    pub(crate) fn tier_in(&self, name: &[Word]) -> u64 {
        let whole = self.whole.iter().all(|whole| is_whole(name, whole, Word::is));
        let holds = whole && runs(&self.words).all(|run| occurs(name, run, Word::is));
        let nothing = self.words.is_empty() && self.whole.is_empty();
        if !holds || nothing {
            0
        } else if !self.whole.is_empty() || is_whole(name, &self.words, Word::is) {
            3
        } else if occurs(name, &self.words, Word::is) {
            2
        } else {
            1
        }
    }
}
