//! How far a fault run goes, what it draws its faults from, and how far it has come.

use std::time::{Duration, Instant};

use rand::SeedableRng as _;
use rand::rngs::StdRng;

/// A run of faults in rounds. `./dev test --faults` asks for more rounds than the tests have by themselves, and for a seed.
pub(crate) struct Run {
    subject: &'static str,
    rounds: u64,
    seed: u64,
    begun: Instant,
}

impl Run {
    /// Begins one of so many rounds, unless the environment asks for another number.
    pub(crate) fn begin(subject: &'static str, rounds: u64) -> Self {
        let run = Self {
            subject,
            rounds: setting("DS_TEST__FAULT_ROUNDS", rounds),
            seed: setting("DS_TEST__FAULT_SEED", 1),
            begun: Instant::now(),
        };
        eprintln!("{subject}: {} rounds, seed {}", run.rounds, run.seed);
        run
    }

    /// Its rounds.
    pub(crate) fn rounds(&self) -> std::ops::Range<u64> {
        0..self.rounds
    }

    /// What decides: the same for the same seed.
    pub(crate) fn chance(&self) -> StdRng {
        StdRng::seed_from_u64(self.seed)
    }

    /// Tells that a round is over, what was done in it, and how long the others will take.
    pub(crate) fn tell(&self, round: u64, what: &str) {
        let (done, took) = (round + 1, self.begun.elapsed());
        let left = took.as_secs_f64() / as_f64(done) * as_f64(self.rounds - done);
        let minute = Duration::from_secs_f64(left).as_secs() / 60;
        eprintln!(
            "{}: round {done} of {} after {:.1} s, {:.2} s each, {minute} min {:02.0} s left: {what}",
            self.subject,
            self.rounds,
            took.as_secs_f64(),
            took.as_secs_f64() / as_f64(done),
            left % 60.0,
        );
    }

    /// So many in all, how many a second.
    pub(crate) fn a_second(&self, all: u64) -> f64 {
        as_f64(all) / self.seconds()
    }

    /// Time since it began.
    pub(crate) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

fn as_f64(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a run is to be is told by the environment"
)]
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}
