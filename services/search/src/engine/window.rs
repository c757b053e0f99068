//! A bit set over documents in a row.

use std::ops::Range;

use tantivy::DocId;

/// Documents in a window.
pub(super) const WINDOW: u32 = 4096;

/// Bits of a word.
pub(super) const BITS: u32 = 64;
/// Words of a window.
pub(super) const WORDS: usize = (WINDOW / BITS) as usize;

/// Some of the documents from `base` to `base + WINDOW`.
#[derive(Clone)]
pub(super) struct Window {
    pub(super) base: DocId,
    pub(super) words: [u64; WORDS],
}

impl Window {
    /// The window that holds `doc`, empty.
    pub(super) const fn around(doc: DocId) -> Self {
        Self {
            base: doc - doc % WINDOW,
            words: [0; WORDS],
        }
    }

    /// The same window, empty.
    pub(super) const fn emptied(&self) -> Self {
        Self {
            base: self.base,
            words: [0; WORDS],
        }
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
        self.words[(offset / BITS) as usize] |= 1 << (offset % BITS);
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
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub(super) fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Keeps the documents for which `keep` holds, asking in ascending order.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(DocId) -> bool) {
        let mut base = self.base;
        for word in &mut self.words {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                if !keep(base + bit) {
                    *word &= !(1 << bit);
                }
            }
            base += BITS;
        }
    }

    /// Keeps the documents for which `keep` holds, asked with their places in arrays of [`WINDOW`] entries.
    pub(super) fn retain_by(&mut self, mut keep: impl FnMut(usize, DocId) -> bool) {
        let base = self.base;
        self.retain(|doc| keep((doc - base) as usize, doc));
    }

    /// The documents, ascending.
    pub(super) fn docs(&self) -> impl Iterator<Item = DocId> + '_ {
        self.words
            .iter()
            .zip((self.base..).step_by(BITS as usize))
            .flat_map(|(word, base)| ones(*word).map(move |bit| base + bit))
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
    use super::*;

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
