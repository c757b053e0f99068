//! The values of a text field, as an index is given them: one string.
//!
//! A value is a sequence of slots, a slot holds the terms that stand there. Terms stand in a row with ASCII's separators
//! between them, which no term holds. Most values are a few short words; as lists of lists of strings they were what
//! making a document spent its time on.

use std::fmt;
use std::sync::Arc;

use foldhash::{HashSet, HashSetExt as _};

use crate::plan::Slot;

/// Before each further term of a slot.
pub(crate) const TERM: u8 = 0x1f;
/// Before each further slot of a value.
pub(crate) const SLOT: u8 = 0x1e;
/// Before each further value.
pub(crate) const VALUE: u8 = 0x1d;

/// Most slots of a value in a field of many values.
pub const MAX_SLOTS: usize = 1024;

/// Values of a field, which documents share.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Values(Arc<str>);

impl Values {
    /// Several values; of equal ones the first.
    #[must_use]
    pub fn of_each<'a>(values: impl IntoIterator<Item = &'a Values>) -> Self {
        let mut seen = HashSet::new();
        let mut text = String::new();
        for value in values {
            if !value.0.is_empty() && seen.insert(&*value.0) {
                if seen.len() > 1 {
                    text.push(char::from(VALUE));
                }
                text.push_str(&value.0);
            }
        }
        Self(text.into())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, with the separators.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Each of them, taken apart.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Slot>> + '_ {
        let values = (!self.is_empty()).then(|| self.0.split(char::from(VALUE)));
        values.into_iter().flatten().map(|value| {
            let slots = value.split(char::from(SLOT));
            slots
                .map(|slot| {
                    let terms = slot.split(char::from(TERM)).filter(|term| !term.is_empty());
                    terms.map(str::to_owned).collect()
                })
                .collect()
        })
    }
}

impl FromIterator<Vec<Slot>> for Values {
    fn from_iter<I: IntoIterator<Item = Vec<Slot>>>(values: I) -> Self {
        let values = values.into_iter().map(|slots| {
            let mut value = Value::default();
            for terms in slots {
                value.slot();
                for term in terms {
                    value.term(&term);
                }
            }
            value.text
        });
        let values: Vec<_> = values.collect();
        Self(values.join("\u{1d}").into())
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

/// A value in the making.
#[derive(Debug, Default)]
pub struct Value {
    text: String,
    /// How many slots were begun.
    slots: usize,
    /// Where the one that is being filled starts in the text.
    start: usize,
}

impl Value {
    /// Begins the next slot.
    pub fn slot(&mut self) {
        if self.slots > 0 {
            self.text.push(char::from(SLOT));
        }
        self.slots += 1;
        self.start = self.text.len();
    }

    /// How many slots were begun.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// Adds a term to the slot, unless it has it.
    pub fn term(&mut self, term: &str) {
        self.parts(&[term]);
    }

    /// Adds a term with this mark before it to the slot, unless it has it.
    pub fn marked(&mut self, mark: char, term: &str) {
        self.parts(&[mark.encode_utf8(&mut [0; 4]), term]);
    }

    fn parts(&mut self, parts: &[&str]) {
        let end = self.text.len();
        let separator = char::from(TERM);
        if end > self.start {
            self.text.push(separator);
        }
        let new = self.text.len();
        self.text.extend(parts.iter().copied());
        let (before, term) = (&self.text[self.start..end], &self.text[new..]);
        if end > self.start && before.split(separator).any(|other| other == term) {
            self.text.truncate(end);
        }
    }

    /// The value alone.
    #[must_use]
    pub fn finish(self) -> Values {
        Values(self.text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(terms: &[&str]) -> Slot {
        terms.iter().map(|term| (*term).to_owned()).collect()
    }

    #[test]
    fn what_is_put_in_comes_out() {
        let values = vec![
            vec![slot(&["=gas works", "gas", "~gas"]), slot(&["works", "~work"])],
            vec![slot(&["öl"]), slot(&[]), slot(&["c++"])],
        ];
        let held: Values = values.iter().cloned().collect();
        assert_eq!(held.iter().collect::<Vec<_>>(), values);
        assert!(Values::default().iter().next().is_none());
    }

    #[test]
    fn a_slot_has_each_term_once() {
        let mut value = Value::default();
        value.slot();
        for term in ["a", "ab", "a", "~a"] {
            value.term(term);
        }
        value.marked('~', "a");
        value.marked('!', "a");
        value.slot();
        value.term("a");
        assert_eq!(value.slots(), 2);
        assert_eq!(
            value.finish().iter().next().unwrap(),
            [slot(&["a", "ab", "~a", "!a"]), slot(&["a"])]
        );
    }

    #[test]
    fn of_equal_values_there_is_one() {
        let one = |term: &str| {
            let mut value = Value::default();
            value.slot();
            value.term(term);
            value.finish()
        };
        let all = [one("a"), one("b"), Values::default(), one("a")];
        let values = Values::of_each(&all);
        assert_eq!(
            values.iter().collect::<Vec<_>>(),
            [vec![slot(&["a"])], vec![slot(&["b"])]]
        );
        assert!(Values::of_each(&[]).is_empty());
    }
}
