//! Where documents stand in an order.
//!
//! Within a segment a document's place is a [`Place`]: a key that ascends in the order asked for, then the id. Of
//! numbers and scores the key is the value; of texts it is the ordinal in the segment's dictionary, which compares as
//! the text's bytes do. Across segments the [`OrderPosition`]s are compared. A position of the whole index is brought
//! into a segment as the place just before which, or at which, it would stand there.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

use tantivy::DocId;
use tantivy::columnar::{Column, StrColumn, TermOrdHit};
use tantivy::index::SegmentReader;
use uuid::Uuid;

use super::docs::{COLUMN_LOOKS, fill_by_column};
use super::id_order::IdOrder;
use super::ids::{ID_HIGH, ID_LOW};
use super::kept::Keeping;
use super::schema::{number_name, order_name};
use super::window::Window;
use crate::plan::{Order, OrderBy, OrderPosition, OrderValue};

/// What a document is ordered by within a segment, before its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Documents without the value come last in both directions.
    missing: bool,
    value: u64,
}

/// Where a document stands within a segment.
pub(super) type Place = (Key, u128);

const MISSING: Key = Key {
    missing: true,
    value: 0,
};

/// The keys and ids of a segment's documents.
pub(super) struct Places {
    values: Values,
    descending: bool,
    id_high: Column<u64>,
    id_low: Column<u64>,
    /// None until it is kept.
    id_order: Option<Arc<IdOrder>>,
    last_range: Cell<Option<(u128, u8)>>,
    read: Vec<Option<i64>>,
    ordinals: Vec<Option<u64>>,
    within: Vec<DocId>,
}

enum Values {
    Score,
    Number(Option<Column<i64>>),
    Text(Option<StrColumn>),
}

impl Places {
    pub(super) fn open(reader: &SegmentReader, order: Order, kept: Keeping<'_>) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        let values = match order.by {
            OrderBy::Relevance => Values::Score,
            OrderBy::Number(field) => Values::Number(columns.column_opt(number_name(field))?),
            OrderBy::Text(field) => Values::Text(columns.str(order_name(field))?),
        };
        Ok(Self {
            values,
            descending: order.descending || order.by == OrderBy::Relevance,
            id_high: columns.u64(ID_HIGH)?,
            id_low: columns.u64(ID_LOW)?,
            id_order: kept.id_order(reader),
            last_range: Cell::new(None),
            read: Vec::new(),
            ordinals: Vec::new(),
            within: Vec::new(),
        })
    }

    /// Leaves away documents of the window whose keys are before the first or behind the last of these, where it costs
    /// less than reading the keys: a column is compared many values at once.
    pub(super) fn narrow(&mut self, window: &mut Window, (first, last): (Option<Key>, Option<Key>)) {
        // Documents without the value are behind all others.
        let last = last.filter(|last| !last.missing);
        if last.is_none() || window.count() <= COLUMN_LOOKS {
            return;
        }
        let first = first.map_or(0, |first| first.value);
        let last = last.map_or(u64::MAX, |last| last.value);
        let values = if self.descending {
            !last..=!first
        } else {
            first..=last
        };
        let mut own = window.emptied();
        match &self.values {
            Values::Number(Some(column)) => {
                let numbers = signed(*values.start())..=signed(*values.end());
                fill_by_column(column, &numbers, &mut own, &mut self.within);
            }
            Values::Text(Some(column)) => fill_by_column(column.ords(), &values, &mut own, &mut self.within),
            Values::Score | Values::Number(None) | Values::Text(None) => return,
        }
        window.intersect(&own);
    }

    /// The keys of the documents, which are all in the window; `scores` are the window's.
    pub(super) fn keys(&mut self, window: &Window, docs: &[DocId], scores: &[u64], keys: &mut Vec<Key>) {
        keys.clear();
        let descending = self.descending;
        match &self.values {
            Values::Score => {
                keys.extend(docs.iter().map(|doc| score_key(scores[window.offset(*doc)])));
            }
            Values::Number(Some(column)) => {
                self.read.clear();
                self.read.resize(docs.len(), None);
                column.first_vals(docs, &mut self.read);
                keys.extend(
                    self.read
                        .iter()
                        .map(|value| value.map_or(MISSING, |value| key(unsigned(value), descending))),
                );
            }
            Values::Text(Some(column)) => {
                self.ordinals.clear();
                self.ordinals.resize(docs.len(), None);
                column.ords().first_vals(docs, &mut self.ordinals);
                keys.extend(
                    self.ordinals
                        .iter()
                        .map(|value| value.map_or(MISSING, |value| key(value, descending))),
                );
            }
            Values::Number(None) | Values::Text(None) => keys.resize(docs.len(), MISSING),
        }
    }

    pub(super) fn id(&self, doc: DocId) -> u128 {
        let high = self.id_high.first(doc).unwrap_or_default();
        let low = self.id_low.first(doc).unwrap_or_default();
        u128::from(high) << 64 | u128::from(low)
    }

    /// Whether the document's id is the given one or before it. Mostly its range or its upper half tells.
    pub(super) fn is_id_up_to(&self, doc: DocId, last: u128) -> bool {
        if let Some(order) = &self.id_order {
            match order.compare(doc, self.range(order, last)) {
                Ordering::Less => return true,
                Ordering::Greater => return false,
                Ordering::Equal => {}
            }
        }
        let upper = u128::from(self.id_high.first(doc).unwrap_or_default());
        match upper.cmp(&(last >> 64)) {
            Ordering::Less => true,
            Ordering::Equal => self.id(doc) <= last,
            Ordering::Greater => false,
        }
    }

    /// Leaves away documents of the window whose ids are behind the given one, as far as that is told at once.
    pub(super) fn narrow_to_ids(&self, window: &mut Window, last: u128) {
        if let Some(order) = &self.id_order {
            let range = self.range(order, last);
            order.narrow(window, range);
        }
    }

    /// The range of an id, which mostly is the one that was asked for before.
    fn range(&self, order: &IdOrder, id: u128) -> u8 {
        match self.last_range.get() {
            Some((last, range)) if last == id => range,
            _ => {
                let range = order.range(id);
                self.last_range.set(Some((id, range)));
                range
            }
        }
    }

    /// Brings a position into the segment: a document stands behind it, or at it, if and only if its place is behind
    /// the returned one, or the returned one. None if all stand behind it.
    pub(super) fn place(&self, position: &OrderPosition) -> tantivy::Result<Option<Place>> {
        let id = position.id.as_u128();
        let key = match (&position.value, &self.values) {
            (OrderValue::Missing, Values::Number(_) | Values::Text(_)) => MISSING,
            (OrderValue::Score(score), Values::Score) => score_key(*score),
            (OrderValue::Number(number), Values::Number(_)) => key(unsigned(*number), self.descending),
            (OrderValue::Text(text), Values::Text(column)) => {
                let Some(column) = column else { return Ok(None) };
                return self.text_place(column, text, id);
            }
            _ => {
                let reason = "the position is not one of the order";
                return Err(tantivy::TantivyError::InvalidArgument(reason.to_owned()));
            }
        };
        Ok(Some((key, id)))
    }

    fn text_place(&self, column: &StrColumn, text: &str, id: u128) -> tantivy::Result<Option<Place>> {
        let terms = column.dictionary().num_terms() as u64;
        let behind = match column.dictionary().term_ord_or_next(text)? {
            TermOrdHit::Exact(ordinal) => return Ok(Some((key(ordinal, self.descending), id))),
            TermOrdHit::Next(ordinal) => ordinal.min(terms),
        };
        Ok(if self.descending {
            // Smaller texts, those with ordinals below `behind`, stand behind it.
            Some((key(behind, true), u128::MAX))
        } else {
            behind.checked_sub(1).map(|last| (key(last, false), u128::MAX))
        })
    }

    /// The positions of places in this segment, in their order.
    pub(super) fn positions(&self, places: &[Place]) -> tantivy::Result<Vec<OrderPosition>> {
        let mut texts = match &self.values {
            Values::Text(Some(column)) => self.texts(column, places)?.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let positions = places.iter().map(|(key, id)| {
            let value = match &self.values {
                _ if key.missing => OrderValue::Missing,
                Values::Score => OrderValue::Score(key.read(true)),
                Values::Number(_) => OrderValue::Number(signed(key.read(self.descending))),
                Values::Text(_) => texts.next().map_or(OrderValue::Missing, OrderValue::Text),
            };
            OrderPosition {
                value,
                id: Uuid::from_u128(*id),
            }
        });
        Ok(positions.collect())
    }

    /// The texts of those places that have one; places ascend.
    fn texts(&self, column: &StrColumn, places: &[Place]) -> tantivy::Result<Vec<String>> {
        let mut ordinals: Vec<u64> = places
            .iter()
            .filter(|(key, _)| !key.missing)
            .map(|(key, _)| key.read(self.descending))
            .collect();
        if self.descending {
            ordinals.reverse();
        }
        let mut texts = Vec::with_capacity(ordinals.len());
        column.dictionary().sorted_ords_to_term_cb(&ordinals, |term| {
            texts.push(String::from_utf8_lossy(term).into_owned());
        })?;
        if self.descending {
            texts.reverse();
        }
        Ok(texts)
    }
}

