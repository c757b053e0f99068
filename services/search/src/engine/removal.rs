//! The removal of documents, as small as it can be told.
//!
//! Each document that is written removes what was there under its id, and Tantivy keeps every removal for as long as a
//! segment is merged that was there before it: millions of them in a bulk load. Its own `delete_term` keeps each with what
//! a search ranks by, more than 1 KB; this is the ids of all that are written together, which are also looked for
//! together. (`delete_query`, which takes it, is public but not documented: the tests of this engine's writing are what
//! holds it.)

use std::sync::Arc;

use tantivy::index::SegmentReader;
use tantivy::query::{BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::Field;
use tantivy::{BitSet, DocId, IndexWriter, Opstamp, Score};
use uuid::Uuid;

use super::ids::{Ids, bucket};

/// The documents of some ids.
#[derive(Clone, Debug)]
pub(super) struct Removal {
    bucket: Field,
    /// In the order of their buckets, that of the dictionary.
    ids: Arc<[Uuid]>,
}

impl Removal {
    /// Of the documents with one of these ids; `bucket` is the field of the buckets.
    pub(super) fn of(bucket: Field, mut ids: Vec<Uuid>) -> Self {
        ids.sort_unstable_by_key(|id| self::bucket(*id));
        Self {
            bucket,
            ids: ids.into(),
        }
    }

    /// Removes what was written before.
    pub(super) fn write(self, writer: &IndexWriter) -> tantivy::Result<Opstamp> {
        writer.delete_query(Box::new(self))
    }
}

impl Query for Removal {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for Removal {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let ids = Ids::open(reader, self.bucket)?;
        let mut docs = BitSet::with_max_value(reader.max_doc());
        for id in self.ids.iter() {
            ids.find(*id, |doc| {
                docs.insert(doc);
            })?;
        }
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(docs), boost)))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("the id", 1.0))
    }
}
