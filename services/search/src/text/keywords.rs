//! Keyword lists: alternatives of words and quoted phrases.

use std::collections::HashSet;

use proto::alternatives::{Part, Separator, parts, split};

use super::slots::{Comparison, asked_phrase, whole};
use super::words::{Word, runs, words};
use crate::plan::{InValue, Phrase, RankAlternative};

/// One alternative. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    pieces: Vec<Piece>,
}

/// Words within an alternative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its words; there is at least one.
    pub words: Vec<Word>,
    /// In quotes: exactly these words, adjacent and in order.
    pub quoted: bool,
}

/// The alternatives of a keyword list; those without a word are skipped.
#[must_use]
pub fn alternatives(text: &str) -> Vec<Alternative> {
    split(text, Separator::CommaOutsideQuotes)
        .iter()
        .filter_map(|text| Alternative::parse(text, words))
        .collect()
}

/// The condition that one of the alternatives holds in a value; none without alternatives.
#[must_use]
pub fn any(alternatives: &[Alternative]) -> Option<InValue> {
    one_or_many(
        each_once(alternatives.iter().map(Alternative::holds)),
        InValue::Any,
    )
}

/// As [`any`], for fields whose values are found as a whole too: where one is what is asked for, which most are, its
/// words need not be looked at.
#[must_use]
pub fn any_or_whole(alternatives: &[Alternative]) -> Option<InValue> {
    let forms = alternatives.iter().flat_map(|alternative| {
        let rank = alternative.rank();
        let is_plain = alternative.pieces.iter().all(|piece| !piece.quoted);
        let whole = rank.whole.filter(|_| is_plain && alternative.has_many_words());
        whole.into_iter().chain([rank.holds])
    });
    one_or_many(each_once(forms), InValue::Any)
}

impl Alternative {
    /// What of it stands in quotes, and what between them.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    fn has_many_words(&self) -> bool {
        self.pieces.iter().map(|piece| piece.words.len()).sum::<usize>() > 1
    }

    /// Parses one alternative whose words are cut by `words`; a comma only separates words. None without a word.
    #[must_use]
    pub fn parse(text: &str, words: fn(&str) -> Vec<Word>) -> Option<Self> {
        let pieces = parts(text)
            .into_iter()
            .map(|part| match part {
                Part::Plain(text) => Piece {
                    words: words(text),
                    quoted: false,
                },
                Part::Quoted(text) => Piece {
                    words: words(text),
                    quoted: true,
                },
            })
            .filter(|piece| !piece.words.is_empty())
            .collect::<Vec<_>>();
        (!pieces.is_empty()).then_some(Self { pieces })
    }

    /// All its words occur in the value, in any order; the quoted ones as phrases.
    #[must_use]
    pub fn holds(&self) -> InValue {
        let phrases = self.pieces.iter().flat_map(|piece| {
            if piece.quoted {
                vec![asked_phrase(&piece.words, Comparison::Exact)]
            } else {
                runs(&piece.words)
                    .map(|run| asked_phrase(run, Comparison::Stemmed))
                    .collect()
            }
        });
        // Never empty, since no piece is.
        one_or_many(each_once(phrases.map(InValue::Phrase)), InValue::All).unwrap_or(InValue::All(Vec::new()))
    }

    /// Its degrees for the ranking.
    #[must_use]
    pub fn rank(&self) -> RankAlternative {
        let holds = self.holds();
        let adjacent = InValue::Phrase(self.phrase());
        let words = self
            .pieces
            .iter()
            .flat_map(|piece| piece.words.iter().cloned())
            .collect::<Vec<_>>();
        let whole = InValue::Phrase(vec![whole(&words, Comparison::Stemmed)]);
        // A whole value is told by its stems: that of other words must not do for quoted ones.
        let whole = if self.pieces.iter().any(|piece| piece.quoted) {
            InValue::All(vec![adjacent.clone(), whole])
        } else {
            whole
        };
        RankAlternative {
            adjacent: (adjacent != holds).then_some(adjacent),
            whole: Some(whole),
            holds,
        }
    }

    fn phrase(&self) -> Phrase {
        let comparison = |piece: &Piece| {
            if piece.quoted {
                Comparison::Exact
            } else {
                Comparison::Stemmed
            }
        };
        self.pieces
            .iter()
            .flat_map(|piece| asked_phrase(&piece.words, comparison(piece)))
            .collect()
    }
}

/// Without repetitions, which cost as much as what they repeat and change nothing.
fn each_once(expressions: impl Iterator<Item = InValue>) -> Vec<InValue> {
    let mut seen = HashSet::new();
    expressions
        .filter(|expression| seen.insert(expression.clone()))
        .collect()
}

/// A single expression or condition as it is, several put together, none for none.
pub(crate) fn one_or_many<T>(mut parts: Vec<T>, many: fn(Vec<T>) -> T) -> Option<T> {
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(many(parts)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(slots: &[&str]) -> InValue {
        InValue::Phrase(slots.iter().map(|term| vec![(*term).to_owned()]).collect())
    }

    /// Slots that ask for words by their stems.
    fn stems(stems: &[&str]) -> InValue {
        let slot = |stem: &&str| vec![format!("~{stem}"), (*stem).to_owned()];
        InValue::Phrase(stems.iter().map(slot).collect())
    }

    fn holds(text: &str) -> Vec<InValue> {
        alternatives(text).iter().map(Alternative::holds).collect()
    }

    #[test]
    fn commas_separate_alternatives_but_not_in_quotes() {
        assert_eq!(holds("cars, trucks,,"), [stems(&["car"]), stems(&["truck"])]);
        assert_eq!(holds("\"cars, trucks\""), [phrase(&["!cars", "!trucks"])]);
        assert_eq!(holds("***, !"), []);
    }

    #[test]
    fn words_stand_anywhere_and_quoted_ones_together() {
        assert_eq!(
            holds("used cars \"Spare Parts\""),
            [InValue::All(vec![
                stems(&["used"]),
                stems(&["car"]),
                phrase(&["spare", "!parts"])
            ])]
        );
        assert_eq!(
            holds("東京 電力"),
            [InValue::All(vec![phrase(&["東", "京"]), phrase(&["電", "力"])])]
        );
    }

    #[test]
    fn what_is_repeated_is_asked_once() {
        assert_eq!(holds("cars cars CARS car"), [stems(&["car"])]);
        let repeated = any(&alternatives("cars, car, trucks, Cars")).unwrap();
        assert_eq!(repeated, InValue::Any(vec![stems(&["car"]), stems(&["truck"])]));
    }

    #[test]
    fn an_odd_quote_only_separates() {
        assert_eq!(holds("16\" pipe"), holds("16 pipe"));
        assert_eq!(holds("\"pipe"), holds("pipe"));
    }

    #[test]
    fn signs_that_are_operators_elsewhere_only_separate() {
        for text in [
            "+cars -trucks",
            "cars && trucks",
            "(cars) || {trucks}",
            "cars* trucks?",
            "cars:trucks",
            "cars^~ [trucks]",
        ] {
            assert_eq!(holds(text), holds("cars trucks"), "{text}");
        }
    }

    #[test]
    fn degrees_are_holding_adjacent_and_whole() {
        let rank = alternatives("used cars")[0].rank();
        assert_eq!(rank.adjacent, Some(stems(&["used", "car"])));
        assert_eq!(rank.whole, Some(phrase(&["=used car"])));
        assert_eq!(alternatives("cars")[0].rank().adjacent, None);
        assert_eq!(alternatives("\"used cars\"")[0].rank().adjacent, None);
    }
}
