//! The first documents of an order within a segment.

use tantivy::DocId;

use super::order::{Key, Place};

/// Least room for documents that may still fall out, so that few are sorted out often.
const LEAST_ROOM: usize = 16;

/// Keeps the first documents of those it is offered.
///
/// They are gathered until there are twice as many as are kept; then the half that stands behind is dropped. That costs
/// the same for each document however many are kept, which a heap does not: a late page keeps ten thousand.
pub(super) struct Top {
    keep: usize,
    room: usize,
    /// Only documents behind it are kept.
    after: Option<Place>,
    /// Documents behind it are not kept: enough stand before them.
    bound: Option<Place>,
    kept: Vec<(Place, DocId)>,
}

impl Top {
    /// Keeps up to `keep` documents, at least one, behind `after` and not behind `bound`.
    pub(super) fn new(keep: usize, after: Option<Place>, bound: Option<Place>) -> Self {
        let keep = keep.max(1);
        Self {
            keep,
            room: keep + keep.max(LEAST_ROOM),
            after,
            bound,
            kept: Vec::new(),
        }
    }

    /// The keys that a document can have and still be kept: from the first, up to the second.
    pub(super) fn bounds(&self) -> (Option<Key>, Option<Key>) {
        (self.after.map(|(key, _)| key), self.bound.map(|(key, _)| key))
    }

    /// Whether no document with the key, or one behind it, can be kept any more.
    pub(super) fn is_behind(&self, key: Key) -> bool {
        self.bound.is_some_and(|(bound, _)| key > bound)
    }

    /// The id up to which documents with this key can be kept, if they stand where the bound does.
    pub(super) fn last_at(&self, key: Key) -> Option<u128> {
        self.bound
            .filter(|(bound, _)| *bound == key)
            .map(|(_, last)| last)
    }

    /// Whether a document that has this key, or one behind it, may still be kept. Told on a tie whether its id is up to
    /// the given one.
    pub(super) fn may_keep(&self, key: Key, is_up_to: impl FnOnce(u128) -> bool) -> bool {
        self.bound
            .is_none_or(|(bound, last)| key < bound || (key == bound && is_up_to(last)))
    }

    /// Keeps the document if it is one of the first so far. Only on a tie is asked whether its id is up to another one, and
    /// the id is read only if it is kept.
    pub(super) fn offer(
        &mut self,
        key: Key,
        doc: DocId,
        is_up_to: impl Fn(u128) -> bool,
        id: impl FnOnce() -> u128,
    ) {
        if self.is_behind(key) || self.after.is_some_and(|(after, _)| key < after) {
            return;
        }
        let is_tie = |place: Option<Place>| place.filter(|(other, _)| *other == key);
        if is_tie(self.bound).is_some_and(|(_, last)| !is_up_to(last))
            || is_tie(self.after).is_some_and(|(_, last)| is_up_to(last))
        {
            return;
        }
        let place = (key, id());
        self.kept.push((place, doc));
        if self.kept.len() == self.keep && self.bound.is_none() {
            self.bound = self.kept.iter().map(|(place, _)| *place).max();
        } else if self.kept.len() >= self.room {
            let (_, last, _) = self.kept.select_nth_unstable(self.keep - 1);
            self.bound = Some(last.0);
            self.kept.truncate(self.keep);
        }
    }

    /// What was kept, in order.
    pub(super) fn into_sorted(mut self) -> Vec<(Place, DocId)> {
        self.kept.sort_unstable();
        self.kept.truncate(self.keep);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::engine::order::key;

    fn place() -> impl Strategy<Value = Place> {
        (0..200_u64, any::<u128>()).prop_map(|(value, id)| (key(value, false), id))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn what_is_kept_are_the_first_of_all(
            places in vec(place(), 0..1000),
            keep in prop_oneof![1..3_usize, 60..70_usize, 100..400_usize],
            after in proptest::option::of(place()),
            bound in proptest::option::of(place()),
        ) {
            let mut all: Vec<(Place, DocId)> = places.into_iter().zip(0..).collect();
            let mut top = Top::new(keep, after, bound);
            for ((key, id), doc) in &all {
                let (first, last) = top.bounds();
                let is_within = first.is_none_or(|first| first <= *key) && last.is_none_or(|last| *key <= last);
                let before = top.kept.len();
                top.offer(*key, *doc, |other| *id <= other, || *id);
                prop_assert!(is_within || top.kept.len() == before);
            }
            all.retain(|(place, _)| {
                after.is_none_or(|after| *place > after) && bound.is_none_or(|bound| *place <= bound)
            });
            all.sort_unstable();
            all.truncate(keep);
            prop_assert_eq!(top.into_sorted(), all);
        }
    }
}
