//! What segments are asked again and again.
//!
//! Two sorts of sets cost more to find than to combine. A **frequent term** (a website, a large country, a word of every
//! tenth description) has long postings to unpack and put into windows document by document. A **clause** (a type, a place,
//! a title, a range of days: one of the conditions that a search puts together, or what it ranks by) is made of several
//! terms, or looks into each document that comes into question for where words stand in it, or for a number. A segment's
//! postings and columns never change. So what a large segment is asked again and again is kept for all searches to come,
//! whatever else they ask: the documents, as a bit for each or, where they are few, as a list.
//!
//! - **What is kept is right for as long as its segment is there**, since deleted documents stay in it as they do in
//!   postings. [`Kept::keep_to`] drops what is of segments that are gone.
//! - **No search pays for others.** A frequent term's postings have to be unpacked anyway, and are kept at once. A clause
//!   that a second search asks for is found in the background ([`crate::background`]), one after the other; until then
//!   each search looks at what it has to.
//! - **What fails there is not kept**, and fails the searches that look for it themselves.
//! - **It is bounded**: where there is no more room, what no search has used since room was made the last time is dropped,
//!   and of the rest what is beyond half of it. So are the clauses that wait, and those that were asked once.
//! - **Two searches may find the same at once.** Then one is kept; each uses its own.
//!
//! Two tables of whole segments are kept likewise, from the first search on that could use them: the order of ids, to tell
//! ties apart ([`super::id_order`]), and where companies stand by their numbers ([`super::company_docs`]). One that could not
//! be read is not tried again; searches do without it.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tantivy::index::{SegmentId, SegmentReader};
use tantivy::{DocId, Searcher, Term};

use super::bits::{BitDocs, Bits, ListDocs};
use super::company_docs::CompanyDocs;
use super::docs::BoxDocs;
use super::id_order::IdOrder;
use crate::background;
use crate::plan::{Condition, InValue, TextField};

/// A term is frequent where one of so many documents has it: from there on its bits cost less than its postings.
const ONE_OF: u64 = 32;

/// Bytes of memory for all sets of documents.
const MOST_BYTES: usize = 32 << 20;

/// Bytes of memory for all tables of one sort.
const MOST_TABLE_BYTES: usize = 16 << 20;

/// Most clauses that wait to be found.
const MOST_WAITING: usize = 128;

/// Most clauses that are remembered for being asked once.
const MOST_ASKED: usize = 8192;

/// What is asked of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Clause<'a> {
    /// The term is there.
    Term(Cow<'a, Term>),
    /// In one value of one of the fields the expression holds.
    Text(Cow<'a, [TextField]>, Cow<'a, InValue>),
    /// A condition that the segment's documents tell by themselves.
    Condition(Cow<'a, Condition>),
}

/// The documents of terms and clauses.
pub(super) struct Kept {
    /// Segments of fewer documents have none: nothing costs much there.
    from: u64,
    sets: Mutex<Sets>,
    /// Number of the search that comes next.
    next: AtomicU64,
    /// What became of clauses that are not kept, by their hashes; they are not needed for more than that.
    asked: Mutex<HashMap<u64, Asked>>,
    hasher: RandomState,
    orders: Tables<IdOrder>,
    company_docs: Tables<CompanyDocs>,
    waiting: Mutex<Waiting>,
    idle: Condvar,
}

/// What is read of whole segments.
type Tables<T> = Mutex<HashMap<SegmentId, Table<T>>>;

struct Table<T> {
    bytes: usize,
    /// None while it is being read.
    read: Option<Arc<T>>,
}

#[derive(Default)]
struct Sets {
    segments: HashMap<SegmentId, HashMap<Clause<'static>, Set>>,
    bytes: usize,
}

struct Set {
    docs: SetDocs,
    /// What it takes of the room.
    bytes: usize,
    /// Whether a search has used it since room was made the last time.
    used: Cell<bool>,
}

#[derive(Clone)]
enum SetDocs {
    Bits(Arc<Bits>),
    List(Arc<[DocId]>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// By a search of this number.
    Once(u64),
    /// They wait to be found.
    Again,
}

/// What is to be found in the background.
#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Whether somebody is at work on them.
    working: bool,
}

struct Job {
    segment: SegmentId,
    find: Find,
}

/// Finds something, and keeps it.
type Find = Box<dyn FnOnce(&Arc<Kept>) -> tantivy::Result<()> + Send>;

/// What is kept, as one search uses it.
#[derive(Clone, Copy)]
pub(super) struct Keeping<'a> {
    kept: &'a Arc<Kept>,
    /// The search's number; none if what it asks is not to be kept.
    search: Option<u64>,
}

