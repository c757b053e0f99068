//! When a search has to give up.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::plan::Stop;

/// The deadline of a search. Its parts share it: one looks at the clock now and then, all see the outcome.
pub(super) struct Deadline {
    stop: Stop,
    passed: AtomicBool,
}

impl Deadline {
    pub(super) const fn new(stop: Stop) -> Self {
        Self {
            stop,
            passed: AtomicBool::new(false),
        }
    }

    /// Looks at the clock; whether the deadline has passed.
    pub(super) fn look(&self) -> bool {
        if self.stop.is_due() {
            self.passed.store(true, Ordering::Relaxed);
        }
        self.passed.load(Ordering::Relaxed)
    }

    /// Whether it had passed when the clock was last looked at.
    pub(super) fn passed(&self) -> bool {
        self.passed.load(Ordering::Relaxed)
    }
}
