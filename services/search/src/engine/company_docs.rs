//! Where companies stand in a segment, by their numbers.
//!
//! What a search for people asks of their companies it may ask of some hundred of them, by number. To look each up as a term
//! costs a microsecond, and more in a large segment. Numbers are given one after the other, so an array tells where they stand:
//! four bytes a number between the segment's least and its greatest one.

use tantivy::index::SegmentReader;
use tantivy::{DocId, TERMINATED};

use super::numbers::{column, number};

/// The documents of a segment of companies by the companies' numbers, deleted ones too: searches that began before they were
/// still see them.
#[derive(Debug)]
pub(super) struct CompanyDocs {
    least: u64,
    /// By number, from the least one on; [`TERMINATED`] where there is none.
    docs: Vec<DocId>,
    /// Further documents with their numbers, ascending: what is changed before it is committed stands in a segment twice.
    further: Vec<(u64, DocId)>,
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

    /// Reads all numbers of the segment.
    pub(super) fn read(reader: &SegmentReader) -> tantivy::Result<Self> {
        let column = column(reader)?;
        let least = column.min_value();
        let mut docs = vec![TERMINATED; Self::bytes(reader)? / size_of::<DocId>()];
        let mut further = Vec::new();
        for doc in 0..reader.max_doc() {
            let number = number(&column, doc);
            match place(least, number).and_then(|place| docs.get_mut(place)) {
                // Nobody works at a company without a number.
                _ if number == 0 => {}
                Some(first) if *first == TERMINATED => *first = doc,
                _ => further.push((number, doc)),
            }
        }
        further.sort_unstable();
        Ok(Self { least, docs, further })
    }

    /// The documents of companies with these numbers. Some may be deleted.
    pub(super) fn of(&self, numbers: impl Iterator<Item = u64>) -> impl Iterator<Item = DocId> {
        numbers.flat_map(|number| {
            let first = place(self.least, number).and_then(|place| self.docs.get(place));
            let first = first.copied().filter(|doc| *doc != TERMINATED);
            let behind = self.further.partition_point(|(other, _)| *other < number);
            let further = self.further.get(behind..).unwrap_or_default().iter();
            let further = further.take_while(move |(other, _)| *other == number);
            first.into_iter().chain(further.map(|(_, doc)| *doc))
        })
    }
}

fn place(least: u64, number: u64) -> Option<usize> {
    usize::try_from(number.checked_sub(least)?).ok()
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

        /// Changed documents too, which stand in a segment twice until it is merged, whether they are deleted or not.
        #[test]
        fn it_tells_where_each_company_stands(
            written in proptest::collection::vec(50..90_u64, 1..60),
            deleted in any::<bool>(),
            asked in proptest::collection::vec(prop_oneof![0..150_u64, Just(u64::MAX)], 20),
        ) {
            let mut schema = Schema::builder();
            let field = schema.add_u64_field(COMPANY, FAST | INDEXED);
            let index = Index::create_in_ram(schema.build());
            let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
            let mut expected: HashMap<u64, Vec<DocId>> = HashMap::new();
            for (number, doc) in written.iter().zip(0..) {
                if deleted {
                    writer.delete_term(Term::from_field_u64(field, *number));
                }
                let mut document = TantivyDocument::new();
                document.add_u64(field, *number);
                writer.add_document(document).unwrap();
                expected.entry(*number).or_default().push(doc);
            }
            writer.commit().unwrap();
            let searcher = index.reader().unwrap().searcher();
            let reader = searcher.segment_reader(0);
            let docs = CompanyDocs::read(reader).unwrap();
            prop_assert_eq!(CompanyDocs::bytes(reader).unwrap(), size_of_val(&*docs.docs));
            let mut found: Vec<DocId> = asked.iter().filter_map(|number| expected.get(number)).flatten().copied().collect();
            found.sort_unstable();
            let mut told: Vec<DocId> = docs.of(asked.into_iter()).collect();
            told.sort_unstable();
            prop_assert_eq!(told, found);
            for (number, all) in expected {
                prop_assert!(docs.of(std::iter::once(number)).eq(all));
            }
        }
    }
}
