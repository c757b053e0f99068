//! Progress of long steps, on standard error: how far, how fast, how long still.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(5);

/// A step of known length. Many tasks may count on it.
pub(super) struct Progress {
    what: String,
    total: u64,
    done: AtomicU64,
    begun: Instant,
    told: Mutex<Instant>,
}

impl Progress {
    /// A step of so many things.
    pub(super) fn new(what: &str, total: u64) -> Self {
        tell(&format!("{what} ..."));
        let now = Instant::now();
        Self {
            what: what.to_owned(),
            total,
            done: AtomicU64::new(0),
            begun: now,
            told: Mutex::new(now),
        }
    }

    /// So many more are done.
    pub(super) fn add(&self, count: u64) {
        let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
        self.look(done);
    }

    /// So many are done in all.
    pub(super) fn set(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.look(done);
    }

    /// Time since it began.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn look(&self, done: u64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.elapsed() < INTERVAL {
            return;
        }
        *told = Instant::now();
        let rate = per_second(done, self.begun.elapsed());
        let left = self.total.saturating_sub(done);
        #[expect(clippy::cast_precision_loss, reason = "the time left is shown in seconds")]
        let left = left as f64 / rate.max(0.001);
        tell(&format!(
            "{}: {done} of {}, {rate:.0}/s, {left:.0} s left",
            self.what, self.total
        ));
    }
}

/// So many a second.
#[expect(clippy::cast_precision_loss, reason = "a rate is shown with few digits")]
pub(super) fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}

/// Says something beside the results.
pub(super) fn tell(text: &str) {
    eprintln!("bench: {text}");
}
