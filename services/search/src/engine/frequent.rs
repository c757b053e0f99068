//! Terms that many documents have.
//!
//! Having a website, a large country, a word of every tenth description: each search for one would unpack its postings and
//! put them into windows document by document. In a large segment the documents of such a term become a bit for each,
//! once, and are kept for the searches to come, which combine them by machine words.
//!
//! - **What is kept is right for as long as its segment is there**: postings never change, and deleted documents stay in
//!   them. [`Frequent::keep_to`] drops those of segments that are gone.
//! - **It is bounded**: where there is no more room for another, all are dropped, and those that are asked for come again.
//! - **Two searches may make the same one at once.** Then one is kept; each uses its own.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::index::{SegmentId, SegmentReader};
use tantivy::{DocId, Searcher, Term};

use super::bits::Bits;

/// A term is frequent where one of so many documents has it: from there on its bits cost less than its postings.
const ONE_OF: u64 = 32;

/// Bytes of memory for all of them.
const MOST_BYTES: usize = 32 << 20;

/// The documents of frequent terms.
#[derive(Debug)]
pub(super) struct Frequent {
    /// Segments of fewer documents have none: nothing costs much there.
    from: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    segments: HashMap<SegmentId, HashMap<Term, Arc<Bits>>>,
    bytes: usize,
}

impl Frequent {
    pub(super) fn new(from: u64) -> Self {
        Self {
            from,
            kept: Mutex::default(),
        }
    }

    /// Whether a term that so many of a segment's documents have is one of them.
    pub(super) fn is_frequent(&self, doc_freq: u32, max_doc: DocId) -> bool {
        let max_doc = u64::from(max_doc);
        max_doc >= self.from && u64::from(doc_freq) * ONE_OF >= max_doc
    }

    /// The documents of a frequent term; `make` makes them if they are not there.
    pub(super) fn docs(
        &self,
        reader: &SegmentReader,
        term: Term,
        make: impl FnOnce() -> tantivy::Result<Bits>,
    ) -> tantivy::Result<Arc<Bits>> {
        let segment = reader.segment_id();
        let known = self.lock().get(segment, &term).map(Arc::clone);
        if let Some(known) = known {
            return Ok(known);
        }
        let docs = Arc::new(make()?);
        self.lock().add(segment, term, &docs);
        Ok(docs)
    }

    /// Drops what is of other segments than those of these searchers.
    pub(super) fn keep_to(&self, searchers: [&Searcher; 2]) {
        let readers = searchers.into_iter().flat_map(Searcher::segment_readers);
        let there: HashSet<SegmentId> = readers.map(SegmentReader::segment_id).collect();
        let mut kept = self.lock();
        kept.segments.retain(|segment, _| there.contains(segment));
        let terms = kept.segments.values().flat_map(HashMap::values);
        kept.bytes = terms.map(|bits| bits.bytes()).sum();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn get(&self, segment: SegmentId, term: &Term) -> Option<&Arc<Bits>> {
        self.segments.get(&segment)?.get(term)
    }

    fn add(&mut self, segment: SegmentId, term: Term, docs: &Arc<Bits>) {
        let is_there = self.get(segment, &term).is_some();
        if is_there || docs.bytes() > MOST_BYTES {
            return;
        }
        if self.bytes + docs.bytes() > MOST_BYTES {
            *self = Self::default();
        }
        self.bytes += docs.bytes();
        let terms = self.segments.entry(segment).or_default();
        terms.insert(term, Arc::clone(docs));
    }
}

#[cfg(test)]
mod tests {
    use tantivy::Index;
    use tantivy::schema::{Field, Schema};

    use super::*;

    fn term(number: usize) -> Term {
        Term::from_field_u64(Field::from_field_id(0), number as u64)
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_asked_for_comes_again() {
        let mut kept = Kept::default();
        let segment = SegmentId::generate_random();
        let tenth = Arc::new(Bits::none(DocId::try_from(MOST_BYTES * 8 / 10 - 64).unwrap()));
        for number in 0..10 {
            kept.add(segment, term(number), &tenth);
            // The same once more takes no more room.
            kept.add(segment, term(number), &tenth);
        }
        assert_eq!(kept.segments[&segment].len(), 10);
        kept.add(segment, term(10), &tenth);
        assert_eq!((kept.segments[&segment].len(), kept.bytes), (1, tenth.bytes()));
        let too_large = Arc::new(Bits::none(DocId::try_from(MOST_BYTES * 9).unwrap()));
        kept.add(segment, term(11), &too_large);
        assert!(
            kept.bytes <= MOST_BYTES && !kept.segments.values().any(|terms| terms.contains_key(&term(11)))
        );
    }

    #[test]
    fn it_is_made_once_and_goes_with_its_segment() {
        let index = Index::create_in_ram(Schema::builder().build());
        let mut writer = index
            .writer_with_num_threads::<tantivy::TantivyDocument>(1, 15_000_000)
            .unwrap();
        writer.add_document(tantivy::TantivyDocument::default()).unwrap();
        writer.commit().unwrap();
        let searcher = index.reader().unwrap().searcher();
        let reader = searcher.segment_reader(0);
        let frequent = Frequent::new(1);
        assert!(frequent.is_frequent(1, 32) && !frequent.is_frequent(1, 33));
        assert!(!Frequent::new(33).is_frequent(32, 32));
        let made = frequent.docs(reader, term(0), || Ok(Bits::none(64))).unwrap();
        let again = frequent
            .docs(reader, term(0), || unreachable!("it is there"))
            .unwrap();
        assert!(Arc::ptr_eq(&made, &again));
        frequent.keep_to([&searcher, &searcher]);
        assert_eq!(frequent.lock().bytes, made.bytes());
        let other = Index::create_in_ram(Schema::builder().build());
        let other = other.reader().unwrap().searcher();
        frequent.keep_to([&other, &other]);
        assert_eq!(frequent.lock().bytes, 0);
        assert!(frequent.lock().segments.is_empty());
    }
}
