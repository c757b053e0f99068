//! Faults at random: parts that are killed or paused, alone or together, for how long. What a round does is drawn from
//! the seed alone; when it does it is told in answers, not in time, so that it meets the same traffic on any machine.

use std::fmt;
use std::time::Duration;

use devstack::{Part, Service, Stack};
use rand::rngs::StdRng;
use rand::seq::{SliceRandom as _, index};
use rand::{RngExt as _, SeedableRng as _};

/// What befalls a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `kill -9`, and started again afterwards.
    Kill,
    /// `SIGSTOP`, and `SIGCONT` afterwards: it keeps its connections and answers nothing.
    Pause,
}

/// Parts that are away at once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// How many answers after the start of the round.
    pub(crate) after: u64,
    /// How long.
    pub(crate) lasts: Duration,
    /// What befalls whom; whom others need first.
    faults: Vec<(Kind, Part)>,
}

/// Rounds without end. Every part has its turn before one has another, alone or with some of the others.
pub(crate) struct Rounds {
    /// In the order in which they are started.
    parts: Vec<Part>,
    /// Whose turn is still to come.
    turns: Vec<usize>,
    answers: u64,
    chance: StdRng,
}

impl Rounds {
    /// Rounds of these parts, which come in the order in which they are started; faults begin within the first `answers`
    /// of a round.
    pub(crate) fn of(parts: Vec<Part>, answers: u64, chance: StdRng) -> Self {
        Self {
            parts,
            turns: Vec::new(),
            answers,
            chance,
        }
    }

    /// The next one.
    pub(crate) fn draw(&mut self) -> Round {
        let chance = &mut self.chance;
        if self.turns.is_empty() {
            self.turns = (0..self.parts.len()).collect();
            self.turns.shuffle(chance);
        }
        let others = match chance.random_range(0..12) {
            0 => 2,
            1..4 => 1,
            _ => 0,
        };
        let mut hit = index::sample(chance, self.parts.len(), others).into_vec();
        hit.extend(self.turns.pop());
        hit.sort_unstable();
        hit.dedup();
        let faults = hit.into_iter().map(|place| {
            let kind = if chance.random() { Kind::Kill } else { Kind::Pause };
            (kind, self.parts[place])
        });
        let faults = faults.collect();
        let milliseconds = match chance.random_range(0..10) {
            // Longer than some requests have time.
            0 => chance.random_range(800..3_000),
            1..4 => 0,
            _ => chance.random_range(1..300),
        };
        Round {
            after: chance.random_range(0..self.answers),
            lasts: Duration::from_millis(milliseconds),
            faults,
        }
    }
}

impl Round {
    /// Does it to them.
    pub(crate) fn begin(&self, stack: &Stack) {
        for (kind, part) in &self.faults {
            match kind {
                Kind::Kill => stack.kill(*part).unwrap(),
                Kind::Pause => stack.suspend(*part),
            }
        }
    }

    /// Has all of them back.
    pub(crate) fn end(&self, stack: &Stack) {
        for (kind, part) in &self.faults {
            match kind {
                Kind::Kill => stack.start_part(*part).unwrap(),
                Kind::Pause => stack.resume(*part),
            }
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (kind, part)) in self.faults.iter().enumerate() {
            let what = match kind {
                Kind::Kill => "kill",
                Kind::Pause => "pause",
            };
            let before = if place == 0 { "" } else { ", " };
            write!(f, "{before}{what} {part}")?;
        }
        write!(f, " for {} ms", self.lasts.as_millis())
    }
}

#[test]
fn the_same_seed_draws_the_same_faults_and_all_parts_have_their_share() {
    let parts = [
        Part::Postgres,
        Part::Redis,
        Service::Billing.into(),
        Service::Gateway.into(),
    ];
    let draw = |seed| {
        let mut rounds = Rounds::of(parts.to_vec(), 10, StdRng::seed_from_u64(seed));
        (0..100).map(|_| rounds.draw()).collect::<Vec<_>>()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    for part in parts {
        for kind in [Kind::Kill, Kind::Pause] {
            let befalls = |round: &&Round| round.faults.contains(&(kind, part));
            assert!(draw(1).iter().filter(befalls).count() > 5, "{kind:?} {part}");
        }
        let befalls = |round: &Round| round.faults.iter().any(|(_, other)| *other == part);
        assert!(draw(1)[..parts.len()].iter().any(befalls), "{part}");
    }
}