impl Kept {
    pub(super) fn new(from: u64) -> Self {
        Self {
            from,
            sets: Mutex::default(),
            next: AtomicU64::new(0),
            asked: Mutex::default(),
            hasher: RandomState::new(),
            orders: Mutex::default(),
            company_docs: Mutex::default(),
            waiting: Mutex::default(),
            idle: Condvar::new(),
        }
    }

    /// For a search that begins.
    pub(super) fn for_search(self: &Arc<Self>) -> Keeping<'_> {
        Keeping {
            kept: self,
            search: Some(self.next.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// For what nobody has asked for.
    pub(super) const fn for_finding(self: &Arc<Self>) -> Keeping<'_> {
        Keeping {
            kept: self,
            search: None,
        }
    }

    /// Drops what is of other segments than those of these searchers.
    pub(super) fn keep_to(&self, searchers: [&Searcher; 2]) {
        let readers = searchers.into_iter().flat_map(Searcher::segment_readers);
        let there: HashSet<SegmentId> = readers.map(SegmentReader::segment_id).collect();
        lock(&self.sets).keep_to(&there);
        lock(&self.orders).retain(|segment, _| there.contains(segment));
        lock(&self.company_docs).retain(|segment, _| there.contains(segment));
        lock(&self.waiting)
            .jobs
            .retain(|job| there.contains(&job.segment));
    }

    /// Waits until everything that was to be found has been.
    pub(super) fn wait_idle(&self) {
        let waiting = lock(&self.waiting);
        let waited = self.idle.wait_while(waiting, |waiting| waiting.working);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn is_large(&self, max_doc: DocId) -> bool {
        u64::from(max_doc) >= self.from
    }

    fn hash(&self, segment: SegmentId, clause: &Clause<'_>) -> u64 {
        self.hasher.hash_one((segment, clause))
    }

    fn add(&self, segment: SegmentId, clause: Clause<'static>, docs: SetDocs) {
        lock(&self.sets).add(segment, clause, docs);
    }

    /// Finds one after the other, until there are no more.
    fn work(self: &Arc<Self>) {
        loop {
            let mut waiting = lock(&self.waiting);
            let Some(job) = waiting.jobs.pop_front() else {
                waiting.working = false;
                self.idle.notify_all();
                return;
            };
            drop(waiting);
            // What waits behind it is to be found all the same.
            match catch_unwind(AssertUnwindSafe(|| (job.find)(self))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, "what a segment is asked again and again could not be kept");
                }
                Err(_) => tracing::error!("finding what a segment is asked again and again panicked"),
            }
        }
    }

    /// Has something found in the background.
    fn start(self: &Arc<Self>, job: Job) {
        let mut waiting = lock(&self.waiting);
        waiting.jobs.push_back(job);
        if !std::mem::replace(&mut waiting.working, true) {
            let kept = Arc::clone(self);
            background::start(move || kept.work());
        }
    }

    fn has_room(&self) -> bool {
        lock(&self.waiting).jobs.len() < MOST_WAITING
    }
}

