//! From conditions to sets of documents, for one segment.
//!
//! What needs no positions gets none: alternatives are united whatever the field; in a field of one value all words
//! are a conjunction of terms; one word is a term. Only phrases, and all words within one of many values, are
//! checked by positions ([`WordDocs`]), and only in the documents that have the words.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::index::{InvertedIndexReader, SegmentReader};
use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, TERMINATED, Term};
use uuid::Uuid;

use super::bits::{BitDocs, Bits, ListDocs, is_few, with_common};
use super::company_docs::CompanyDocs;
use super::deadline::Deadline;
use super::docs::{AllDocs, AnyDocs, AskedDocs, BoxDocs, NotDocs, NumberDocs, RangeDocs, TermDocs};
use super::employers::{EmployerDocs, Employers};
use super::ids::Ids;
use super::kept::{Clause, Keeping};
use super::numbers::Numbers;
use super::schema::{Fields, has_many_values, number_name};
use super::window::Window;
use super::words::{Expression, MatcherBuilder, WordDocs};
use crate::plan::{Condition, InValue, KeyField, Kind, NumberField, Phrase, Stop, TextField};

/// How often the clock is looked at while a dictionary is read, in terms.
const LOOKS: u32 = 256;

/// A clause for which less than one of so many documents come into question is looked for each time.
const WORTH_KEEPING: u64 = 4096;

/// A segment that is asked.
pub(super) struct Segment<'a> {
    pub(super) reader: &'a SegmentReader,
    pub(super) fields: &'a Fields,
    pub(super) kind: Kind,
    pub(super) employers: &'a Employers<'a>,
    pub(super) kept: Keeping<'a>,
    pub(super) deadline: Arc<Deadline>,
}

