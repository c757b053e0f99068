//! Documents of a segment as a bit for each.

use std::sync::Arc;

use tantivy::postings::BlockSegmentPostings;
use tantivy::{DocId, TERMINATED};

use super::docs::Docs;
use super::window::{BITS, WORDS, Window, ones, ones_below};

/// Some of a segment's documents.
#[derive(Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
    count: u64,
}

impl Bits {
    pub(super) fn none(max_doc: DocId) -> Self {
        Self {
            words: vec![0; max_doc.div_ceil(BITS) as usize],
            count: 0,
        }
    }

    /// Adds a document. One behind the segment's end is left out.
    pub(super) fn insert(&mut self, doc: DocId) {
        if let Some(word) = self.words.get_mut((doc / BITS) as usize) {
            let bit = 1 << (doc % BITS);
            self.count += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Adds all documents of the postings.
    pub(super) fn insert_all(&mut self, mut postings: BlockSegmentPostings) {
        while !postings.docs().is_empty() {
            for &doc in postings.docs() {
                self.insert(doc);
            }
            postings.advance();
        }
    }

    /// Adds the window's documents.
    pub(super) fn add(&mut self, window: &Window) {
        let start = (window.base / BITS) as usize;
        for (word, more) in self.words.iter_mut().skip(start).zip(&window.words) {
            self.count += u64::from((more & !*word).count_ones());
            *word |= more;
        }
    }

    /// The documents, ascending.
    pub(super) fn docs(&self) -> impl Iterator<Item = DocId> + '_ {
        self.words
            .iter()
            .zip((0..).step_by(BITS as usize))
            .flat_map(|(word, base)| ones(*word).map(move |bit| base + bit))
    }

    /// How many they are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of memory that it takes.
    pub(super) const fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    fn words_from(&self, base: DocId) -> &[u64] {
        let start = (base / BITS) as usize;
        self.words
            .get(start..(start + WORDS).min(self.words.len()))
            .unwrap_or_default()
    }
}

/// Documents gathered beforehand.
pub(super) struct BitDocs(pub(super) Arc<Bits>);

impl Docs for BitDocs {
    fn next(&mut self, from: DocId) -> DocId {
        let words = &self.0.words;
        let first = (from / BITS) as usize;
        let masked = words.get(first).map_or(0, |word| word & !ones_below(from % BITS));
        let rest = words.iter().copied().skip(first + 1);
        std::iter::once(masked)
            .chain(rest)
            .zip((from - from % BITS..).step_by(BITS as usize))
            .find(|(word, _)| *word != 0)
            .map_or(TERMINATED, |(word, base)| base + word.trailing_zeros())
    }

    fn fill(&mut self, window: &mut Window) {
        for (word, own) in window.words.iter_mut().zip(self.0.words_from(window.base)) {
            *word |= own;
        }
    }

    fn retain(&mut self, window: &mut Window) {
        let own = self.0.words_from(window.base).iter().copied();
        for (word, own) in window.words.iter_mut().zip(own.chain(std::iter::repeat(0))) {
            *word &= own;
        }
    }

    fn cost(&self) -> u64 {
        self.0.count
    }

    /// Nothing is looked into for a document.
    fn price(&self) -> u64 {
        0
    }

    fn known_count(&self) -> Option<u64> {
        Some(self.0.count)
    }
}

/// A few documents gathered beforehand, ascending.
pub(super) struct ListDocs {
    docs: Arc<[DocId]>,
    /// How many of them stand before what was asked for last.
    passed: usize,
}

impl ListDocs {
    pub(super) const fn new(docs: Arc<[DocId]>) -> Self {
        Self { docs, passed: 0 }
    }
}

impl Docs for ListDocs {
    fn next(&mut self, from: DocId) -> DocId {
        let rest = self.docs.get(self.passed..).unwrap_or_default();
        // What comes next is near, for the most part.
        let mut near = 1;
        while rest.get(near).is_some_and(|doc| *doc < from) {
            near *= 2;
        }
        let near = rest.get(..=near).unwrap_or(rest);
        self.passed += near.partition_point(|doc| *doc < from);
        self.docs.get(self.passed).copied().unwrap_or(TERMINATED)
    }

    fn fill(&mut self, window: &mut Window) {
        self.next(window.base);
        let rest = self.docs.get(self.passed..).unwrap_or_default();
        let end = window.end();
        for doc in rest.iter().take_while(|doc| **doc < end) {
            window.insert(*doc);
            self.passed += 1;
        }
    }

    fn retain(&mut self, window: &mut Window) {
        let mut own = window.emptied();
        self.fill(&mut own);
        window.intersect(&own);
    }

    fn cost(&self) -> u64 {
        self.docs.len() as u64
    }

    /// Nothing is looked into for a document.
    fn price(&self) -> u64 {
        0
    }

    fn known_count(&self) -> Option<u64> {
        Some(self.cost())
    }
}