impl Keeping<'_> {
    /// The documents with a term that so many have, if it is a frequent one of a large segment; `find` finds them.
    pub(super) fn frequent(
        self,
        reader: &SegmentReader,
        term: &Term,
        doc_freq: u32,
        find: impl FnOnce() -> tantivy::Result<Bits>,
    ) -> tantivy::Result<Option<BoxDocs>> {
        let max_doc = reader.max_doc();
        if !self.kept.is_large(max_doc) || u64::from(doc_freq) * ONE_OF < u64::from(max_doc) {
            return Ok(None);
        }
        let clause = Clause::Term(Cow::Borrowed(term));
        if let Some(known) = self.docs(reader, &clause) {
            return Ok(Some(known));
        }
        let docs = SetDocs::Bits(Arc::new(find()?));
        self.kept
            .add(reader.segment_id(), clause.into_owned(), docs.clone());
        Ok(Some(docs.boxed()))
    }

    /// The documents of the clause, if they are kept.
    pub(super) fn docs(self, reader: &SegmentReader, clause: &Clause<'_>) -> Option<BoxDocs> {
        if !self.kept.is_large(reader.max_doc()) {
            return None;
        }
        let docs = lock(&self.kept.sets).get(reader.segment_id(), clause);
        docs.map(SetDocs::boxed)
    }

    /// Whether the documents of this clause, which are not kept, are to be found in the background: another search has had
    /// to look for them too. It is told so once.
    pub(super) fn is_wanted(self, reader: &SegmentReader, clause: &Clause<'_>) -> bool {
        let Some(search) = self.search.filter(|_| self.kept.is_large(reader.max_doc())) else {
            return false;
        };
        let has_room = self.kept.has_room();
        let mut all = lock(&self.kept.asked);
        if all.len() >= MOST_ASKED {
            all.clear();
        }
        let key = self.kept.hash(reader.segment_id(), clause);
        let asked = all.entry(key).or_insert(Asked::Once(search));
        let is_wanted = has_room && !matches!(*asked, Asked::Again) && *asked != Asked::Once(search);
        if is_wanted {
            *asked = Asked::Again;
        }
        is_wanted
    }

    /// Has the documents of a clause found in the background, to be kept.
    pub(super) fn find(
        self,
        segment: SegmentId,
        clause: Clause<'static>,
        find: impl FnOnce(&Arc<Kept>, &Clause<'_>) -> tantivy::Result<Bits> + Send + 'static,
    ) {
        let find = move |kept: &Arc<Kept>| {
            let found = Arc::new(find(kept, &clause)?);
            lock(&kept.asked).remove(&kept.hash(segment, &clause));
            kept.add(segment, clause, SetDocs::of(&found));
            Ok(())
        };
        let find = Box::new(find);
        self.kept.start(Job { segment, find });
    }

    /// The order of a large segment's ids, once it is kept.
    pub(super) fn id_order(self, reader: &SegmentReader) -> Option<Arc<IdOrder>> {
        let bytes = IdOrder::bytes(reader);
        self.table(reader, |kept| &kept.orders, bytes, IdOrder::read)
    }

    /// Where companies stand in a large segment of theirs, once it is kept.
    pub(super) fn company_docs(self, reader: &SegmentReader) -> tantivy::Result<Option<Arc<CompanyDocs>>> {
        let bytes = CompanyDocs::bytes(reader)?;
        Ok(self.table(reader, |kept| &kept.company_docs, bytes, CompanyDocs::read))
    }

    /// The table of a large segment, once it is kept: the first search that could use it has it read in the background.
    fn table<T: Send + Sync + 'static>(
        self,
        reader: &SegmentReader,
        tables: fn(&Kept) -> &Tables<T>,
        bytes: usize,
        read: fn(&SegmentReader) -> tantivy::Result<T>,
    ) -> Option<Arc<T>> {
        if !self.kept.is_large(reader.max_doc()) {
            return None;
        }
        let segment = reader.segment_id();
        let has_room = self.kept.has_room();
        let mut all = lock(tables(self.kept));
        if let Some(table) = all.get(&segment) {
            return table.read.clone();
        }
        let taken: usize = all.values().map(|table| table.bytes).sum();
        if has_room && taken.saturating_add(bytes) <= MOST_TABLE_BYTES {
            all.insert(segment, Table { bytes, read: None });
            drop(all);
            let reader = reader.clone();
            let find = move |kept: &Arc<Kept>| {
                let table = Arc::new(read(&reader)?);
                if let Some(kept) = lock(tables(kept)).get_mut(&segment) {
                    kept.read = Some(table);
                }
                Ok(())
            };
            let find = Box::new(find);
            self.kept.start(Job { segment, find });
        }
        None
    }
}

impl Clause<'_> {
    pub(super) fn into_owned(self) -> Clause<'static> {
        match self {
            Self::Term(term) => Clause::Term(Cow::Owned(term.into_owned())),
            Self::Text(fields, expression) => Clause::Text(
                Cow::Owned(fields.into_owned()),
                Cow::Owned(expression.into_owned()),
            ),
            Self::Condition(condition) => Clause::Condition(Cow::Owned(condition.into_owned())),
        }
    }

    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        let inner = match self {
            Self::Term(term) => term.serialized_value_bytes().len(),
            Self::Text(_, expression) => expression_bytes(expression),
            Self::Condition(condition) => condition_bytes(condition),
        };
        size_of::<Clause<'static>>() + inner
    }
}

fn condition_bytes(condition: &Condition) -> usize {
    let inner = match condition {
        Condition::Text { expression, .. } => expression_bytes(expression),
        Condition::Key { any, .. } => any.iter().map(|term| size_of::<String>() + term.len()).sum(),
        Condition::KeyPrefix { prefix, .. } => prefix.len(),
        Condition::Ids(ids) => size_of_val(&**ids),
        Condition::All(parts) | Condition::Any(parts) => parts.iter().map(condition_bytes).sum(),
        Condition::Not(part) | Condition::Employer(part) => condition_bytes(part),
        Condition::Everything | Condition::Range { .. } => 0,
    };
    size_of::<Condition>() + inner
}

