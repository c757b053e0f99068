//! Time and randomness, from one source that is handed around: the system's in production, a set one in tests.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

/// Where time and randomness come from. Cheap to clone; clones of a fixed one share its clock.
#[derive(Clone, Debug)]
pub struct Ambient(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Fixed(Arc<Mutex<Fixed>>),
}

#[derive(Debug)]
struct Fixed {
    now: DateTime<Utc>,
    state: u64,
}

impl Ambient {
    /// The system's clock and random source.
    #[must_use]
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands at `now` until it is moved, and a reproducible sequence of bytes that are random enough
    /// to be different, not to be secret. For tests.
    #[must_use]
    pub fn fixed(now: DateTime<Utc>, seed: u64) -> Self {
        Self(Source::Fixed(Arc::new(Mutex::new(Fixed { now, state: seed }))))
    }

    /// The time.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one source of time")]
    pub fn now(&self) -> DateTime<Utc> {
        match &self.0 {
            Source::System => Utc::now(),
            Source::Fixed(fixed) => fixed.lock().unwrap_or_else(PoisonError::into_inner).now,
        }
    }

    /// Moves a fixed clock.
    ///
    /// # Panics
    /// On the system's clock: nobody can move that.
    pub fn advance(&self, by: TimeDelta) {
        match &self.0 {
            Source::System => panic!("the system's clock can't be moved"),
            Source::Fixed(fixed) => fixed.lock().unwrap_or_else(PoisonError::into_inner).now += by,
        }
    }

    /// Fills the buffer with random bytes: the system's are fit for secrets.
    ///
    /// # Panics
    /// If the system has no randomness to give; nothing secret can be made then.
    pub fn fill(&self, buffer: &mut [u8]) {
        match &self.0 {
            Source::System => getrandom::fill(buffer).expect("the system's random source answers"),
            Source::Fixed(fixed) => {
                let mut fixed = fixed.lock().unwrap_or_else(PoisonError::into_inner);
                for chunk in buffer.chunks_mut(8) {
                    chunk.copy_from_slice(&fixed.next().to_le_bytes()[..chunk.len()]);
                }
            }
        }
    }

    /// A new UUIDv7: ordered by time, random within a millisecond.
    #[must_use]
    pub fn uuid_v7(&self) -> Uuid {
        let mut random = [0; 10];
        self.fill(&mut random);
        let millis = u64::try_from(self.now().timestamp_millis()).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }
}

impl Fixed {
    /// `SplitMix64`: each state gives another value.
    const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_source_is_reproducible_and_moves_when_told() {
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let (one, two) = (Ambient::fixed(start, 7), Ambient::fixed(start, 7));
        let ids = [one.uuid_v7(), one.uuid_v7()];
        assert_eq!(ids, [two.uuid_v7(), two.uuid_v7()]);
        assert_ne!(ids[0], ids[1]);
        one.clone().advance(TimeDelta::seconds(5));
        assert_eq!(one.now(), start + TimeDelta::seconds(5));
    }

    #[test]
    fn ids_of_the_system_are_version_7_and_differ() {
        let ambient = Ambient::system();
        let (one, two) = (ambient.uuid_v7(), ambient.uuid_v7());
        assert_eq!(one.get_version_num(), 7);
        assert_ne!(one, two);
    }
}
