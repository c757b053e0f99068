//! When a search has to give up.

use std::cell::Cell;

use crate::plan::Stop;

/// The deadline of a search. Its parts share it: one looks at the clock now and then, all see the outcome.
pub(super) struct Deadline {
    stop: Stop,
    passed: Cell<bool>,
}

impl Deadline {
    pub(super) const fn new(stop: Stop) -> Self {
        Self {
            stop,
            passed: Cell::new(false),
        }
    }

    /// Looks at the clock; whether the deadline has passed.
    pub(super) fn look(&self) -> bool {
        if self.stop.is_due() {
            self.passed.set(true);
        }
        self.passed.get()
    }

    /// Whether it had passed when the clock was last looked at.
    pub(super) const fn passed(&self) -> bool {
        self.passed.get()
    }
}