pub(super) const fn key(value: u64, descending: bool) -> Key {
    Key {
        missing: false,
        value: if descending { !value } else { value },
    }
}

/// The key of a score.
pub(super) const fn score_key(score: u64) -> Key {
    key(score, true)
}

impl Key {
    const fn read(self, descending: bool) -> u64 {
        if descending { !self.value } else { self.value }
    }
}

/// A number that compares unsigned as the given one does signed.
const fn unsigned(number: i64) -> u64 {
    number.cast_unsigned() ^ 1 << 63
}

const fn signed(number: u64) -> i64 {
    (number ^ 1 << 63).cast_signed()
}

/// Which of two positions comes first.
pub(super) fn compare(order: Order, left: &OrderPosition, right: &OrderPosition) -> Ordering {
    let turned = |ordering: Ordering| {
        if order.descending {
            ordering.reverse()
        } else {
            ordering
        }
    };
    let values = match (&left.value, &right.value) {
        (OrderValue::Missing, OrderValue::Missing) => Ordering::Equal,
        (OrderValue::Missing, _) => Ordering::Greater,
        (_, OrderValue::Missing) => Ordering::Less,
        (OrderValue::Text(left), OrderValue::Text(right)) => turned(left.cmp(right)),
        (OrderValue::Number(left), OrderValue::Number(right)) => turned(left.cmp(right)),
        (OrderValue::Score(left), OrderValue::Score(right)) => right.cmp(left),
        // Positions of one order have values of one sort.
        _ => Ordering::Equal,
    };
    values.then_with(|| left.id.cmp(&right.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_order_as_keys() {
        let numbers = [i64::MIN, -2, -1, 0, 1, i64::MAX];
        for pair in numbers.windows(2) {
            assert!(key(unsigned(pair[0]), false) < key(unsigned(pair[1]), false));
            assert!(key(unsigned(pair[0]), true) > key(unsigned(pair[1]), true));
        }
        for number in numbers {
            assert_eq!(signed(key(unsigned(number), true).read(true)), number);
            assert!(key(unsigned(number), true) < MISSING);
        }
    }
}
