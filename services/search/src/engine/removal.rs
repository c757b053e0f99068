//! The removal of a document, as small as it can be told.
//!
//! Each document that is written removes what was there under its id, and Tantivy keeps every removal for as long as a
//! segment is merged that was there before it: millions of them in a bulk load. Its own `delete_term` keeps each with what
//! a search ranks by, more than 1 KB; this is the id. (`delete_query`, which takes it, is public but not documented: the
//! tests of this engine's writing are what holds it.)

use tantivy::index::SegmentReader;
use tantivy::postings::SegmentPostings;
use tantivy::query::{ConstScorer, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet as _, IndexWriter, Opstamp, Score, TERMINATED};
use uuid::Uuid;

/// The documents of an id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removal {
    field: Field,
    id: Uuid,
}

impl Removal {
    /// Of the documents whose field has this id.
    pub(super) const fn of(field: Field, id: Uuid) -> Self {
        Self { field, id }
    }

    /// Removes what was written before.
    pub(super) fn write(self, writer: &IndexWriter) -> tantivy::Result<Opstamp> {
        writer.delete_query(Box::new(self))
    }

    fn postings(self, reader: &SegmentReader) -> tantivy::Result<Option<SegmentPostings>> {
        let index = reader.inverted_index(self.field)?;
        let Some(term) = index.terms().get(self.id.as_bytes())? else {
            return Ok(None);
        };
        let postings = index.read_postings_from_terminfo(&term, IndexRecordOption::Basic)?;
        Ok(Some(postings))
    }
}

impl Query for Removal {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(*self))
    }
}

impl Weight for Removal {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(match self.postings(reader)? {
            Some(postings) => Box::new(ConstScorer::new(postings, boost)),
            None => Box::new(EmptyScorer),
        })
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("the id", 1.0))
    }

    fn for_each_no_score(
        &self,
        reader: &SegmentReader,
        callback: &mut dyn FnMut(&[DocId]),
    ) -> tantivy::Result<()> {
        let Some(mut postings) = self.postings(reader)? else {
            return Ok(());
        };
        while postings.doc() != TERMINATED {
            callback(&[postings.doc()]);
            postings.advance();
        }
        Ok(())
    }
}
