//! Telling what is being done, with the time since the start: nothing that takes long is silent.

use std::time::Instant;

pub(super) struct Steps {
    begun: Instant,
}

impl Steps {
    pub(super) fn begin() -> Self {
        Self {
            begun: Instant::now(),
        }
    }

    pub(super) fn tell(&self, what: &str) {
        eprintln!("dev: [{:6.1} s] {what}", self.begun.elapsed().as_secs_f64());
    }
}
