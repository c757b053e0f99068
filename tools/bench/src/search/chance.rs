//! Chance that is the same for the same seed, on every machine: each fact of each record draws from a stream of its own,
//! so that any record can be made at any time, by any task, in any order.

/// A stream of draws (`SplitMix64`).
pub(super) struct Chance(u64);

impl Chance {
    /// The stream of one fact of one record.
    pub(super) fn of(seed: u64, fact: &str, record: u64) -> Self {
        let name = fact.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut start = Self(seed ^ name);
        Self(start.next() ^ record.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, each as likely as the others.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        high_half(self.next(), end)
    }

    /// A number below `end`, low ones far more often: the first tenth gets a third of the draws.
    pub(super) fn low_below(&mut self, end: u64) -> u64 {
        let draw = self.next();
        high_half(high_half(draw, draw), end)
    }

    /// A number from `low` (at least 1) to `high`; each doubling is as likely as the others.
    pub(super) fn doubling(&mut self, low: u64, high: u64) -> u64 {
        let doublings = u64::from((high / low).max(1).ilog2());
        let base = low << self.below(doublings + 1);
        (base + self.below(base)).min(high)
    }

    /// True in so many of a hundred cases.
    pub(super) fn percent(&mut self, of_hundred: u64) -> bool {
        self.below(100) < of_hundred
    }

    /// One of them. Must not be empty.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[index(self.below(of.len() as u64))]
    }

    /// One of them, the first ones far more often. Must not be empty.
    pub(super) fn pick_low<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[index(self.low_below(of.len() as u64))]
    }
}

/// The upper 64 bits of the product: scales a draw to a range.
fn high_half(draw: u64, end: u64) -> u64 {
    u64::try_from((u128::from(draw) * u128::from(end)) >> 64).unwrap_or(u64::MAX)
}

/// A number that was drawn for a list in memory.
pub(super) fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_repeat_stay_in_range_and_lean_to_the_low_where_they_should() {
        let draws = |fact, record| {
            let mut chance = Chance::of(1, fact, record);
            (0..4).map(|_| chance.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(draws("a", 1), draws("a", 1));
        assert_ne!(draws("a", 1), draws("b", 1));
        assert_ne!(draws("a", 1), draws("a", 2));
        let mut chance = Chance::of(1, "low", 0);
        let low = (0..10_000).filter(|_| chance.low_below(1_000) < 100).count();
        assert!((2_800..3_500).contains(&low), "{low}");
        assert!((0..1_000).all(|_| (5..=77).contains(&chance.doubling(5, 77))));
    }
}
