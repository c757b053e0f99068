//! Answering a plan.

use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tantivy::index::SegmentReader;
use tantivy::schema::Value;
use tantivy::{DocAddress, DocId, Searcher, SegmentOrdinal, TantivyDocument, TantivyError};

use super::deadline::Deadline;
use super::docs::BoxDocs;
use super::employers::Employers;
use super::kept::{Keeping, Kept};
use super::order::{Places, compare, score_key};
use super::rows;
use super::schema::Fields;
use super::score::{DEGREES, Degrees, Scorer};
use super::segment::{Segment, first};
use super::threads::Threads;
use super::top::Top;
use super::window::{WINDOW, Window};
use crate::plan::{
    Condition, EngineError, Hit, Hits, Kind, NumberField, Order, OrderBy, OrderPosition, OrderValue, Plan,
    Stop,
};

/// What searches read: both kinds as one commit has left them.
#[derive(Clone)]
pub(super) struct Searchers {
    pub(super) companies: Searcher,
    pub(super) people: Searcher,
    /// Of both, and of the commits before and after: what is kept is a segment's.
    pub(super) kept: Arc<Kept>,
}

/// Answers a plan.
pub(super) fn search(
    searchers: &Searchers,
    fields: &Fields,
    plan: &Plan,
    stop: &Stop,
    threads: &Threads,
) -> Result<Hits, EngineError> {
    let _own = threads.come();
    let deadline = Arc::new(Deadline::new(stop.clone()));
    let searcher = match plan.kind {
        Kind::Company => &searchers.companies,
        Kind::Person => &searchers.people,
    };
    let kept = searchers.kept.for_search();
    let hits = Employers::ask(searchers, fields, plan, kept, &deadline).and_then(|employers| {
        Search {
            searcher,
            fields,
            plan,
            employers: &employers,
            kept,
            deadline: Arc::clone(&deadline),
            threads,
        }
        .run()
    });
    // What was found once the deadline had passed is not all that there is.
    if deadline.look() {
        return Err(EngineError::DeadlineExceeded);
    }
    hits.map_err(|error| EngineError::Index(Box::new(error)))
}

struct Search<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    plan: &'a Plan,
    employers: &'a Employers<'a>,
    kept: Keeping<'a>,
    deadline: Arc<Deadline>,
    threads: &'a Threads,
}

/// A document that may be among the hits.
struct Found {
    position: OrderPosition,
    address: DocAddress,
}

/// What the pieces of a search have found so far.
#[derive(Default)]
struct Gathered {
    total: u64,
    /// The first of all, in order.
    best: Vec<Found>,
}

/// A segment, or a range of its documents that begins and ends with windows.
struct Piece<'s> {
    ordinal: SegmentOrdinal,
    reader: &'s SegmentReader,
    docs: Range<DocId>,
}

