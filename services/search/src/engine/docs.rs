//! Sets of documents of a segment, worked through in windows.
//!
//! A set can add its documents to a window ([`Docs::fill`]) and remove from a window what is not in it
//! ([`Docs::retain`]); a conjunction fills from its smallest part and lets the others retain, so that each part does
//! the work of the smaller side. Against a document at a time this costs one virtual call a window rather than one a
//! document, counts by machine words, and lets an alternative of a hundred terms cost what its postings cost and not
//! what the documents it is asked about cost.
//!
//! Windows go forward only: a set is asked about windows in ascending order, and at most once about each.

use std::fmt::Debug;
use std::ops::{Range, RangeInclusive};

use tantivy::columnar::Column;
use tantivy::postings::BlockSegmentPostings;
use tantivy::{DocId, TERMINATED};

use super::bits::Gathered;
use super::window::{WINDOW, Window};

/// A set of documents of a segment. Deleted ones may be in it.
pub(super) trait Docs {
    /// A document at or behind `from` such that none between the two is in the set, [`TERMINATED`] if there is
    /// nothing left. Calls with ascending `from`, and not behind a window that is still to be asked about.
    fn next(&mut self, from: DocId) -> DocId;

    /// Adds the set's documents of the window to it.
    fn fill(&mut self, window: &mut Window);

    /// Removes from the window what is not in the set.
    fn retain(&mut self, window: &mut Window);

    /// About how many documents [`Docs::fill`] has to look at in all.
    fn cost(&self) -> u64;

    /// About how dear it is to ask about one document, in units of one look into postings.
    fn price(&self) -> u64 {
        1
    }

    /// Whether documents are looked into for where words stand in them, the dearest of all.
    fn looks_at_positions(&self) -> bool {
        false
    }

    /// How many documents are in the set, where that is known without counting.
    fn known_count(&self) -> Option<u64> {
        None
    }

    /// The documents, if they have been gathered beforehand.
    fn gathered(&self) -> Option<Gathered<'_>> {
        None
    }
}

/// A set on the heap.
pub(super) type BoxDocs = Box<dyn Docs>;

/// The documents with a term.
pub(super) struct TermDocs {
    postings: BlockSegmentPostings,
    next: DocId,
    per_window: u64,
}

impl TermDocs {
    pub(super) fn new(postings: BlockSegmentPostings, max_doc: DocId) -> Self {
        let next = postings.docs().first().copied().unwrap_or(TERMINATED);
        let per_window = u64::from(postings.doc_freq()) * u64::from(WINDOW) / u64::from(max_doc.max(1));
        Self {
            postings,
            next,
            per_window,
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.next < target {
            let index = self.postings.seek(target.min(TERMINATED));
            self.next = self.postings.doc(index);
        }
        self.next
    }
}

impl Docs for TermDocs {
    fn next(&mut self, from: DocId) -> DocId {
        self.seek(from)
    }

    fn fill(&mut self, window: &mut Window) {
        let end = window.end();
        if self.next >= end {
            return;
        }
        let mut index = self.postings.seek(window.base.max(self.next));
        loop {
            for &doc in self.postings.docs().get(index..).unwrap_or_default() {
                if doc >= end {
                    self.next = doc;
                    return;
                }
                window.insert(doc);
            }
            self.postings.advance();
            index = 0;
            if self.postings.docs().is_empty() {
                self.next = TERMINATED;
                return;
            }
        }
    }

    fn retain(&mut self, window: &mut Window) {
        if self.next >= window.end() {
            window.clear();
        } else if u64::from(window.count()) * 4 < self.per_window {
            window.retain(|doc| self.seek(doc) == doc);
        } else {
            let mut own = window.emptied();
            self.fill(&mut own);
            window.intersect(&own);
        }
    }

    fn cost(&self) -> u64 {
        u64::from(self.postings.doc_freq())
    }

