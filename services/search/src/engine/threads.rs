//! The threads that searches run on.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Most threads that work on one search.
const MOST: usize = 4;

/// How many threads there are for searches, and how many of them are in use.
#[derive(Debug)]
pub(super) struct Threads {
    all: usize,
    used: AtomicUsize,
    /// From so many looks at documents on, and in segments of so many, a search is worth a thread more.
    worth_more: u64,
}

/// A thread in use, until it is dropped.
#[derive(Debug)]
pub(super) struct Used<'a>(&'a Threads);

impl Threads {
    pub(super) const fn new(all: usize, worth_more: u64) -> Self {
        Self {
            all,
            used: AtomicUsize::new(0),
            worth_more,
        }
    }

    pub(super) const fn worth_more(&self) -> u64 {
        self.worth_more
    }

    /// The thread that a search comes with. Whether it had to wait for one was decided before.
    pub(super) fn come(&self) -> Used<'_> {
        self.used.fetch_add(1, Ordering::Relaxed);
        Used(self)
    }

    /// Threads that a search of so many looks at documents may have besides its own: only those that no other search
    /// has now. One that comes a moment later begins all the same, and shares the processors.
    pub(super) fn more(&self, looks: u64) -> Vec<Used<'_>> {
        if looks < self.worth_more {
            return Vec::new();
        }
        let one_more = |used: usize| (used < self.all).then_some(used + 1);
        let take = || {
            let taken = self
                .used
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
            taken.is_ok().then(|| Used(self))
        };
        std::iter::from_fn(take).take(MOST - 1).collect()
    }
}

impl Drop for Used<'_> {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_has_more_threads_while_they_are_free_and_it_is_worth_them() {
        let threads = Threads::new(3, 100);
        let one = threads.come();
        assert!(threads.more(99).is_empty());
        assert_eq!(threads.more(100).len(), 2);
        let two = threads.come();
        let more = threads.more(100);
        assert_eq!(more.len(), 1);
        assert!(threads.more(100).is_empty());
        // Nobody waits because of them.
        let three = threads.come();
        drop(more);
        assert!(threads.more(100).is_empty());
        drop((one, two, three));
        assert_eq!(threads.more(u64::MAX).len(), 3);
        assert_eq!(Threads::new(64, 0).more(0).len(), MOST - 1);
    }
}
