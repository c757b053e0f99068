//! A bit set over documents in a row.

use std::ops::Range;

use tantivy::DocId;

/// Documents in a window.
pub(super) const WINDOW: u32 = 4096;

/// Bits of a word.
pub(super) const BITS: u32 = 64;
/// Words of a window.
pub(super) const WORDS: usize = (WINDOW / BITS) as usize;

/// So many words in use are looked at one by one; more, with the others, several at once.
const FEW_WORDS: u32 = 24;

/// Some of the documents from `base` to `base + WINDOW`.
///
/// Most windows of what is selective have a few documents; what is done with them looks at their words alone.
#[derive(Clone)]
pub(super) struct Window {
    pub(super) base: DocId,
    words: [u64; WORDS],
    /// A bit for each word, zero only if the word is.
    used: u64,
}

impl Window {
    /// The window that holds `doc`, empty.
    pub(super) const fn around(doc: DocId) -> Self {
        Self {
            base: doc - doc % WINDOW,
            words: [0; WORDS],
            used: 0,
        }
    }

    /// The same window, empty.
    pub(super) const fn emptied(&self) -> Self {
        Self::around(self.base)
    }

    /// First document behind the window.
    pub(super) const fn end(&self) -> DocId {
        self.base + WINDOW
    }

    /// Place of a document of this window in arrays of [`WINDOW`] entries.
    pub(super) const fn offset(&self, doc: DocId) -> usize {
        (doc - self.base) as usize
    }

    pub(super) const fn insert(&mut self, doc: DocId) {
        let offset = doc - self.base;
        let word = offset / BITS;
        self.words[word as usize] |= 1 << (offset % BITS);
        self.used |= 1 << word;
    }

    pub(super) const fn contains(&self, doc: DocId) -> bool {
        let offset = doc - self.base;
        self.words[(offset / BITS) as usize] >> (offset % BITS) & 1 == 1
    }

    /// Adds the documents of the range that are in the window.
    pub(super) fn insert_range(&mut self, range: &Range<DocId>) {
        let start = range.start.clamp(self.base, self.end()) - self.base;
        let end = range.end.clamp(self.base, self.end()) - self.base;
        for (word, low) in self.words.iter_mut().zip((0..WINDOW).step_by(BITS as usize)) {
            *word |= ones_below(end.saturating_sub(low)) & !ones_below(start.saturating_sub(low));
        }
        self.used |= ones_below(end.div_ceil(BITS)) & !ones_below(start / BITS);
    }

    pub(super) fn clear(&mut self) {
        *self = self.emptied();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_use().all(|place| self.words[place as usize] == 0)
    }

    pub(super) fn count(&self) -> u32 {
        if self.is_sparse() {
            self.in_use()
                .map(|place| self.words[place as usize].count_ones())
                .sum()
        } else {
            self.words.iter().map(|word| word.count_ones()).sum()
        }
    }

    /// The words, those with the lowest documents first.
    pub(super) const fn words(&self) -> &[u64; WORDS] {
        &self.words
    }

    /// Adds the documents of words like [`Window::words`]; of the last ones there may be none.
    pub(super) fn add_words(&mut self, others: &[u64]) {
        for (place, (word, other)) in self.words.iter_mut().zip(others).enumerate() {
            *word |= other;
            self.used |= u64::from(*other != 0) << place;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.used |= other.used;
        if other.is_sparse() {
            for place in other.in_use() {
                self.words[place as usize] |= other.words[place as usize];
            }
        } else {
            for (word, other) in self.words.iter_mut().zip(&other.words) {
                *word |= other;
            }
        }
    }

    /// Leaves those documents that are in words like [`Window::words`] too; of the last ones there may be none.
    pub(super) fn intersect_words(&mut self, others: &[u64]) {
        if self.is_sparse() {
            for place in self.in_use() {
                self.intersect_word(place, others.get(place as usize).copied().unwrap_or_default());
            }
        } else {
            let others = others.iter().copied().chain(std::iter::repeat(0));
            for (word, other) in self.words.iter_mut().zip(others) {
                *word &= other;
            }
        }
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        self.intersect_words(&other.words);
        self.used &= other.used;
    }

    fn intersect_word(&mut self, place: u32, other: u64) {
        let word = &mut self.words[place as usize];
        *word &= other;
        self.used &= !(u64::from(*word == 0) << place);
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        if self.is_sparse() || other.is_sparse() {
            for place in ones(self.used & other.used) {
                self.intersect_word(place, !other.words[place as usize]);
            }
        } else {
            for (word, other) in self.words.iter_mut().zip(&other.words) {
                *word &= !other;
            }
        }
    }

    /// Keeps the documents for which `keep` holds, asking in ascending order.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(DocId) -> bool) {
        for place in self.in_use() {
            let mut rest = self.words[place as usize];
            let base = self.first_of(place);
            let mut kept = rest;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                if !keep(base + bit) {
                    kept &= !(1 << bit);
                }
            }
            self.intersect_word(place, kept);
        }
    }

    /// Keeps the documents for which `keep` holds, asked with their places in arrays of [`WINDOW`] entries.
    pub(super) fn retain_by(&mut self, mut keep: impl FnMut(usize, DocId) -> bool) {
        let base = self.base;
        self.retain(|doc| keep((doc - base) as usize, doc));
    }

    /// The documents, ascending.
    pub(super) fn docs(&self) -> impl Iterator<Item = DocId> + '_ {
        self.in_use().flat_map(|place| {
            let base = self.first_of(place);
            ones(self.words[place as usize]).map(move |bit| base + bit)
        })
    }

    /// The first document of the word at this place.
    const fn first_of(&self, place: u32) -> DocId {
        self.base + place * BITS
    }

    const fn is_sparse(&self) -> bool {
        self.used.count_ones() <= FEW_WORDS
    }

    /// The places of the words in use, as they are now.
    fn in_use(&self) -> impl Iterator<Item = u32> + use<> {
        ones(self.used)
    }
}

