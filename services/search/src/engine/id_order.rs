//! Roughly where documents stand by their ids.
//!
//! Many documents have the same score, and of those the first by their ids are wanted. An id is sixteen bytes in two columns:
//! to compare those of thirty thousand documents from all over a large segment is to wait for memory as often. So for each
//! document there is a byte that tells in which of 256 ranges its id is, of about as many ids each; only where two are in the
//! same one, the ids are read. Ids begin with the time, so that their own first bytes would tell little.

use std::cmp::Ordering;

use tantivy::DocId;
use tantivy::index::SegmentReader;

use super::bits::Bits;
use super::ids::ID_HIGH;
use super::window::Window;

/// Ids of which the ranges are told, all over the segment.
const SAMPLE: usize = 1 << 14;

/// Ids that are read at once.
const READ: u32 = 4096;

/// Ranges before which documents stand that are kept as sets too: to leave away what is far behind, a word at a time.
const FIRST: [u8; 3] = [2, 8, 32];

/// In which range of ids each document of a segment is.
#[derive(Debug)]
pub(super) struct IdOrder {
    /// Upper halves of the ids with which the ranges behind the first one begin, ascending.
    begins: Vec<u64>,
    ranges: Vec<u8>,
    /// The documents before each range of [`FIRST`].
    first: [Bits; FIRST.len()],
}

impl IdOrder {
    /// Reads all ids of the segment: some ten milliseconds for a million.
    pub(super) fn read(reader: &SegmentReader) -> tantivy::Result<Self> {
        let column = reader.fast_fields().u64(ID_HIGH)?;
        let max_doc = reader.max_doc();
        let step = (max_doc as usize / SAMPLE).max(1);
        let mut sample: Vec<u64> = (0..max_doc)
            .step_by(step)
            .filter_map(|doc| column.first(doc))
            .collect();
        sample.sort_unstable();
        let begins = (1..=usize::from(u8::MAX)).filter_map(|range| {
            let place = range * sample.len() / (usize::from(u8::MAX) + 1);
            sample.get(place).copied()
        });
        let mut order = Self {
            begins: begins.collect(),
            ranges: Vec::with_capacity(max_doc as usize),
            first: FIRST.map(|_| Bits::none(max_doc)),
        };
        let mut read = Vec::new();
        for start in (0..max_doc).step_by(READ as usize) {
            // Every document has an id: its place among the values is its own.
            read.resize(READ.min(max_doc - start) as usize, 0);
            column.values.get_range(u64::from(start), &mut read);
            let ranges = read.iter().map(|high| range(&order.begins, *high));
            order.ranges.extend(ranges);
        }
        for (doc, range) in (0..).zip(&order.ranges) {
            for (first, docs) in FIRST.iter().zip(&mut order.first) {
                if range < first {
                    docs.insert(doc);
                }
            }
        }
        Ok(order)
    }

    /// The range of an id.
    pub(super) fn range(&self, id: u128) -> u8 {
        // The upper half of a u128 fits.
        range(&self.begins, u64::try_from(id >> 64).unwrap_or(u64::MAX))
    }

    /// Whether the document's id is before or behind those of the range; equal if it is one of them.
    pub(super) fn compare(&self, doc: DocId, range: u8) -> Ordering {
        let own = self.ranges.get(doc as usize);
        own.map_or(Ordering::Equal, |own| own.cmp(&range))
    }

    /// Leaves of the window those documents whose ids are of the range, or of one before it.
    pub(super) fn narrow(&self, window: &mut Window, range: u8) {
        let mut sets = FIRST.iter().zip(&self.first);
        if let Some((_, first)) = sets.find(|(first, _)| range < **first) {
            first.narrow(window);
        }
        window.retain(|doc| self.compare(doc, range).is_le());
    }

    /// Bytes of memory that it takes for this segment.
    pub(super) fn bytes(reader: &SegmentReader) -> usize {
        let docs = reader.max_doc() as usize;
        docs + FIRST.len() * docs.div_ceil(8)
    }
}

/// The range of an id with this upper half.
fn range(begins: &[u64], high: u64) -> u8 {
    let range = begins.partition_point(|begin| *begin <= high);
    u8::try_from(range).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tantivy::schema::{FAST, Schema};
    use tantivy::{Index, TantivyDocument};

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20) })]

        #[test]
        fn what_it_tells_is_so(
            highs in proptest::collection::vec(prop_oneof![any::<u64>(), 0..40_u64, Just(u64::MAX)], 1..1_000),
            others in proptest::collection::vec(any::<u64>(), 10),
        ) {
            let mut schema = Schema::builder();
            let field = schema.add_u64_field(ID_HIGH, FAST);
            let index = Index::create_in_ram(schema.build());
            let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
            for high in &highs {
                let mut document = TantivyDocument::new();
                document.add_u64(field, *high);
                writer.add_document(document).unwrap();
            }
            writer.commit().unwrap();
            let searcher = index.reader().unwrap().searcher();
            let order = IdOrder::read(searcher.segment_reader(0)).unwrap();
            for range in [0, 1, 2, 7, 8, 40, 255] {
                let mut window = Window::around(0);
                (0..).zip(&highs).for_each(|(doc, _)| window.insert(doc));
                order.narrow(&mut window, range);
                for doc in (0..).take(highs.len()) {
                    prop_assert_eq!(window.contains(doc), order.compare(doc, range).is_le());
                }
            }
            for (high, doc) in highs.iter().zip(0..) {
                for other in highs.iter().chain(&others) {
                    let told = order.compare(doc, order.range(u128::from(*other) << 64 | 5));
                    prop_assert!(told == Ordering::Equal || told == high.cmp(other));
                }
            }
        }
    }

    #[test]
    fn of_many_ids_it_tells_almost_all() {
        let begins: Vec<u64> = (1..256).map(|begin| begin * 1_000).collect();
        let told = (0..256_000_u64)
            .filter(|high| range(&begins, *high) != range(&begins, 77_500))
            .count();
        assert_eq!(told, 255_000);
    }
}