impl Search<'_> {
    fn run(&self) -> tantivy::Result<Hits> {
        let wanted = self.plan.window.skip.saturating_add(self.plan.window.limit);
        // One more tells whether there are more.
        let keep = wanted.saturating_add(1);
        let Gathered { total, mut best } = self.gather(keep)?;
        let more = best.len() > wanted;
        best.truncate(wanted);
        best.drain(..self.plan.window.skip.min(best.len()));
        Ok(Hits {
            total,
            hits: self.hits(best)?,
            more,
        })
    }

    /// Works through all segments, on more threads than this one if they are free and the largest segment has enough to look
    /// at.
    fn gather(&self, keep: usize) -> tantivy::Result<Gathered> {
        let gathered = Mutex::new(Gathered::default());
        let readers = self.largest_first();
        let Some((_, largest)) = readers.first() else {
            return Ok(Gathered::default());
        };
        let docs = self.matching(largest)?;
        // Where the count is known, and the order that of the segments, the first few matches are all that is looked at.
        let is_soon_done = is_sorted(self.plan.order) && known_count(largest, docs.known_count()).is_some();
        let more = if is_soon_done {
            Vec::new()
        } else {
            self.threads.more(docs.cost().saturating_mul(docs.price().max(1)))
        };
        let threads = u32::try_from(more.len() + 1).unwrap_or(1);
        let pieces = pieces(&readers, threads, self.threads.worth_more());
        let next = AtomicUsize::new(1);
        let work_on = |piece: &Piece<'_>, docs| {
            let bound = bound(&lock(&gathered), keep);
            let (count, found) = self.piece(piece, docs, keep, bound.as_ref())?;
            let mut gathered = lock(&gathered);
            gathered.total += count;
            let best = std::mem::take(&mut gathered.best);
            gathered.best = merge(self.plan.order, best, found, keep);
            tantivy::Result::Ok(())
        };
        let work = || {
            while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.deadline.look() {
                    break;
                }
                work_on(piece, self.matching(piece.reader)?)?;
            }
            tantivy::Result::Ok(())
        };
        std::thread::scope(|scope| {
            let more: Vec<_> = more.iter().map(|_| scope.spawn(work)).collect();
            if let Some(piece) = pieces.first() {
                work_on(piece, docs)?;
            }
            work()?;
            for thread in more {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            }
            tantivy::Result::Ok(())
        })?;
        Ok(gathered.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Segments, the largest first: what it yields spares the others most.
    fn largest_first(&self) -> Vec<(SegmentOrdinal, &SegmentReader)> {
        let mut readers: Vec<_> = (0..).zip(self.searcher.segment_readers()).collect();
        readers.sort_by_key(|(_, reader)| std::cmp::Reverse(reader.num_docs()));
        readers
    }

    /// The documents of a segment that meet the filter.
    fn matching(&self, reader: &SegmentReader) -> tantivy::Result<BoxDocs> {
        self.employers.people(&self.context(reader), &self.plan.filter)
    }

    fn context<'s>(&'s self, reader: &'s SegmentReader) -> Segment<'s> {
        Segment {
            reader,
            fields: self.fields,
            kind: self.plan.kind,
            employers: self.employers,
            kept: self.kept,
            deadline: Arc::clone(&self.deadline),
        }
    }

    /// How many of the piece's documents match, and the first of them in order, not behind `bound`. `docs` are those of its
    /// segment that meet the filter.
    fn piece(
        &self,
        piece: &Piece<'_>,
        mut docs: BoxDocs,
        keep: usize,
        bound: Option<&OrderPosition>,
    ) -> tantivy::Result<(u64, Vec<Found>)> {
        let segment = self.context(piece.reader);
        let known = known_count(piece.reader, docs.known_count());
        if known == Some(0) {
            return Ok((0, Vec::new()));
        }
        let known = known.filter(|_| piece.docs == (0..piece.reader.max_doc()));
        let mut collector = Collector::open(&segment, self.plan, keep, bound)?;
        let mut total = 0;
        segment.windows(piece.docs.clone(), &mut docs, |matching| {
            total += u64::from(matching.count());
            collector.collect(matching);
            match known {
                Some(known) if collector.is_done => {
                    total = known;
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        });
        let found = collector.finish(piece.ordinal)?;
        Ok((total, found))
    }

    fn hits(&self, found: Vec<Found>) -> tantivy::Result<Vec<Hit>> {
        let own_place = self.own_place(&found)?;
        let hits = found
            .into_iter()
            .zip(own_place)
            .map(|(Found { position, address }, own_place)| {
                Ok(Hit {
                    position,
                    row: self.row(address)?,
                    own_place,
                })
            });
        hits.collect()
    }

    fn row(&self, address: DocAddress) -> tantivy::Result<Bytes> {
        let document: TantivyDocument = self.searcher.doc(address)?;
        let packed = document
            .get_first(self.fields.row)
            .and_then(|value| value.as_bytes())
            .ok_or_else(|| TantivyError::InternalError("a document has no row".to_owned()))?;
        Ok(rows::unpack(self.plan.kind, packed)?)
    }

    /// Whether each of the documents meets [`Plan::own_place`].
    fn own_place(&self, found: &[Found]) -> tantivy::Result<Vec<bool>> {
        let Some(condition) = &self.plan.own_place else {
            return Ok(vec![true; found.len()]);
        };
        let mut meets = vec![false; found.len()];
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by_key(|index| found[*index].address);
        for group in order
            .chunk_by(|left, right| found[*left].address.segment_ord == found[*right].address.segment_ord)
        {
            let reader = self.searcher.segment_reader(found[group[0]].address.segment_ord);
            let docs: Vec<DocId> = group.iter().map(|index| found[*index].address.doc_id).collect();
            for (index, met) in group.iter().zip(self.meet(reader, condition, &docs)?) {
                meets[*index] = met;
            }
        }
        Ok(meets)
    }

    /// Whether each of the segment's documents, which ascend, meets the condition.
    fn meet(
        &self,
        reader: &SegmentReader,
        condition: &Condition,
        docs: &[DocId],
    ) -> tantivy::Result<Vec<bool>> {
        let mut met = self.context(reader).docs(condition)?;
        let mut meets = Vec::with_capacity(docs.len());
        let mut rest = docs;
        while let Some(first) = rest.first() {
            let mut window = Window::around(*first);
            let (here, behind) = rest.split_at(rest.partition_point(|doc| *doc < window.end()));
            for doc in here {
                window.insert(*doc);
            }
            met.retain(&mut window);
            meets.extend(here.iter().map(|doc| window.contains(*doc)));
            rest = behind;
        }
        Ok(meets)
    }
}

fn lock(gathered: &Mutex<Gathered>) -> MutexGuard<'_, Gathered> {
    gathered.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the last of the first `keep` stands, if so many have been found.
fn bound(gathered: &Gathered, keep: usize) -> Option<OrderPosition> {
    let last = gathered.best.last().filter(|_| gathered.best.len() >= keep);
    last.map(|found| found.position.clone())
}

/// The segments, those with so many documents in a piece for each thread. The first piece begins the first segment.
fn pieces<'s>(readers: &[(SegmentOrdinal, &'s SegmentReader)], threads: u32, large: u64) -> Vec<Piece<'s>> {
    let mut pieces = Vec::new();
    for &(ordinal, reader) in readers {
        let max_doc = reader.max_doc();
        // Each piece looks the terms up anew.
        let parts = if u64::from(max_doc) < large { 1 } else { threads };
        let windows = max_doc.div_ceil(WINDOW).div_ceil(parts);
        let mut start = 0;
        while start < max_doc {
            let end = max_doc.min(start + windows * WINDOW);
            pieces.push(Piece {
                ordinal,
                reader,
                docs: start..end,
            });
            start = end;
        }
    }
    pieces
}