impl Segment<'_> {
    /// The documents that meet the condition.
    pub(super) fn docs(&self, condition: &Condition) -> tantivy::Result<BoxDocs> {
        match condition {
            Condition::All(_) => Ok(self.all(self.parts(condition)?)),
            Condition::Not(part) => {
                let part = self.docs(part)?;
                if is_none(&part) {
                    return Ok(self.range(0..self.reader.max_doc()));
                }
                Ok(Box::new(NotDocs::new(self.reader.max_doc(), part)))
            }
            Condition::Text { fields, expression } => self.text(fields, expression),
            condition if is_of_segment(condition) => {
                self.kept_or_found(Clause::Condition(Cow::Borrowed(condition)))
            }
            condition => self.found_docs(condition),
        }
    }

    /// Sets that all of a condition's documents are in, and no others. What needs positions is two of them: the documents
    /// that have the words at all, and, asked last, those in which they stand as they have to.
    fn parts(&self, condition: &Condition) -> tantivy::Result<Vec<BoxDocs>> {
        match condition {
            Condition::All(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.parts(part)?);
                }
                Ok(all)
            }
            Condition::Text { fields, expression } => {
                let exact = self.text(fields, expression)?;
                if !exact.looks_at_positions() {
                    return Ok(vec![exact]);
                }
                let candidates = collect(fields, |field| self.candidates(*field, expression))?;
                Ok(vec![self.any(candidates), Box::new(AskedDocs(exact))])
            }
            condition => Ok(vec![self.docs(condition)?]),
        }
    }

    /// The documents in one value of one of whose fields the expression holds.
    pub(super) fn text(&self, fields: &[TextField], expression: &InValue) -> tantivy::Result<BoxDocs> {
        self.kept_or_found(Clause::Text(Cow::Borrowed(fields), Cow::Borrowed(expression)))
    }

    /// The documents of a clause: those that are kept, else looked for, and if others have looked for them too, to be kept.
    fn kept_or_found(&self, clause: Clause<'_>) -> tantivy::Result<BoxDocs> {
        if let Some(docs) = self.kept.docs(self.reader, &clause) {
            return Ok(docs);
        }
        let docs = self.found(&clause)?;
        let is_many = docs.cost().saturating_mul(WORTH_KEEPING) >= u64::from(self.reader.max_doc());
        if is_many && docs.price() > 0 && self.kept.is_wanted(self.reader, &clause) {
            let (reader, fields, kind) = (self.reader.clone(), self.fields.clone(), self.kind);
            let segment = reader.segment_id();
            self.kept.find(segment, clause.into_owned(), move |kept, clause| {
                let segment = Segment {
                    reader: &reader,
                    fields: &fields,
                    kind,
                    employers: &Employers::default(),
                    kept: kept.for_finding(),
                    deadline: Arc::new(Deadline::new(Stop::never())),
                };
                segment.all_found(clause)
            });
        }
        Ok(docs)
    }

    fn all_found(&self, clause: &Clause<'_>) -> tantivy::Result<Bits> {
        let max_doc = self.reader.max_doc();
        let mut docs = self.found(clause)?;
        let mut all = Bits::none(max_doc);
        let mut from = docs.next(0);
        while from < max_doc {
            let mut window = Window::around(from);
            docs.fill(&mut window);
            all.add(&window);
            from = docs.next(window.end());
        }
        Ok(all)
    }

    fn found(&self, clause: &Clause<'_>) -> tantivy::Result<BoxDocs> {
        match clause {
            Clause::Term(term) => self.listed(std::iter::once(term.as_ref().clone())),
            Clause::Text(fields, expression) => self.found_text(fields, expression),
            Clause::Condition(condition) => self.found_docs(condition),
        }
    }

    /// The documents that meet the condition, of whose parts nothing is kept but frequent terms.
    fn found_docs(&self, condition: &Condition) -> tantivy::Result<BoxDocs> {
        match condition {
            Condition::Everything => Ok(self.range(0..self.reader.max_doc())),
            Condition::Text { fields, expression } => self.found_text(fields, expression),
            Condition::Key { field, any } => self.key(*field, any),
            Condition::KeyPrefix { field, prefix } => self.key_prefix(*field, prefix),
            Condition::Range { field, from, to } => self.number(*field, *from, *to),
            Condition::Ids(ids) => self.ids(ids),
            Condition::Any(parts) if is_of_segment(condition) => {
                Ok(self.any(collect(parts, |part| self.found_docs(part))?))
            }
            Condition::Any(parts) => Ok(self.any(collect(parts, |part| self.docs(part))?)),
            Condition::All(_) | Condition::Not(_) => self.docs(condition),
            Condition::Employer(asked) => self.employed(asked),
        }
    }

    fn found_text(&self, fields: &[TextField], expression: &InValue) -> tantivy::Result<BoxDocs> {
        Ok(self.any(collect(fields, |field| self.in_value(*field, expression))?))
    }

    /// The people whose company meets the condition.
    fn employed(&self, asked: &Condition) -> tantivy::Result<BoxDocs> {
        let Some(numbers) = self.employers.answer(asked).filter(|numbers| !numbers.is_empty()) else {
            return Ok(self.none());
        };
        self.of_companies(numbers, u64::MAX)
    }

    /// The documents with one of these companies' numbers, among so many that come into question.
    pub(super) fn of_companies(&self, numbers: &Arc<Numbers>, docs: u64) -> tantivy::Result<BoxDocs> {
        if self.kind == Kind::Company
            && numbers.count() < docs.min(u64::from(self.reader.max_doc()))
            && let Some(places) = self.kept.company_docs(self.reader)?
        {
            return Ok(self.placed(&places, numbers));
        }
        let Some(few) = numbers.to_look_up(self.reader.max_doc(), docs) else {
            return Ok(Box::new(EmployerDocs::open(self.reader, numbers)?));
        };
        self.listed(few.iter().map(|number| self.fields.company_term(*number)))
    }

    /// The documents with one of these companies' numbers, by the table.
    fn placed(&self, places: &CompanyDocs, numbers: &Numbers) -> BoxDocs {
        let docs = places.of(numbers.iter());
        if is_few(numbers.count(), self.reader.max_doc()) {
            let mut docs: Vec<DocId> = docs.collect();
            docs.sort_unstable();
            return Box::new(ListDocs::new(docs.into()));
        }
        let mut found = Bits::none(self.reader.max_doc());
        docs.for_each(|doc| found.insert(doc));
        self.gathered(found)
    }

    /// Works through the documents of the set in this range of windows that are not deleted, window by window, until there
    /// are no more, the work breaks, or the deadline has passed.
    pub(super) fn windows(
        &self,
        range: Range<DocId>,
        docs: &mut BoxDocs,
        mut work: impl FnMut(&Window) -> ControlFlow<()>,
    ) {
        let mut from = range.start;
        loop {
            from = docs.next(from);
            if from >= range.end || self.deadline.look() {
                return;
            }
            let mut matching = Window::around(from);
            from = matching.end();
            docs.fill(&mut matching);
            if let Some(alive) = self.reader.alive_bitset() {
                matching.retain(|doc| alive.is_alive(doc));
            }
            if work(&matching).is_break() {
                return;
            }
        }
    }

    /// Column of the value that segments are sorted by, descending.
    pub(super) fn sorted_by(&self) -> tantivy::Result<Column<i64>> {
        self.reader
            .fast_fields()
            .i64(number_name(NumberField::InfoUpdatedAt))
    }

    fn range(&self, range: Range<DocId>) -> BoxDocs {
        Box::new(RangeDocs(range.start..range.end.min(self.reader.max_doc())))
    }

    fn none(&self) -> BoxDocs {
        self.range(0..0)
    }

    /// The documents that are in all of the sets.
    pub(super) fn all(&self, parts: Vec<BoxDocs>) -> BoxDocs {
        let mut parts = with_common(parts);
        if parts.iter().any(is_none) {
            return self.none();
        }
        match parts.len() {
            0 => self.range(0..self.reader.max_doc()),
            1 => parts.remove(0),
            _ => Box::new(AllDocs::new(parts)),
        }
    }

    fn any(&self, mut parts: Vec<BoxDocs>) -> BoxDocs {
        parts.retain(|part| !is_none(part));
        match parts.len() {
            0 => self.none(),
            1 => parts.remove(0),
            _ => Box::new(AnyDocs::new(parts)),
        }
    }

    fn in_value(&self, field: TextField, expression: &InValue) -> tantivy::Result<BoxDocs> {
        let many = has_many_values(self.kind, field);
        match expression {
            InValue::Any(parts) => Ok(self.any(collect(parts, |part| self.in_value(field, part))?)),
            InValue::All(parts) if parts.len() == 1 || (!many && !parts.is_empty()) => {
                Ok(self.all(collect(parts, |part| self.in_value(field, part))?))
            }
            InValue::Phrase(phrase) if phrase.len() == 1 => self.slot(field, &phrase[0]),
            InValue::All(_) | InValue::Phrase(_) => self.by_position(field, expression),
        }
    }

    /// The documents with one of the terms.
    fn slot(&self, field: TextField, terms: &[String]) -> tantivy::Result<BoxDocs> {
        self.terms(self.fields.text(field), terms.iter().map(String::as_str))
    }

    fn by_position(&self, field: TextField, expression: &InValue) -> tantivy::Result<BoxDocs> {
        let many = has_many_values(self.kind, field);
        let index = self.reader.inverted_index(self.fields.text(field))?;
        let mut builder = MatcherBuilder::default();
        let Some(resolved) = self.resolve(field, &index, expression, &mut builder)? else {
            return Ok(self.none());
        };
        let candidates = self.candidates(field, expression)?;
        if is_none(&candidates) {
            return Ok(candidates);
        }
        let matcher = builder.build(resolved, many);
        Ok(Box::new(WordDocs::new(
            candidates,
            matcher,
            Arc::clone(&self.deadline),
        )))
    }

    /// The expression over the builder's slots; none if it can't hold in this segment.
    fn resolve(
        &self,
        field: TextField,
        index: &InvertedIndexReader,
        expression: &InValue,
        builder: &mut MatcherBuilder,
    ) -> tantivy::Result<Option<Expression>> {
        Ok(match expression {
            InValue::Phrase(phrase) => {
                let mut slots = Vec::with_capacity(phrase.len());
                for slot in phrase {
                    let slot = builder.slot(slot.clone(), |terms| self.positions(field, index, terms))?;
                    if builder.is_absent(slot) {
                        return Ok(None);
                    }
                    slots.push(slot);
                }
                if slots.is_empty() {
                    None
                } else {
                    Some(Expression::Phrase(builder.phrase(&slots)))
                }
            }
            InValue::All(parts) => {
                let mut resolved = Vec::with_capacity(parts.len());
                for part in parts {
                    let Some(part) = self.resolve(field, index, part, builder)? else {
                        return Ok(None);
                    };
                    resolved.push(part);
                }
                if resolved.is_empty() {
                    None
                } else {
                    Some(Expression::All(resolved))
                }
            }
            InValue::Any(parts) => {
                let mut resolved = Vec::with_capacity(parts.len());
                for part in parts {
                    resolved.extend(self.resolve(field, index, part, builder)?);
                }
                if resolved.is_empty() {
                    None
                } else {
                    Some(Expression::Any(resolved))
                }
            }
        })
    }

    fn positions(
        &self,
        field: TextField,
        index: &InvertedIndexReader,
        terms: &[String],
    ) -> tantivy::Result<Vec<SegmentPostings>> {
        let mut all = Vec::with_capacity(terms.len());
        for term in terms {
            let term = Term::from_field_text(self.fields.text(field), term);
            all.extend(index.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)?);
        }
        Ok(all)
    }

    /// Documents that have the words, wherever they stand.
    fn candidates(&self, field: TextField, expression: &InValue) -> tantivy::Result<BoxDocs> {
        match expression {
            InValue::Phrase(phrase) => {
                let slots = distinct(phrase);
                Ok(self.all(collect(&slots, |slot| self.slot(field, slot))?))
            }
            InValue::All(parts) => Ok(self.all(collect(parts, |part| self.candidates(field, part))?)),
            InValue::Any(parts) => Ok(self.any(collect(parts, |part| self.candidates(field, part))?)),
        }
    }

    fn key(&self, field: KeyField, terms: &[String]) -> tantivy::Result<BoxDocs> {
        self.terms(self.fields.key(field), terms.iter().map(String::as_str))
    }

    fn terms<'t>(&self, field: Field, terms: impl Iterator<Item = &'t str>) -> tantivy::Result<BoxDocs> {
        let index = self.reader.inverted_index(field)?;
        let mut parts: Vec<BoxDocs> = Vec::new();
        for term in terms {
            let term = Term::from_field_text(field, term);
            if let Some(info) = index.get_term_info(&term)? {
                parts.push(self.term(&index, &term, &info)?);
            }
        }
        Ok(self.any(parts))
    }

    fn term(&self, index: &InvertedIndexReader, term: &Term, info: &TermInfo) -> tantivy::Result<BoxDocs> {
        let max_doc = self.reader.max_doc();
        let postings = || index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic);
        let frequent = self.kept.frequent(self.reader, term, info.doc_freq, || {
            let mut docs = Bits::none(max_doc);
            docs.insert_all(postings()?);
            Ok(docs)
        });
        match frequent? {
            Some(docs) => Ok(docs),
            None => Ok(Box::new(TermDocs::new(postings()?, max_doc))),
        }
    }

    fn key_prefix(&self, field: KeyField, prefix: &str) -> tantivy::Result<BoxDocs> {
        let index = self.reader.inverted_index(self.fields.key(field))?;
        let mut found = Bits::none(self.reader.max_doc());
        let mut stream = index.terms().range().ge(prefix.as_bytes()).into_stream()?;
        let mut looks = 0;
        while let Some((term, info)) = stream.next() {
            if !term.starts_with(prefix.as_bytes()) {
                break;
            }
            looks += 1;
            if looks % LOOKS == 0 && self.deadline.look() {
                break;
            }
            found.insert_all(index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?);
        }
        Ok(self.gathered(found))
    }

    fn ids(&self, ids: &[Uuid]) -> tantivy::Result<BoxDocs> {
        let of_segment = Ids::open(self.reader, self.fields.bucket)?;
        let mut found = Bits::none(self.reader.max_doc());
        for (id, looks) in ids.iter().zip(1_u32..) {
            if looks % LOOKS == 0 && self.deadline.look() {
                break;
            }
            of_segment.find(*id, |doc| found.insert(doc))?;
        }
        Ok(self.gathered(found))
    }

    /// The documents with one of these terms, each of which few documents have for the most part.
    fn listed(&self, terms: impl Iterator<Item = Term>) -> tantivy::Result<BoxDocs> {
        let mut found = Bits::none(self.reader.max_doc());
        for (term, looks) in terms.zip(1_u32..) {
            if looks % LOOKS == 0 && self.deadline.look() {
                break;
            }
            let index = self.reader.inverted_index(term.field())?;
            if let Some(postings) = index.read_block_postings(&term, IndexRecordOption::Basic)? {
                found.insert_all(postings);
            }
        }
        Ok(self.gathered(found))
    }

    fn gathered(&self, found: Bits) -> BoxDocs {
        if found.is_empty() {
            self.none()
        } else {
            Box::new(BitDocs(Arc::new(found)))
        }
    }

    fn number(&self, field: NumberField, from: Option<i64>, to: Option<i64>) -> tantivy::Result<BoxDocs> {
        let from = from.unwrap_or(i64::MIN);
        let to = to.unwrap_or(i64::MAX);
        if from > to {
            return Ok(self.none());
        }
        if field == NumberField::InfoUpdatedAt {
            // Segments are sorted by it, the newest first.
            let column = self.sorted_by()?;
            let start = first(self.reader.max_doc(), |doc| {
                column.first(doc).is_none_or(|at| at <= to)
            });
            let end = first(self.reader.max_doc(), |doc| {
                column.first(doc).is_none_or(|at| at < from)
            });
            return Ok(self.range(start..end));
        }
        match self.reader.fast_fields().column_opt::<i64>(number_name(field))? {
            // Bounds below a column's least number would find the least.
            Some(column) if from <= column.max_value() && column.min_value() <= to => {
                Ok(Box::new(NumberDocs::new(column, from..=to)))
            }
            _ => Ok(self.none()),
        }
    }
}

