//! Imports leave searches as much time as they take.
//!
//! Behind the records all is done by threads of lower priority ([`crate::background`]). What Postgres does to write them is
//! not: it has priorities of its own, so two imports beside two searches have half of two processors. So a stream of
//! batches pauses before the next one, for as long as searches were under way while the last one was written. Beside
//! nothing but imports there is no pause; beside searches that never end, an import writes half of the time.
//!
//! What can go wrong:
//! - **Searches stop in the middle of a pause.** It goes on: no longer than the batch before it took.
//! - **A search never ends.** Each has a deadline, and a pause is never longer than its batch took, whatever runs.
//! - **The process is to end, or the caller leaves.** The pause is where the next batch is waited for, and ends as that does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time in which searches are under way. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SearchTime(Arc<Mutex<Clock>>);

/// A search is under way, for as long as this is there.
#[derive(Debug)]
pub struct UnderWay(SearchTime);

/// Counts the time in which at least one is under way.
#[derive(Debug, Default)]
struct Clock {
    searches: usize,
    /// When the first of them began.
    since: Option<Instant>,
    /// Time before that.
    before: Duration,
}

impl SearchTime {
    /// A search begins.
    #[must_use]
    pub fn begin(&self) -> UnderWay {
        self.clock().begin(Instant::now());
        UnderWay(self.clone())
    }

    /// How long there has been at least one search, up to now.
    #[must_use]
    pub fn so_far(&self) -> Duration {
        self.clock().so_far(Instant::now())
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.clock().end(Instant::now());
    }
}

impl Clock {
    fn begin(&mut self, now: Instant) {
        if self.searches == 0 {
            self.since = Some(now);
        }
        self.searches += 1;
    }

    fn end(&mut self, now: Instant) {
        self.searches = self.searches.saturating_sub(1);
        if self.searches == 0 {
            self.before = self.so_far(now);
            self.since = None;
        }
    }

    fn so_far(&self, now: Instant) -> Duration {
        let running = self.since.map(|since| now.saturating_duration_since(since));
        self.before + running.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_once_however_many_searches_are_under_way() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut clock = Clock::default();
        clock.begin(at(10));
        clock.begin(at(12));
        assert_eq!(clock.so_far(at(13)), Duration::from_secs(3));
        clock.end(at(14));
        clock.end(at(15));
        assert_eq!(clock.so_far(at(20)), Duration::from_secs(5));
        clock.begin(at(30));
        assert_eq!(clock.so_far(at(31)), Duration::from_secs(6));
        clock.end(at(32));
        assert_eq!(clock.so_far(at(99)), Duration::from_secs(7));
    }

    #[test]
    fn a_search_is_under_way_until_it_is_dropped() {
        let time = SearchTime::default();
        assert_eq!(time.so_far(), Duration::ZERO);
        let search = time.begin();
        assert_eq!(time.clock().searches, 1);
        drop(search);
        assert_eq!(time.clock().searches, 0);
        assert_eq!(time.so_far(), time.so_far());
    }
}