/// The places of a word's ones, ascending.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(place)
    })
}

/// The lowest `bits` bits of a word.
pub(super) const fn ones_below(bits: u32) -> u64 {
    if bits >= BITS { u64::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const BASE: DocId = 3 * WINDOW;

    /// A few documents, or many.
    fn some() -> impl Strategy<Value = BTreeSet<DocId>> {
        let few = vec(BASE..BASE + WINDOW, 0..30).prop_map(BTreeSet::from_iter);
        let many = (1..150_usize).prop_map(|step| (BASE..BASE + WINDOW).step_by(step).collect());
        prop_oneof![few, many]
    }

    fn window(docs: &BTreeSet<DocId>) -> Window {
        let mut window = Window::around(BASE);
        for doc in docs {
            window.insert(*doc);
        }
        window
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn windows_are_sets(steps in vec((0..8_u8, some()), 1..30)) {
            let mut own = Window::around(BASE);
            let mut expected = BTreeSet::new();
            for (step, docs) in steps {
                let other = window(&docs);
                // Words at the end of a segment are not there.
                let words = &other.words()[..usize::from(step).min(4) * 16];
                let in_words: BTreeSet<DocId> =
                    docs.iter().copied().filter(|doc| doc - BASE < u32::from(step.min(4)) * 1024).collect();
                match step {
                    0 => {
                        own.clear();
                        expected.clear();
                    }
                    1 => {
                        own.add_words(words);
                        expected.extend(&in_words);
                    }
                    2 => {
                        own.intersect_words(words);
                        expected = &expected & &in_words;
                    }
                    3 => {
                        own.retain(|doc| other.contains(doc));
                        expected = &expected & &docs;
                    }
                    4 => {
                        own.intersect(&other);
                        expected = &expected & &docs;
                    }
                    5 => {
                        own.subtract(&other);
                        expected = &expected - &docs;
                    }
                    _ => {
                        own.add(&other);
                        expected.extend(&docs);
                    }
                }
                prop_assert!(own.docs().eq(expected.iter().copied()));
                prop_assert_eq!(own.count() as usize, expected.len());
                prop_assert_eq!(own.is_empty(), expected.is_empty());
            }
        }
    }

    fn docs(window: &Window) -> Vec<DocId> {
        window.docs().collect()
    }

    #[test]
    fn documents_go_in_and_out() {
        let mut window = Window::around(WINDOW + 5);
        assert!(window.is_empty());
        for doc in [WINDOW, WINDOW + 63, WINDOW + 64, 2 * WINDOW - 1] {
            window.insert(doc);
        }
        assert_eq!(docs(&window), [WINDOW, WINDOW + 63, WINDOW + 64, 2 * WINDOW - 1]);
        window.retain(|doc| doc % 2 == 1);
        assert_eq!(docs(&window), [WINDOW + 63, 2 * WINDOW - 1]);
        assert!(window.contains(WINDOW + 63) && !window.contains(WINDOW + 64));
        let mut other = window.emptied();
        other.insert(WINDOW + 63);
        window.subtract(&other);
        assert_eq!(docs(&window), [2 * WINDOW - 1]);
        window.add(&other);
        assert_eq!(window.count(), 2);
        window.intersect(&other);
        assert_eq!(docs(&window), [WINDOW + 63]);
    }

    #[test]
    fn of_a_range_what_is_in_the_window_goes_in() {
        for (range, count) in [
            (0..WINDOW, 0),
            (0..WINDOW + 1, 1),
            (WINDOW..WINDOW, 0),
            (WINDOW + 1..WINDOW + 64, 63),
            (WINDOW + 64..WINDOW + 129, 65),
            (WINDOW + 9..9 * WINDOW, WINDOW - 9),
            (2 * WINDOW..3 * WINDOW, 0),
        ] {
            let mut window = Window::around(WINDOW);
            window.insert_range(&range);
            assert_eq!(window.count(), count, "{range:?}");
            assert!(docs(&window).iter().all(|doc| range.contains(doc)), "{range:?}");
        }
    }
}
