//! The values of a text field on their way into Tantivy: one string, and the tokenizer that takes it apart.
//!
//! Tantivy's own form of text that is cut already (`PreTokenizedString`) goes through JSON, each token with five fields;
//! it took more time than all else that is done to a document. Here terms stand in a row with ASCII's separators between
//! them, which no term holds, and one token is used for all of them.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::document::MAX_SLOTS;
use crate::plan::Slot;

/// Name under which the tokenizer is known to an index.
pub(super) const TOKENIZER: &str = "slots";

/// Before each further term of a slot.
const TERM: u8 = 0x1f;
/// Before each further slot of a value.
const SLOT: u8 = 0x1e;
/// Before each further value.
const VALUE: u8 = 0x1d;

/// Most values of a field, so that positions stay within 32 bits.
const MOST_VALUES: usize = u32::MAX as usize / MAX_SLOTS - 1;

/// The values in one string. Where there are `many`, each has at most [`MAX_SLOTS`] slots, and the n-th starts at
/// position `n * MAX_SLOTS`.
pub(super) fn encode(values: &[Vec<Slot>], many: bool) -> String {
    let most = if many { MAX_SLOTS } else { usize::MAX };
    let terms = values.iter().flatten().flatten();
    let mut text = String::with_capacity(terms.map(|term| term.len() + 1).sum());
    for (number, value) in values.iter().take(MOST_VALUES).enumerate() {
        separate(&mut text, number, VALUE);
        for (offset, slot) in value.iter().take(most).enumerate() {
            separate(&mut text, offset, SLOT);
            for (place, term) in slot.iter().enumerate() {
                separate(&mut text, place, TERM);
                text.push_str(term);
            }
        }
    }
    text
}

fn separate(text: &mut String, number: usize, separator: u8) {
    if number > 0 {
        text.push(char::from(separator));
    }
}

/// Takes apart what [`encode`] has put together.
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

    fn taken_apart(values: &[Vec<Slot>], many: bool) -> Vec<(usize, String)> {
        let text = encode(values, many);
        let mut tokenizer = SlotTokenizer::default();
        let mut stream = tokenizer.token_stream(&text);
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
            taken_apart(&values, true),
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
        assert_eq!(taken_apart(&[], true), []);
    }

    #[test]
    fn of_many_values_each_ends_before_the_next_one_starts() {
        let long = vec![slot(&["x"]); MAX_SLOTS + 7];
        let one = taken_apart(std::slice::from_ref(&long), false);
        assert_eq!(one.last(), Some(&(MAX_SLOTS + 6, "x".to_owned())));
        let many = taken_apart(&[long.clone(), long], true);
        assert_eq!(many.len(), 2 * MAX_SLOTS);
        assert_eq!(many.last(), Some(&(2 * MAX_SLOTS - 1, "x".to_owned())));
    }
}