/// The first document for which `holds` does; it has to hold for all behind it too.
pub(super) fn first(max_doc: DocId, holds: impl Fn(DocId) -> bool) -> DocId {
    let (mut low, mut high) = (0, max_doc.min(TERMINATED));
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Whether a segment's documents tell all that the condition asks, and it is one that many ask alike: neither a list of ids
/// nor times, which are told by a range of documents.
fn is_of_segment(condition: &Condition) -> bool {
    match condition {
        Condition::Text { .. } | Condition::Key { .. } | Condition::KeyPrefix { .. } => true,
        Condition::Range { field, .. } => *field != NumberField::InfoUpdatedAt,
        Condition::Any(parts) => parts.iter().all(is_of_segment),
        Condition::Everything
        | Condition::Ids(_)
        | Condition::All(_)
        | Condition::Not(_)
        | Condition::Employer(_) => false,
    }
}

fn collect<T>(parts: &[T], docs: impl Fn(&T) -> tantivy::Result<BoxDocs>) -> tantivy::Result<Vec<BoxDocs>> {
    parts.iter().map(docs).collect()
}

fn is_none(docs: &BoxDocs) -> bool {
    docs.known_count() == Some(0)
}

/// The slots of a phrase, each once.
fn distinct(phrase: &Phrase) -> Phrase {
    let mut slots = phrase.clone();
    for slot in &mut slots {
        slot.sort_unstable();
    }
    slots.sort_unstable();
    slots.dedup();
    slots
}
