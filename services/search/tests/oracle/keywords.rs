//! What a keyword list asks for.

use crate::text::{Equal, Word, composed, is_whole, occurrences, runs, words};

/// One alternative: words, some of them in quotes.
#[derive(Clone, Debug)]
pub(crate) struct Alternative {
    pieces: Vec<(Vec<Word>, bool)>,
}

/// A text taken apart at its double quotes: each piece, and whether it stood in quotes. A quote that follows a letter or
/// digit, or that no other follows, is an inch and no quote.
pub(crate) fn quoted(text: &str) -> Vec<(String, bool)> {
    let characters = text.chars().collect::<Vec<_>>();
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(character) = characters.get(at).copied() {
        let after_letter = plain.ends_with(char::is_alphanumeric);
        let closing = (at + 1..characters.len()).find(|next| characters[*next] == '"');
        match closing {
            Some(close) if character == '"' && !after_letter => {
                pieces.push((std::mem::take(&mut plain), false));
                pieces.push((characters[at + 1..close].iter().collect(), true));
                at = close;
            }
            _ => plain.push(character),
        }
        at += 1;
    }
    pieces.push((plain, false));
    pieces
}

/// The alternatives between the commas that stand outside quotes.
pub(crate) fn keyword_list(text: &str, cut: fn(&str) -> Vec<Word>) -> Vec<Alternative> {
    let mut alternatives = vec![Vec::new()];
    for (piece, in_quotes) in quoted(&composed(text)) {
        if in_quotes {
            alternatives
                .last_mut()
                .expect("one at least")
                .push((cut(&piece), true));
            continue;
        }
        for (number, part) in piece.split(',').enumerate() {
            if number > 0 {
                alternatives.push(Vec::new());
            }
            alternatives
                .last_mut()
                .expect("one at least")
                .push((cut(part), false));
        }
    }
    alternatives.into_iter().filter_map(Alternative::of).collect()
}

/// One alternative, in which a comma only separates words.
pub(crate) fn one_alternative(text: &str, cut: fn(&str) -> Vec<Word>) -> Option<Alternative> {
    let pieces = quoted(&composed(text)).into_iter();
    Alternative::of(
        pieces
            .map(|(piece, in_quotes)| (cut(&piece), in_quotes))
            .collect(),
    )
}

/// Every word of `text` by the rule of keyword lists, for alternatives that are no job titles.
pub(crate) fn plain_list(text: &str) -> Vec<Alternative> {
    keyword_list(text, words)
}

const fn equal(in_quotes: bool) -> Equal {
    if in_quotes {
        Word::is
    } else {
        Word::is_in_any_number
    }
}

impl Alternative {
    fn of(pieces: Vec<(Vec<Word>, bool)>) -> Option<Self> {
        let pieces = pieces
            .into_iter()
            .filter(|(words, _)| !words.is_empty())
            .collect::<Vec<_>>();
        (!pieces.is_empty()).then_some(Self { pieces })
    }

    /// All words occur in the value, those in quotes together.
    pub(crate) fn holds_in(&self, value: &[Word]) -> bool {
        self.pieces.iter().all(|(words, in_quotes)| {
            if *in_quotes {
                occurrences(value, words, equal(true)) > 0
            } else {
                runs(words).all(|run| occurrences(value, run, equal(false)) > 0)
            }
        })
    }

    /// 3 if it is the whole value, 2 if its words stand in it together and in order, 1 if it holds, else 0.
    pub(crate) fn tier_in(&self, value: &[Word]) -> u64 {
        let length = self.pieces.iter().map(|(words, _)| words.len()).sum::<usize>();
        let stands_at = |at: usize| {
            let mut at = at;
            self.pieces.iter().all(|(words, in_quotes)| {
                let part = &value[at..at + words.len()];
                at += words.len();
                is_whole(part, words, equal(*in_quotes))
            })
        };
        if !self.holds_in(value) {
            return 0;
        }
        let last_start = value.len().checked_sub(length);
        let stands = last_start.is_some_and(|last| (0..=last).any(stands_at));
        match (stands, value.len() == length) {
            (true, true) => 3,
            (true, false) => 2,
            (false, _) => 1,
        }
    }
}
