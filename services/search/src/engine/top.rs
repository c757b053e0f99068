//! The first documents of an order within a segment.

use std::collections::BinaryHeap;

use tantivy::DocId;

use super::order::{Key, Place};

/// Keeps the first documents of those it is offered.
pub(super) struct Top {
    keep: usize,
    /// Only documents behind it are kept.
    after: Option<Place>,
    /// Documents behind it are not kept: enough stand before them.
    bound: Option<Place>,
    kept: BinaryHeap<(Place, DocId)>,
}

impl Top {
    /// Keeps up to `keep` documents, at least one, behind `after` and not behind `bound`.
    pub(super) const fn new(keep: usize, after: Option<Place>, bound: Option<Place>) -> Self {
        Self {
            keep,
            after,
            bound,
            kept: BinaryHeap::new(),
        }
    }

    /// Whether no document with the key, or one behind it, can be kept any more.
    pub(super) fn is_behind(&self, key: Key) -> bool {
        self.bound.is_some_and(|(bound, _)| key > bound)
    }

    /// Keeps the document if it is one of the first so far. Its id is read only if the key does not tell already.
    pub(super) fn offer(&mut self, key: Key, doc: DocId, id: impl FnOnce() -> u128) {
        if self.is_behind(key) || self.after.is_some_and(|(after, _)| key < after) {
            return;
        }
        let place = (key, id());
        if self.bound.is_some_and(|bound| place > bound) || self.after.is_some_and(|after| place <= after) {
            return;
        }
        self.kept.push((place, doc));
        if self.kept.len() > self.keep {
            self.kept.pop();
        }
        if self.kept.len() == self.keep {
            self.bound = self.kept.peek().map(|(place, _)| *place);
        }
    }

    /// What was kept, in order.
    pub(super) fn into_sorted(self) -> Vec<(Place, DocId)> {
        self.kept.into_sorted_vec()
    }
}
