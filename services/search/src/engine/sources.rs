//! The texts that records have as their sources write them, gone through record by record.
//!
//! Each segment has its texts in a dictionary, and of each document the numbers of its texts there. The dictionaries are
//! read once, and put together; then a record is a list of numbers, and going through millions takes a second.

use std::collections::HashMap;
use std::error::Error;

use tantivy::Searcher;
use tantivy::columnar::Column;
use tantivy::index::SegmentReader;

use super::numbers;
use super::schema::source_name;
use super::search::Searchers;
use crate::plan::{EngineError, Kind, SourceField, Stop};

/// How many documents are gone through between two looks at the clock.
const LOOK_EVERY: u32 = 4096;

/// One state of the index, that of a commit, as long as this is held.
pub struct Snapshot(pub(super) Searchers);

/// The texts of some source fields of a snapshot.
pub struct Sources<'a> {
    /// Different texts of the records, deleted ones that are still on disk included. A text's number is its place.
    texts: Vec<String>,
    /// How many of the texts the first of the fields has: those that come first.
    of_first: usize,
    companies: Vec<SegmentSources<'a>>,
    people: Vec<SegmentSources<'a>>,
}

struct SegmentSources<'a> {
    reader: &'a SegmentReader,
    company: Column<u64>,
    /// One for each field; none where no document of the segment has such a text.
    fields: Vec<Option<Texts>>,
}

/// The texts of a field in a segment.
struct Texts {
    ords: Column<u64>,
    /// The text's number by its ordinal in the segment.
    numbers: Vec<u32>,
}

/// What one record has.
#[derive(Debug, Default)]
pub struct RecordSources {
    /// The company's number, see [`crate::document::Document::company`]; 0 if there is none.
    pub company: u64,
    /// Numbers of its texts, those of the first field first.
    pub texts: Vec<u32>,
    /// How many of them are of the first field.
    pub of_first: usize,
}

impl Snapshot {
    /// Reads which texts the fields have.
    pub fn sources(&self, fields: &[SourceField], stop: &Stop) -> Result<Sources<'_>, EngineError> {
        let mut known = HashMap::new();
        let mut of_first = 0;
        let mut companies = open(&self.0.companies)?;
        let mut people = open(&self.0.people)?;
        // Field by field, so that the first one's texts come first.
        for (at, field) in fields.iter().enumerate() {
            for segment in companies.iter_mut().chain(&mut people) {
                if stop.is_due() {
                    return Err(EngineError::DeadlineExceeded);
                }
                let texts = Texts::read(segment.reader, *field, &mut known)?;
                segment.fields.push(texts);
            }
            if at == 0 {
                of_first = known.len();
            }
        }
        let mut texts = vec![String::new(); known.len()];
        for (text, number) in known {
            texts[number as usize] = text;
        }
        Ok(Sources {
            texts,
            of_first,
            companies,
            people,
        })
    }
}

fn open(searcher: &Searcher) -> Result<Vec<SegmentSources<'_>>, EngineError> {
    let readers = searcher.segment_readers().iter();
    let segments = readers.map(|reader| {
        Ok(SegmentSources {
            reader,
            company: numbers::column(reader).map_err(unreadable)?,
            fields: Vec::new(),
        })
    });
    segments.collect()
}

impl Texts {
    fn read(
        reader: &SegmentReader,
        field: SourceField,
        known: &mut HashMap<String, u32>,
    ) -> Result<Option<Self>, EngineError> {
        let column = reader.fast_fields().str(source_name(field)).map_err(unreadable)?;
        let Some(column) = column else {
            return Ok(None);
        };
        let mut numbers = Vec::with_capacity(column.num_terms());
        let mut terms = column.dictionary().stream().map_err(unreadable)?;
        while terms.advance() {
            let text = std::str::from_utf8(terms.key()).map_err(unreadable)?;
            let number = if let Some(number) = known.get(text) {
                *number
            } else {
                let number = u32::try_from(known.len()).map_err(unreadable)?;
                known.insert(text.to_owned(), number);
                number
            };
            numbers.push(number);
        }
        Ok(Some(Self {
            ords: column.ords().clone(),
            numbers,
        }))
    }
}

impl Sources<'_> {
    /// The texts, by their numbers.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The texts that a record has in the first of the fields, or had.
    #[must_use]
    pub fn of_first(&self) -> &[String] {
        &self.texts[..self.of_first]
    }

    /// Shows every record of the kind. Blocks.
    pub fn each(
        &self,
        kind: Kind,
        stop: &Stop,
        mut show: impl FnMut(&RecordSources),
    ) -> Result<(), EngineError> {
        let segments = match kind {
            Kind::Company => &self.companies,
            Kind::Person => &self.people,
        };
        let mut record = RecordSources::default();
        for segment in segments {
            for doc in 0..segment.reader.max_doc() {
                if doc % LOOK_EVERY == 0 && stop.is_due() {
                    return Err(EngineError::DeadlineExceeded);
                }
                if segment.reader.is_deleted(doc) {
                    continue;
                }
                record.company = segment.company.first(doc).unwrap_or_default();
                record.texts.clear();
                record.of_first = 0;
                for (at, texts) in segment.fields.iter().enumerate() {
                    if let Some(texts) = texts {
                        let ords = texts.ords.values_for_doc(doc);
                        let numbers = ords.filter_map(|ord| {
                            let ord = usize::try_from(ord).ok()?;
                            texts.numbers.get(ord).copied()
                        });
                        record.texts.extend(numbers);
                    }
                    if at == 0 {
                        record.of_first = record.texts.len();
                    }
                }
                show(&record);
            }
        }
        Ok(())
    }
}

fn unreadable(error: impl Into<Box<dyn Error + Send + Sync>>) -> EngineError {
    EngineError::Index(error.into())
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Sources")
            .field("texts", &self.texts.len())
            .finish_non_exhaustive()
    }
}