fn expression_bytes(expression: &InValue) -> usize {
    let inner = match expression {
        InValue::Phrase(phrase) => phrase
            .iter()
            .flatten()
            .map(|term| 2 * size_of::<String>() + term.len())
            .sum(),
        InValue::All(parts) | InValue::Any(parts) => parts.iter().map(expression_bytes).sum::<usize>(),
    };
    size_of::<InValue>() + inner
}

impl SetDocs {
    /// As a list if they are few; bits are faster to combine.
    fn of(found: &Arc<Bits>) -> Self {
        if found.is_few() {
            Self::List(found.docs().collect())
        } else {
            Self::Bits(Arc::clone(found))
        }
    }

    fn boxed(self) -> BoxDocs {
        match self {
            Self::Bits(bits) => Box::new(BitDocs(bits)),
            Self::List(list) => Box::new(ListDocs::new(list)),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Bits(bits) => bits.bytes(),
            Self::List(list) => size_of_val(&**list),
        }
    }
}

impl Sets {
    fn get(&self, segment: SegmentId, clause: &Clause<'_>) -> Option<SetDocs> {
        let set = self.segments.get(&segment)?.get(clause)?;
        set.used.set(true);
        Some(set.docs.clone())
    }

    fn add(&mut self, segment: SegmentId, clause: Clause<'static>, docs: SetDocs) {
        let bytes = docs.bytes() + clause.bytes();
        let is_there = self.get(segment, &clause).is_some();
        if is_there || bytes > MOST_BYTES {
            return;
        }
        if self.bytes + bytes > MOST_BYTES {
            self.make_room();
        }
        self.bytes += bytes;
        let set = Set {
            docs,
            bytes,
            used: Cell::new(true),
        };
        self.segments.entry(segment).or_default().insert(clause, set);
    }

    /// Drops what has not been used since the last time, and of the rest any that are beyond half of the room.
    fn make_room(&mut self) {
        self.bytes = 0;
        for sets in self.segments.values_mut() {
            sets.retain(|_, set| {
                let stays = set.used.replace(false) && self.bytes + set.bytes <= MOST_BYTES / 2;
                self.bytes += if stays { set.bytes } else { 0 };
                stays
            });
        }
    }

    fn keep_to(&mut self, there: &HashSet<SegmentId>) {
        self.segments.retain(|segment, _| there.contains(segment));
        let sets = self.segments.values().flat_map(HashMap::values);
        self.bytes = sets.map(|set| set.bytes).sum();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tantivy::Index;
    use tantivy::schema::{Field, NumericOptions, Schema};

    use super::*;
    use crate::engine::window::Window;
    use crate::plan::NumberField;

    fn term(number: usize) -> Clause<'static> {
        Clause::Term(Cow::Owned(Term::from_field_u64(
            Field::from_field_id(0),
            number as u64,
        )))
    }

