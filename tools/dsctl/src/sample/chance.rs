//! Chance that is the same for the same seed, on every machine.
//!
//! Each fact draws from a stream of its own, named by the seed, the fact and the record. So a fact that is known
//! already, or a record more or less, moves no other draw. Only whole numbers are drawn: floating point differs
//! between machines.

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

/// A stream of draws.
pub(super) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The stream of one fact of one record.
    pub(super) fn of(seed: u64, fact: &str, record: &str) -> Self {
        let name = [&seed.to_le_bytes(), fact.as_bytes(), b"\0", record.as_bytes()];
        Self(Xoshiro256PlusPlus::seed_from_u64(fnv1a(&name)))
    }

    /// True in so many of a hundred cases.
    pub(super) fn percent(&mut self, of_hundred: u32) -> bool {
        self.0.random_ratio(of_hundred, 100)
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        self.0.random_range(low..=high)
    }

    /// A number from `low` (at least 1) to `high`; each doubling is as likely as the others, so small ones abound.
    pub(super) fn skewed(&mut self, low: u32, high: u32) -> u32 {
        let doublings = (high / low).max(1).ilog2();
        let base = low << self.between(0, doublings);
        self.between(base, base.saturating_mul(2) - 1).min(high)
    }

    /// One of them; none only of nothing.
    pub(super) fn choose<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.choose(&mut self.0)
    }

    /// One of a list that can't be empty.
    pub(super) fn pick<T: Copy, const N: usize>(&mut self, of: &[T; N]) -> T {
        const { assert!(N > 0, "there is something to pick") };
        of[self.0.random_range(0..N)]
    }

    /// The generator itself, for the fake-data crate.
    pub(super) const fn generator(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.0
    }
}

/// FNV-1a, 64 bit: enough to tell names apart, and the same for ever. (Seeding mixes it further.)
fn fnv1a(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_names_give_the_same_draws_and_others_do_not() {
        let draws = |seed, fact, record| {
            let mut chance = Chance::of(seed, fact, record);
            (0..8).map(|_| chance.between(0, 1_000_000)).collect::<Vec<_>>()
        };
        let first = draws(1, "phone", "a");
        assert_eq!(first, draws(1, "phone", "a"));
        assert_ne!(first, draws(2, "phone", "a"));
        assert_ne!(first, draws(1, "email", "a"));
        assert_ne!(first, draws(1, "phone", "b"));
    }

    #[test]
    fn skewed_draws_stay_within_their_bounds() {
        let mut chance = Chance::of(1, "skewed", "");
        for _ in 0..10_000 {
            assert!((20..=1_000).contains(&chance.skewed(20, 1_000)));
            assert_eq!(chance.skewed(7, 7), 7);
        }
    }
}