/// Whether that is how segments are sorted.
fn is_sorted(order: Order) -> bool {
    order.descending && order.by == OrderBy::Number(NumberField::InfoUpdatedAt)
}

/// How many documents of a set are not deleted, if that is known without counting.
fn known_count(reader: &SegmentReader, in_set: Option<u64>) -> Option<u64> {
    match in_set? {
        all if all == u64::from(reader.max_doc()) => Some(u64::from(reader.num_docs())),
        count if count == 0 || !reader.has_deletes() => Some(count),
        _ => None,
    }
}

/// Gathers the first documents of a segment.
struct Collector {
    places: Places,
    /// None unless they are ordered by their scores.
    scorer: Option<Scorer>,
    top: Top,
    /// Documents before it stand before [`crate::plan::Window::after`].
    start: DocId,
    /// Whether the segment is sorted by what is asked for.
    sorted: bool,
    /// Whether nothing that is still to come can be among the first.
    is_done: bool,
    docs: Vec<DocId>,
    keys: Vec<super::order::Key>,
}

impl Collector {
    fn open(
        segment: &Segment<'_>,
        plan: &Plan,
        keep: usize,
        bound: Option<&OrderPosition>,
    ) -> tantivy::Result<Self> {
        let places = Places::open(segment.reader, plan.order, segment.kept)?;
        let within = |position: Option<&OrderPosition>| position.map(|position| places.place(position));
        let after = within(plan.window.after.as_ref()).transpose()?.flatten();
        let bound = within(bound).transpose()?;
        let sorted = is_sorted(plan.order);
        let start = match plan.window.after.as_ref().map(|after| &after.value) {
            Some(OrderValue::Number(after)) if sorted => {
                let column = segment.sorted_by()?;
                first(segment.reader.max_doc(), |doc| {
                    column.first(doc).is_none_or(|at| at <= *after)
                })
            }
            _ => 0,
        };
        Ok(Self {
            places,
            scorer: (plan.order.by == OrderBy::Relevance)
                .then(|| Scorer::new(segment, &plan.ranking, &plan.filter))
                .transpose()?,
            top: Top::new(keep, after, bound.flatten()),
            start,
            sorted,
            // All of the segment stands behind what has been found already.
            is_done: matches!(bound, Some(None)),
            docs: Vec::new(),
            keys: Vec::new(),
        })
    }