    fn known_count(&self) -> Option<u64> {
        Some(self.cost())
    }
}

/// The documents of a range; all of a segment, none, or those of a range of the value that segments are sorted by.
pub(super) struct RangeDocs(pub(super) Range<DocId>);

impl Docs for RangeDocs {
    fn next(&mut self, from: DocId) -> DocId {
        if from < self.0.end {
            from.max(self.0.start)
        } else {
            TERMINATED
        }
    }

    fn fill(&mut self, window: &mut Window) {
        window.insert_range(&self.0);
    }

    fn retain(&mut self, window: &mut Window) {
        let mut own = window.emptied();
        own.insert_range(&self.0);
        window.intersect(&own);
    }

    fn cost(&self) -> u64 {
        self.0.len() as u64
    }

    fn known_count(&self) -> Option<u64> {
        Some(self.cost())
    }
}

/// The documents whose number is there and within bounds.
pub(super) struct NumberDocs {
    column: Column<i64>,
    bounds: RangeInclusive<i64>,
    found: Vec<DocId>,
}

impl NumberDocs {
    pub(super) const fn new(column: Column<i64>, bounds: RangeInclusive<i64>) -> Self {
        Self {
            column,
            bounds,
            found: Vec::new(),
        }
    }
}

/// Asked about more documents of a window than this, a column is better read through than looked into.
pub(super) const COLUMN_LOOKS: u32 = WINDOW / 8;

/// [`Docs::retain`] of a set that a column tells: `has` looks into it for one document.
pub(super) fn retain_by_column<D: Docs>(docs: &mut D, window: &mut Window, has: impl Fn(&D, DocId) -> bool) {
    if window.count() > COLUMN_LOOKS {
        let mut own = window.emptied();
        docs.fill(&mut own);
        window.intersect(&own);
    } else {
        window.retain(|doc| has(docs, doc));
    }
}

/// Adds to the window its documents whose number is within the bounds: many are compared at once. `found` is room for
/// them, whatever is in it.
pub(super) fn fill_by_column<T>(
    column: &Column<T>,
    bounds: &RangeInclusive<T>,
    window: &mut Window,
    found: &mut Vec<DocId>,
) where
    T: PartialOrd + Copy + Debug + Send + Sync + 'static,
{
    let docs = window.base..window.end().min(column.num_docs());
    // Bounds below the least number would find the least.
    if docs.is_empty() || bounds.is_empty() || *bounds.end() < column.min_value() {
        return;
    }
    found.clear();
    column.get_docids_for_value_range(bounds.clone(), docs, found);
    for &doc in found.iter() {
        window.insert(doc);
    }
}

impl Docs for NumberDocs {
    fn next(&mut self, from: DocId) -> DocId {
        if from < self.column.num_docs() {
            from
        } else {
            TERMINATED
        }
    }

    fn fill(&mut self, window: &mut Window) {
        fill_by_column(&self.column, &self.bounds, window, &mut self.found);
    }

    fn retain(&mut self, window: &mut Window) {
        retain_by_column(self, window, |docs, doc| {
            docs.column
                .first(doc)
                .is_some_and(|value| docs.bounds.contains(&value))
        });
    }

    fn cost(&self) -> u64 {
        u64::from(self.column.num_docs())
    }

    fn price(&self) -> u64 {
        2
    }
}

/// The documents that are in all of the parts.
pub(super) struct AllDocs {
    /// What fills, the part that costs least, first; the others from the cheapest to ask to the dearest.
    parts: Vec<BoxDocs>,
}

impl AllDocs {
    /// `parts` must not be empty.
    pub(super) fn new(mut parts: Vec<BoxDocs>) -> Self {
        parts.sort_by_key(|part| part.cost());
        if let Some(rest) = parts.get_mut(1..) {
            rest.sort_by_key(|part| (part.price(), part.cost()));
        }
        Self { parts }
    }
}

impl Docs for AllDocs {
    fn next(&mut self, from: DocId) -> DocId {
        self.parts.iter_mut().fold(
            from,
            |next, part| if next == TERMINATED { next } else { part.next(next) },
        )
    }

