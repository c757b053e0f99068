//! Waiting for what comes by itself.

use std::thread;
use std::time::{Duration, Instant};

/// Longest wait; far beyond what is promised, since tests hold no time.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Between two looks, so that what is waited for has the processors.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks until it holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    until_some(what, || holds().then_some(()));
}

/// Looks until there is something, and returns it.
pub fn until_some<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::park_timeout(PAUSE);
    }
}