    fn collect(&mut self, matching: &Window) {
        if self.is_done || matching.end() <= self.start {
            return;
        }
        if let Some(degrees) = self.scorer.as_mut().and_then(|scorer| scorer.degrees(matching)) {
            Self::collect_by_degrees(degrees, &mut self.top, &self.places);
            return;
        }
        let mut candidates = matching.clone();
        if !self.sorted {
            self.places.narrow(&mut candidates, self.top.bounds());
        }
        let scores = self.scorer.as_mut().map(|scorer| {
            let counts = |doc, most| {
                let is_up_to = |last| self.places.is_id_up_to(doc, last);
                self.top.may_keep(score_key(most), is_up_to)
            };
            scorer.score(&mut candidates, counts)
        });
        let scores = scores.unwrap_or_default();
        self.docs.clear();
        self.docs.extend(candidates.docs());
        self.places.keys(&candidates, &self.docs, scores, &mut self.keys);
        for (key, doc) in self.keys.iter().zip(&self.docs) {
            if self.sorted && self.top.is_behind(*key) {
                self.is_done = true;
                return;
            }
            let is_up_to = |last| self.places.is_id_up_to(*doc, last);
            self.top.offer(*key, *doc, is_up_to, || self.places.id(*doc));
        }
    }

    fn collect_by_degrees(mut degrees: Degrees<'_>, top: &mut Top, places: &Places) {
        for degree in DEGREES {
            let key = score_key(degrees.score(degree));
            if top.is_behind(key) {
                return;
            }
            let is_up_to = |doc| move |last| places.is_id_up_to(doc, last);
            let mut found = degrees.take(degree, |doc| top.may_keep(key, is_up_to(doc)));
            // Where all have the same key their ids alone tell, and mostly all but a few are left.
            if let Some(last) = top.last_at(key) {
                places.narrow_to_ids(&mut found, last);
            }
            for doc in found.docs() {
                top.offer(key, doc, is_up_to(doc), || places.id(doc));
            }
        }
    }

    fn finish(self, segment_ord: SegmentOrdinal) -> tantivy::Result<Vec<Found>> {
        let (places, docs): (Vec<_>, Vec<_>) = self.top.into_sorted().into_iter().unzip();
        let positions = self.places.positions(&places)?;
        let found = positions.into_iter().zip(docs);
        Ok(found
            .map(|(position, doc_id)| Found {
                position,
                address: DocAddress { segment_ord, doc_id },
            })
            .collect())
    }
}

/// The first `keep` of two sorted lists.
fn merge(order: Order, left: Vec<Found>, right: Vec<Found>, keep: usize) -> Vec<Found> {
    if left.is_empty() {
        return right;
    }
    let mut left = left.into_iter().peekable();
    let mut right = right.into_iter().peekable();
    let mut merged = Vec::new();
    while merged.len() < keep {
        let from_left = match (left.peek(), right.peek()) {
            (Some(left), Some(right)) => compare(order, &left.position, &right.position).is_le(),
            (left, _) => left.is_some(),
        };
        let Some(next) = (if from_left { left.next() } else { right.next() }) else {
            break;
        };
        merged.push(next);
    }
    merged
}
