//! The values of a text field on their way into Tantivy: the tokenizer that takes [`Values`](crate::values::Values) apart.
//!
//! Tantivy's own form of text that is cut already (`PreTokenizedString`) goes through JSON, each token with five fields;
//! it took more time than all else that is done to a document. Here one token is used for all of them.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::values::{MAX_SLOTS, SLOT, TERM, VALUE};

/// Name under which the tokenizer is known to an index.
pub(super) const TOKENIZER: &str = "slots";

/// Takes values apart. The n-th of them starts at position `n * MAX_SLOTS`, or behind a longer one.
#[derive(Clone, Default)]
pub(super) struct SlotTokenizer {
    token: Token,
}

/// The terms of a field, at their positions.
pub(super) struct Terms<'a> {
    rest: &'a str,
    /// Position of the next term.
    position: usize,
    token: &'a mut Token,
}

impl Tokenizer for SlotTokenizer {
    type TokenStream<'a> = Terms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms<'a> {
        self.token.reset();
        self.token.position_length = 1;
        Terms {
            rest: text,
            position: 0,
            token: &mut self.token,
        }
    }
}

impl TokenStream for Terms<'_> {
    fn advance(&mut self) -> bool {
        while !self.rest.is_empty() {
            let is_separator = |byte: &u8| (VALUE..=TERM).contains(byte);
            let end = self.rest.bytes().position(|byte| is_separator(&byte));
            let term = &self.rest[..end.unwrap_or(self.rest.len())];
            let position = self.position;
            match end.map(|end| self.rest.as_bytes()[end]) {
                Some(SLOT) => self.position += 1,
                Some(VALUE) => self.position = (self.position / MAX_SLOTS + 1) * MAX_SLOTS,
                _ => {}
            }
            self.rest = end.map_or("", |end| &self.rest[end + 1..]);
            if !term.is_empty() {
                self.token.text.clear();
                self.token.text.push_str(term);
                self.token.position = position;
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Slot;
    use crate::values::Values;

    fn taken_apart(values: &[Vec<Slot>]) -> Vec<(usize, String)> {
        let values: Values = values.iter().cloned().collect();
        let mut tokenizer = SlotTokenizer::default();
        let mut stream = tokenizer.token_stream(values.as_str());
        let mut terms = Vec::new();
        while stream.advance() {
            terms.push((stream.token().position, stream.token().text.clone()));
        }
        terms
    }

    fn slot(terms: &[&str]) -> Slot {
        terms.iter().map(|term| (*term).to_owned()).collect()
    }

    #[test]
    fn terms_stand_where_their_slots_and_values_are() {
        let values = [
            vec![slot(&["=gas works", "gas", "~gas"]), slot(&["works", "~work"])],
            vec![slot(&["öl"]), slot(&[]), slot(&["c++"])],
        ];
        let term = |position, term: &str| (position, term.to_owned());
        assert_eq!(
            taken_apart(&values),
            [
                term(0, "=gas works"),
                term(0, "gas"),
                term(0, "~gas"),
                term(1, "works"),
                term(1, "~work"),
                term(MAX_SLOTS, "öl"),
                term(MAX_SLOTS + 2, "c++"),
            ]
        );
        assert_eq!(taken_apart(&[]), []);
    }

    #[test]
    fn a_value_of_the_longest_ends_before_the_next_one_starts() {
        let long = vec![slot(&["x"]); MAX_SLOTS];
        let terms = taken_apart(&[long.clone(), long]);
        assert!(terms.iter().map(|(position, _)| *position).eq(0..2 * MAX_SLOTS));
    }
}
