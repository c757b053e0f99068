//! Where companies stand in a segment, by their numbers.
//!
//! What a search for people asks of their companies it may ask of some hundred of them, by number. To look each up as a term
//! costs a microsecond, and more in a large segment. Numbers are given one after the other, so an array tells where they stand:
//! four bytes a number between the segment's least and its greatest one.

use tantivy::index::SegmentReader;
use tantivy::{DocId, TERMINATED};

use super::numbers::column;

/// The documents of a segment of companies by the companies' numbers.
#[derive(Debug)]
pub(super) struct CompanyDocs {
    least: u64,
    /// By number, from the least one on; [`TERMINATED`] where there is none.
    docs: Vec<DocId>,
}

impl CompanyDocs {
    /// Bytes of memory that it takes for this segment.
    pub(super) fn bytes(reader: &SegmentReader) -> tantivy::Result<usize> {
        let column = column(reader)?;
        let numbers = column
            .max_value()
            .saturating_sub(column.min_value())
            .saturating_add(1);
        Ok(usize::try_from(numbers)
            .unwrap_or(usize::MAX)
            .saturating_mul(size_of::<DocId>()))
    }

    /// Reads all numbers of the segment. Those of documents that are deleted by now are left out: a company that has been
    /// changed may stand in the segment twice, and only once in what is left.
    pub(super) fn read(reader: &SegmentReader) -> tantivy::Result<Self> {
        let column = column(reader)?;
        let least = column.min_value();
        let mut docs = vec![TERMINATED; Self::bytes(reader)? / size_of::<DocId>()];
        for doc in reader.doc_ids_alive() {
            let place = column
                .first(doc)
                .and_then(|number| usize::try_from(number - least).ok());
            if let Some(at) = place.and_then(|place| docs.get_mut(place)) {
                *at = doc;
            }
        }
        Ok(Self { least, docs })
    }

    /// The documents of companies with these numbers, ascending. Some may be deleted.
    pub(super) fn of(&self, numbers: impl Iterator<Item = u64>) -> Vec<DocId> {
        let place = |number: u64| usize::try_from(number.checked_sub(self.least)?).ok();
        let docs = numbers.filter_map(|number| self.docs.get(place(number)?).copied());
        let mut docs: Vec<DocId> = docs.filter(|doc| *doc != TERMINATED).collect();
        docs.sort_unstable();
        docs
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use tantivy::schema::{FAST, INDEXED, Schema};
    use tantivy::{Index, TantivyDocument, Term};

    use super::super::schema::COMPANY;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20) })]

        /// Changed documents too, which stand in a segment twice until it is merged.
        #[test]
        fn it_tells_where_each_company_stands(
            written in proptest::collection::vec(50..90_u64, 1..60),
            asked in proptest::collection::vec(prop_oneof![0..150_u64, Just(u64::MAX)], 20),
        ) {
            let mut schema = Schema::builder();
            let field = schema.add_u64_field(COMPANY, FAST | INDEXED);
            let index = Index::create_in_ram(schema.build());
            let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
            let mut expected = HashMap::new();
            for (number, doc) in written.iter().zip(0..) {
                writer.delete_term(Term::from_field_u64(field, *number));
                let mut document = TantivyDocument::new();
                document.add_u64(field, *number);
                writer.add_document(document).unwrap();
                expected.insert(*number, doc);
            }
            writer.commit().unwrap();
            let searcher = index.reader().unwrap().searcher();
            let reader = searcher.segment_reader(0);
            let docs = CompanyDocs::read(reader).unwrap();
            prop_assert_eq!(CompanyDocs::bytes(reader).unwrap(), size_of_val(&*docs.docs));
            let mut found: Vec<DocId> = asked.iter().filter_map(|number| expected.get(number).copied()).collect();
            found.sort_unstable();
            prop_assert_eq!(docs.of(asked.into_iter()), found);
            for (number, doc) in expected {
                prop_assert_eq!(docs.of(std::iter::once(number)), [doc]);
            }
        }
    }
}
