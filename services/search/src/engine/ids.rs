//! Documents by their ids.
//!
//! A dictionary of whole ids, no two of which have anything in common, took a tenth of a bulk load: with each merge each
//! is put into it anew. So there is a term for each bucket of ids, those with the same last two bytes: records are given
//! ids that begin with the time and end with what is random. Which of a bucket's documents has an id is told by the
//! columns of the ids.

use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::index::{InvertedIndexReader, SegmentReader};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Term};
use uuid::Uuid;

/// Column of the id's upper half, as a number that compares as its bytes do.
pub(super) const ID_HIGH: &str = "id_high";
/// Column of the id's lower half.
pub(super) const ID_LOW: &str = "id_low";

/// What stands in the dictionary for an id, and for one of 65,536 others.
pub(super) fn bucket(id: Uuid) -> [u8; 2] {
    let bytes = id.into_bytes();
    [bytes[14], bytes[15]]
}

/// The ids of a segment's documents.
pub(super) struct Ids {
    bucket: Field,
    buckets: Arc<InvertedIndexReader>,
    high: Column<u64>,
    low: Column<u64>,
}

impl Ids {
    /// `bucket` is the field of the buckets.
    pub(super) fn open(reader: &SegmentReader, bucket: Field) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        Ok(Self {
            bucket,
            buckets: reader.inverted_index(bucket)?,
            high: columns.u64(ID_HIGH)?,
            low: columns.u64(ID_LOW)?,
        })
    }

    /// Hands over the documents with this id. There may be several: of one that was replaced the old one stays in its
    /// segment, deleted.
    pub(super) fn find(&self, id: Uuid, mut found: impl FnMut(DocId)) -> tantivy::Result<()> {
        let term = Term::from_field_bytes(self.bucket, &bucket(id));
        let Some(mut postings) = self
            .buckets
            .read_block_postings(&term, IndexRecordOption::Basic)?
        else {
            return Ok(());
        };
        let (high, low) = id.as_u64_pair();
        while !postings.docs().is_empty() {
            for &doc in postings.docs() {
                if self.low.first(doc) == Some(low) && self.high.first(doc) == Some(high) {
                    found(doc);
                }
            }
            postings.advance();
        }
        Ok(())
    }
}