    fn numbers(to: i64) -> Clause<'static> {
        Clause::Condition(Cow::Owned(Condition::Range {
            field: NumberField::EmployeeCount,
            from: None,
            to: Some(to),
        }))
    }

    fn bits(max_doc: DocId, docs: impl IntoIterator<Item = DocId>) -> Bits {
        let mut bits = Bits::none(max_doc);
        for doc in docs {
            bits.insert(doc);
        }
        bits
    }

    /// An index of one segment with so many documents.
    fn searcher(documents: u64) -> Searcher {
        let mut schema = Schema::builder();
        let field = schema.add_u64_field("number", NumericOptions::default());
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
        for number in 0..documents {
            writer.add_document(tantivy::doc!(field => number)).unwrap();
        }
        writer.commit().unwrap();
        index.reader().unwrap().searcher()
    }

    fn docs(kept: &Arc<Kept>, reader: &SegmentReader, clause: &Clause<'_>) -> Option<Vec<DocId>> {
        let mut docs = kept.for_finding().docs(reader, clause)?;
        let mut window = Window::around(0);
        docs.fill(&mut window);
        Some(window.docs().collect())
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_was_not_used_goes_first() {
        let mut sets = Sets::default();
        let segment = SegmentId::generate_random();
        let tenth = DocId::try_from(MOST_BYTES * 8 / 10 - 8192).unwrap();
        let tenth = SetDocs::Bits(Arc::new(Bits::none(tenth)));
        for number in 0..10 {
            sets.add(segment, term(number), tenth.clone());
            // The same once more takes no more room.
            sets.add(segment, term(number), tenth.clone());
        }
        assert_eq!(sets.segments[&segment].len(), 10);
        // All have been used: half of them stay.
        sets.add(segment, term(10), tenth.clone());
        assert_eq!(sets.segments[&segment].len(), 6);
        for number in 11..15 {
            sets.add(segment, term(number), tenth.clone());
        }
        assert!(sets.get(segment, &term(12)).is_some());
        for set in sets.segments[&segment].values() {
            set.used.set(false);
        }
        assert!(sets.get(segment, &term(12)).is_some());
        sets.add(segment, term(15), tenth.clone());
        let mut left: Vec<_> = sets.segments[&segment].keys().cloned().collect();
        left.sort_by_key(|clause| *clause != term(12));
        assert_eq!(left, [term(12), term(15)]);
        let too_large = Bits::none(DocId::try_from(MOST_BYTES * 8 + 64).unwrap());
        sets.add(segment, term(16), SetDocs::Bits(Arc::new(too_large)));
        assert_eq!(sets.segments[&segment].len(), 2);
        let bytes: usize = sets.segments[&segment].values().map(|set| set.bytes).sum();
        assert_eq!(sets.bytes, bytes);
    }

    #[test]
    fn a_frequent_term_is_found_once_and_goes_with_its_segment() {
        let searcher = searcher(64);
        let reader = searcher.segment_reader(0);
        let of = |from| Arc::new(Kept::new(from));
        let Clause::Term(asked) = term(0) else {
            unreachable!()
        };
        let frequent = |kept: &Arc<Kept>, doc_freq| {
            let found = kept
                .for_search()
                .frequent(reader, &asked, doc_freq, || Ok(bits(64, [3, 5])));
            found.unwrap().is_some()
        };
        assert!(!frequent(&of(65), 64));
        let kept = of(64);
        assert!(!frequent(&kept, 1) && docs(&kept, reader, &term(0)).is_none());
        assert!(frequent(&kept, 2));
        assert_eq!(docs(&kept, reader, &term(0)), Some(vec![3, 5]));
        let again = kept
            .for_search()
            .frequent(reader, &asked, 2, || unreachable!("it is there"));
        assert!(again.unwrap().is_some());
        kept.keep_to([&searcher, &searcher]);
        assert!(lock(&kept.sets).bytes > 0);
        let other = self::searcher(1);
        kept.keep_to([&other, &other]);
        assert_eq!(lock(&kept.sets).bytes, 0);
        assert_eq!(docs(&kept, reader, &term(0)), None);
    }

    #[test]
    fn a_clause_that_a_second_search_asks_for_is_found_in_the_background() {
        let searcher = searcher(4096);
        let reader = searcher.segment_reader(0);
        let segment = reader.segment_id();
        let kept = Arc::new(Kept::new(1));
        let first = kept.for_search();
        // Its parts ask too, and those of other clauses.
        assert!(!first.is_wanted(reader, &numbers(1)) && !first.is_wanted(reader, &numbers(1)));
        assert!(!kept.for_search().is_wanted(reader, &numbers(2)));
        assert!(!kept.for_finding().is_wanted(reader, &numbers(1)));
        assert!(kept.for_search().is_wanted(reader, &numbers(1)));
        assert!(!kept.for_search().is_wanted(reader, &numbers(1)));

        let keeping = kept.for_finding();
        keeping.find(segment, numbers(3), |_, _| panic!("it fails"));
        keeping.find(segment, numbers(4), |_, _| Err(tantivy::TantivyError::Poisoned));
        keeping.find(segment, numbers(1), |_, clause| {
            assert_eq!(*clause, numbers(1));
            Ok(bits(4096, [7, 4000]))
        });
        keeping.find(segment, numbers(2), |_, _| Ok(bits(4096, 0..2048)));
        kept.wait_idle();
        assert_eq!(docs(&kept, reader, &numbers(1)), Some(vec![7, 4000]));
        assert_eq!(docs(&kept, reader, &numbers(2)), Some((0..2048).collect()));
        assert_eq!(docs(&kept, reader, &numbers(3)), None);
        assert_eq!(docs(&kept, reader, &numbers(4)), None);
        // Few are a list.
        let bytes = |clause| lock(&kept.sets).get(segment, &clause).unwrap().bytes();
        assert_eq!((bytes(numbers(1)), bytes(numbers(2))), (8, 512));
    }
}