    fn fill(&mut self, window: &mut Window) {
        let mut own = window.emptied();
        let mut parts = self.parts.iter_mut();
        if let Some(first) = parts.next() {
            first.fill(&mut own);
        }
        for part in parts {
            if own.is_empty() {
                return;
            }
            part.retain(&mut own);
        }
        window.add(&own);
    }

    fn retain(&mut self, window: &mut Window) {
        for part in &mut self.parts {
            if window.is_empty() {
                return;
            }
            part.retain(window);
        }
    }

    fn cost(&self) -> u64 {
        self.parts.iter().map(|part| part.cost()).min().unwrap_or(0)
    }

    fn looks_at_positions(&self) -> bool {
        self.parts.iter().any(|part| part.looks_at_positions())
    }

    fn price(&self) -> u64 {
        self.parts.iter().map(|part| part.price()).sum()
    }
}

/// The documents that are in at least one of the parts.
pub(super) struct AnyDocs {
    parts: Vec<BoxDocs>,
}

impl AnyDocs {
    pub(super) fn new(mut parts: Vec<BoxDocs>) -> Self {
        // What holds most settles most before the others are asked.
        parts.sort_by_key(|part| (part.price(), std::cmp::Reverse(part.cost())));
        Self { parts }
    }
}

impl Docs for AnyDocs {
    fn next(&mut self, from: DocId) -> DocId {
        let mut next = TERMINATED;
        for part in &mut self.parts {
            next = next.min(part.next(from));
            if next == from {
                break;
            }
        }
        next
    }

    fn fill(&mut self, window: &mut Window) {
        for part in &mut self.parts {
            part.fill(window);
        }
    }

    fn retain(&mut self, window: &mut Window) {
        let mut open = window.clone();
        for part in &mut self.parts {
            if open.is_empty() {
                break;
            }
            let mut found = open.clone();
            part.retain(&mut found);
            open.subtract(&found);
        }
        window.subtract(&open);
    }

    fn cost(&self) -> u64 {
        self.parts
            .iter()
            .fold(0, |sum, part| sum.saturating_add(part.cost()))
    }

    fn looks_at_positions(&self) -> bool {
        self.parts.iter().any(|part| part.looks_at_positions())
    }

    fn price(&self) -> u64 {
        self.parts.iter().map(|part| part.price()).sum()
    }
}

/// A set that is only to be asked about what other sets of a conjunction have found: looking for its documents is dear.
pub(super) struct AskedDocs(pub(super) BoxDocs);

impl Docs for AskedDocs {
    fn next(&mut self, from: DocId) -> DocId {
        self.0.next(from)
    }

    fn fill(&mut self, window: &mut Window) {
        self.0.fill(window);
    }

    fn retain(&mut self, window: &mut Window) {
        self.0.retain(window);
    }

    fn cost(&self) -> u64 {
        u64::MAX
    }

    fn price(&self) -> u64 {
        self.0.price()
    }
}

/// The segment's documents that are not in the part.
pub(super) struct NotDocs {
    all: RangeDocs,
    part: BoxDocs,
}

impl NotDocs {
    pub(super) const fn new(max_doc: DocId, part: BoxDocs) -> Self {
        Self {
            all: RangeDocs(0..max_doc),
            part,
        }
    }
}

impl Docs for NotDocs {
    fn next(&mut self, from: DocId) -> DocId {
        self.all.next(from)
    }

    fn fill(&mut self, window: &mut Window) {
        let mut own = window.emptied();
        self.all.fill(&mut own);
        self.retain(&mut own);
        window.add(&own);
    }

    fn retain(&mut self, window: &mut Window) {
        let mut found = window.clone();
        self.part.retain(&mut found);
        window.subtract(&found);
    }

    fn cost(&self) -> u64 {
        self.all.cost()
    }

    fn price(&self) -> u64 {
        self.part.price()
    }
}
