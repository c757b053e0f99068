//! Documents of a segment, gathered beforehand: as a bit for each document of the segment, or as a list.

use std::sync::Arc;

use tantivy::postings::BlockSegmentPostings;
use tantivy::{DocId, TERMINATED};

use super::docs::{BoxDocs, Docs};
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
        for (word, more) in self.words.iter_mut().skip(start).zip(window.words()) {
            self.count += u64::from((more & !*word).count_ones());
            *word |= more;
        }
    }

    fn contains(&self, doc: DocId) -> bool {
        let word = self.words.get((doc / BITS) as usize);
        word.is_some_and(|word| word >> (doc % BITS) & 1 == 1)
    }

    /// Leaves of the window what is in these too.
    pub(super) fn narrow(&self, window: &mut Window) {
        window.intersect_words(self.words_from(window.base));
    }

    /// The documents, ascending.
    pub(super) fn docs(&self) -> impl Iterator<Item = DocId> + '_ {
        self.words
            .iter()
            .zip((0..).step_by(BITS as usize))
            .flat_map(|(word, base)| ones(*word).map(move |bit| base + bit))
    }

    /// Whether they are few.
    pub(super) fn is_few(&self) -> bool {
        is_few(self.count, self.max_doc())
    }

    /// A number of documents that all of the segment's are below.
    fn max_doc(&self) -> DocId {
        DocId::try_from(self.words.len()).unwrap_or_default() * BITS
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

/// Documents that have been gathered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gathered<'a> {
    Bits(&'a Bits),
    List(&'a Arc<[DocId]>),
}

impl Gathered<'_> {
    fn count(self) -> u64 {
        match self {
            Self::Bits(bits) => bits.count,
            Self::List(list) => list.len() as u64,
        }
    }
}

/// Documents are few where at most one of so many of the segment's is one of them. A list of them takes less than half the room
/// of bits.
const ONE_OF: u64 = 64;

/// Whether so many documents of a segment of so many are few.
pub(super) const fn is_few(count: u64, max_doc: DocId) -> bool {
    count * ONE_OF < max_doc as u64
}

/// In a list so many times as long, one leaps from document to document.
const LONGER: usize = 16;

/// Parts of a conjunction, those that are gathered as a list of what they have in common, unless that is much: to find it at
/// once takes less than to go through windows of which each has a few.
pub(super) fn with_common(parts: Vec<BoxDocs>) -> Vec<BoxDocs> {
    let mut gathered: Vec<_> = parts.iter().filter_map(|part| part.gathered()).collect();
    gathered.sort_by_key(|part| part.count());
    let [first, second, others @ ..] = &gathered[..] else {
        return parts;
    };
    let Some(mut found) = of_both(*first, *second) else {
        return parts;
    };
    for other in others {
        retain(&mut found, *other);
    }
    let common: BoxDocs = Box::new(ListDocs::new(found.into()));
    let rest = parts.into_iter().filter(|part| part.gathered().is_none());
    std::iter::once(common).chain(rest).collect()
}

/// The documents that are in both; none if both are bits, and the documents not few.
fn of_both(first: Gathered<'_>, second: Gathered<'_>) -> Option<Vec<DocId>> {
    let (first, second) = match (first, second) {
        (Gathered::List(list), other) => {
            let mut found = list.to_vec();
            retain(&mut found, other);
            return Some(found);
        }
        (Gathered::Bits(_), Gathered::List(list)) => {
            let mut found = list.to_vec();
            retain(&mut found, first);
            return Some(found);
        }
        (Gathered::Bits(first), Gathered::Bits(second)) => (first, second),
    };
    let max_doc = first.max_doc();
    let mut found = Vec::new();
    let words = first.words.iter().zip(&second.words);
    for ((first, second), base) in words.zip((0..).step_by(BITS as usize)) {
        let both = first & second;
        if both != 0 {
            if !is_few(found.len() as u64, max_doc) {
                return None;
            }
            found.extend(ones(both).map(|bit| base + bit));
        }
    }
    Some(found)
}

/// Leaves of the documents, which ascend, those that are in the set.
fn retain(docs: &mut Vec<DocId>, set: Gathered<'_>) {
    let list = match set {
        Gathered::Bits(bits) => return docs.retain(|doc| bits.contains(*doc)),
        Gathered::List(list) => list,
    };
    if docs.len() * LONGER < list.len() {
        let mut list = ListDocs::new(Arc::clone(list));
        docs.retain(|doc| list.next(*doc) == *doc);
        return;
    }
    // Both step by step, without a branch that would be guessed wrong at every other.
    let (mut from, mut to, mut other) = (0, 0, 0);
    while let (Some(&doc), Some(&listed)) = (docs.get(from), list.get(other)) {
        docs[to] = doc;
        to += usize::from(doc == listed);
        from += usize::from(doc <= listed);
        other += usize::from(listed <= doc);
    }
    docs.truncate(to);
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
        window.add_words(self.0.words_from(window.base));
    }

    fn retain(&mut self, window: &mut Window) {
        self.0.narrow(window);
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

    fn gathered(&self) -> Option<Gathered<'_>> {
        Some(Gathered::Bits(&self.0))
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

    fn gathered(&self) -> Option<Gathered<'_>> {
        Some(Gathered::List(&self.docs))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::super::docs::RangeDocs;
    use super::*;

    const MAX_DOC: DocId = 10_000;

    #[derive(Clone, Debug)]
    enum Part {
        List(BTreeSet<DocId>),
        Bits(BTreeSet<DocId>),
        Range(DocId),
    }

    /// Few documents, many, or what is not gathered.
    fn part() -> impl Strategy<Value = Part> {
        let few = || btree_set(0..MAX_DOC, 0..20);
        let some = || btree_set(0..400_u32, 0..400);
        let many = || (1..9_usize).prop_map(|step| (0..MAX_DOC).step_by(step).collect());
        let docs = || prop_oneof![few(), some(), many()];
        prop_oneof![
            docs().prop_map(Part::List),
            docs().prop_map(Part::Bits),
            (0..MAX_DOC).prop_map(Part::Range),
        ]
    }

    fn docs(part: &Part) -> BoxDocs {
        match part {
            Part::List(docs) => Box::new(ListDocs::new(docs.iter().copied().collect())),
            Part::Bits(docs) => {
                let mut bits = Bits::none(MAX_DOC);
                for doc in docs {
                    bits.insert(*doc);
                }
                Box::new(BitDocs(Arc::new(bits)))
            }
            Part::Range(end) => Box::new(RangeDocs(0..*end)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn what_parts_have_in_common_is_what_all_of_them_have(parts in vec(part(), 1..5)) {
            let common = with_common(parts.iter().map(docs).collect());
            let mut expected: BTreeSet<DocId> = (0..MAX_DOC).collect();
            for part in &parts {
                match part {
                    Part::List(docs) | Part::Bits(docs) => expected = &expected & docs,
                    Part::Range(end) => expected.retain(|doc| doc < end),
                }
            }
            let mut all = Bits::none(MAX_DOC);
            let mut common = super::super::docs::AllDocs::new(common);
            for base in (0..MAX_DOC).step_by(4096) {
                let mut window = Window::around(base);
                common.fill(&mut window);
                all.add(&window);
            }
            prop_assert!(all.docs().eq(expected));
        }
    }

    #[test]
    fn few_documents_in_common_become_a_list() {
        let list = |step: usize| Part::List((0..MAX_DOC).step_by(step).collect());
        let bits = |step: usize| Part::Bits((0..MAX_DOC).step_by(step).collect());
        for (parts, is_list) in [
            (vec![list(100), bits(1)], true),
            (vec![list(1), list(2)], true),
            (vec![bits(100), list(99)], true),
            (vec![bits(10), bits(11), bits(2)], true),
            (vec![bits(2), bits(3)], false),
            (vec![bits(100), Part::Range(7)], false),
        ] {
            let common = with_common(parts.iter().map(docs).collect());
            let is_one = matches!(&common[..], [part] if matches!(part.gathered(), Some(Gathered::List(_))));
            assert_eq!(is_one, is_list, "{parts:?}");
        }
    }
}
