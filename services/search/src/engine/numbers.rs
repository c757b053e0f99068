//! Numbers of companies: sets of them, and the scores of companies by them.
//!
//! Numbers are given one after the other, so a set is one of bits, and of few the numbers themselves.

use tantivy::columnar::Column;
use tantivy::index::SegmentReader;
use tantivy::{DocId, Searcher};

use super::schema::COMPANY;
use super::window::ones;

/// Companies that are remembered one by one, to be looked up as terms.
const FEW: usize = 4096;

/// To look a company's number up in a segment costs what so many of its documents do, one after the other.
const DOCS_A_LOOK: u64 = 300;

/// And so many here and there.
const SINGLE_DOCS_A_LOOK: u64 = 30;

/// Numbers of companies.
pub(super) struct Numbers {
    bits: Vec<u64>,
    /// All of them, if they are at most [`FEW`]; in their order once [`Numbers::finish`] was called, since to look them up in
    /// it spares memory's latency.
    few: Vec<u64>,
    count: u64,
}

/// Scores of companies, by their numbers.
pub(super) enum Scores {
    /// In the order of the numbers.
    Few(Vec<(u64, u64)>),
    /// At the place that is the number.
    Many(Vec<u64>),
}

/// The column of companies' numbers; 0 where there is none.
pub(super) fn column(reader: &SegmentReader) -> tantivy::Result<Column<u64>> {
    reader.fast_fields().u64(COMPANY)
}

/// The number of a document's company.
pub(super) fn number(column: &Column<u64>, doc: DocId) -> u64 {
    column.first(doc).unwrap_or_default()
}

impl Numbers {
    /// None, with room for those of these companies.
    pub(super) fn with_room(companies: &Searcher) -> tantivy::Result<Self> {
        let mut last = 0;
        for reader in companies.segment_readers() {
            last = last.max(column(reader)?.max_value());
        }
        Ok(Self::up_to(last))
    }

    fn up_to(last: u64) -> Self {
        Self {
            bits: vec![0; usize::try_from(last / 64 + 1).unwrap_or_default()],
            few: Vec::new(),
            count: 0,
        }
    }

    /// Adds a number. One that there is no room for is that of no company.
    pub(super) fn add(&mut self, number: u64) {
        // Nobody works at a company without a number.
        if number == 0 {
            return;
        }
        let word = usize::try_from(number / 64).ok();
        let Some(word) = word.and_then(|word| self.bits.get_mut(word)) else {
            return;
        };
        let bit = 1 << (number % 64);
        if *word & bit != 0 {
            return;
        }
        *word |= bit;
        self.count += 1;
        match self.few.len() {
            FEW => self.few = Vec::new(),
            _ if self.count <= FEW as u64 => self.few.push(number),
            _ => {}
        }
    }

    /// To be called when all have been added.
    pub(super) fn finish(&mut self) {
        self.few.sort_unstable();
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        let word = usize::try_from(number / 64).ok();
        let word = word.and_then(|word| self.bits.get(word)).copied();
        word.unwrap_or_default() >> (number % 64) & 1 == 1
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many they are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The numbers, ascending once [`Numbers::finish`] was called.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let is_few = self.count <= FEW as u64;
        let bits = if is_few { &[][..] } else { &self.bits };
        let words = bits.iter().zip((0..).step_by(64));
        let many = words.flat_map(|(word, base)| ones(*word).map(move |bit| base + u64::from(bit)));
        self.few.iter().copied().chain(many)
    }

    /// The numbers, if looking for each of them costs less than to read the numbers of all of a segment's documents, of
    /// which so many come into question.
    pub(super) fn to_look_up(&self, max_doc: DocId, docs: u64) -> Option<&[u64]> {
        let is_less = self.count <= FEW as u64
            && self.count * DOCS_A_LOOK < u64::from(max_doc)
            && self.count * SINGLE_DOCS_A_LOOK < docs;
        is_less.then_some(&self.few)
    }
}

impl Scores {
    /// Adds the score of a company that is among these by now.
    pub(super) fn add(&mut self, number: u64, score: u64, numbers: &Numbers) {
        match self {
            Self::Few(few) if few.len() < FEW => few.push((number, score)),
            Self::Few(few) => {
                let mut many = vec![0; numbers.bits.len() * 64];
                for (number, score) in few.drain(..).chain([(number, score)]) {
                    set(&mut many, number, score);
                }
                *self = Self::Many(many);
            }
            Self::Many(many) => set(many, number, score),
        }
    }

    pub(super) fn finish(&mut self) {
        if let Self::Few(few) = self {
            few.sort_unstable();
        }
    }

    pub(super) fn of(&self, number: u64) -> u64 {
        let found = match self {
            Self::Few(few) => {
                let found = few.binary_search_by_key(&number, |(number, _)| *number);
                found.ok().map(|index| few[index].1)
            }
            Self::Many(many) => usize::try_from(number)
                .ok()
                .and_then(|index| many.get(index).copied()),
        };
        found.unwrap_or_default()
    }
}

/// Puts a value at the place that is the number, if there is one.
fn set(values: &mut [u64], number: u64, value: u64) {
    let place = usize::try_from(number).ok();
    if let Some(place) = place.and_then(|place| values.get_mut(place)) {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_added() {
        let mut numbers = Numbers::up_to(1_000_000);
        assert!(numbers.is_empty() && !numbers.contains(0) && !numbers.contains(u64::MAX));
        for number in [0, 1, 63, 64, 1_000_000, 1, u64::MAX] {
            numbers.add(number);
        }
        numbers.finish();
        assert_eq!(numbers.count, 4);
        assert!(numbers.iter().eq([1, 63, 64, 1_000_000]));
        assert!(
            [1, 63, 64, 1_000_000]
                .into_iter()
                .all(|number| numbers.contains(number))
        );
        assert!(
            [0, 2, 65, 1_000_001, u64::MAX]
                .into_iter()
                .all(|number| !numbers.contains(number))
        );
        assert_eq!(
            numbers.to_look_up(DocId::MAX, u64::MAX),
            Some(&[1, 63, 64, 1_000_000][..])
        );
        assert_eq!(numbers.to_look_up(10, u64::MAX), None);
        assert_eq!(numbers.to_look_up(DocId::MAX, 4), None);
        (100..).take(FEW).for_each(|number| numbers.add(number));
        assert_eq!(numbers.to_look_up(DocId::MAX, u64::MAX), None);
        assert!(numbers.iter().is_sorted() && numbers.iter().count() as u64 == numbers.count);
    }

    #[test]
    fn few_scores_and_many_are_found() {
        for count in [0, 1, 2, FEW, FEW + 1, 3 * FEW] {
            let count = count as u64;
            let mut numbers = Numbers::up_to(10 * FEW as u64);
            let mut scores = Scores::Few(Vec::new());
            for number in (1..=count).rev() {
                numbers.add(3 * number);
                scores.add(3 * number, number, &numbers);
            }
            scores.finish();
            assert_eq!(matches!(scores, Scores::Many(_)), count > FEW as u64);
            assert!((1..=count).all(|number| scores.of(3 * number) == number));
            assert_eq!(
                [0, 1, 3 * count + 3, u64::MAX].map(|number| scores.of(number)),
                [0; 4]
            );
        }
    }
}
