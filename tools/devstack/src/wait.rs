//! Waiting for what other processes do: a condition, looked at again and again up to a limit.

use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(20);

/// Waits until the condition gives something. `None` when the limit has passed.
pub(crate) fn wait_for<T>(limit: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = condition() {
            return Some(found);
        }
        if begun.elapsed() >= limit {
            return None;
        }
        pause();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing is signalled when another process gets ready or ends, and no executor runs here"
)]
pub(crate) fn pause() {
    std::thread::sleep(INTERVAL);
}
