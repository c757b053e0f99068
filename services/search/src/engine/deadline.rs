//! When a search has to give up.

use std::cell::Cell;
use std::time::Instant;

/// The deadline of a search. Its parts share it: one looks at the clock now and then, all see the outcome.
pub(super) struct Deadline {
    at: Option<Instant>,
    passed: Cell<bool>,
}

impl Deadline {
    pub(super) const fn new(at: Option<Instant>) -> Self {
        Self {
            at,
            passed: Cell::new(false),
        }
    }

    /// Looks at the clock; whether the deadline has passed.
    pub(super) fn look(&self) -> bool {
        if self.at.is_some_and(|at| Instant::now() >= at) {
            self.passed.set(true);
        }
        self.passed.get()
    }

    /// Whether it had passed when the clock was last looked at.
    pub(super) const fn passed(&self) -> bool {
        self.passed.get()
    }
}
