//! Each search of a class by itself: which are slow.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use super::classes::{Class, Question};
use super::measure::{System, once};
use crate::BoxError;

/// How often all searches are asked before their times are taken.
const ROUNDS_BEFORE: usize = 3;

/// A search by itself.
struct Alone<'q> {
    question: &'q Question,
    /// Records that match.
    total: i64,
    /// How long it took each time, the shortest first.
    times: Vec<Duration>,
}

impl Alone<'_> {
    /// The time that it took in the middle.
    fn median(&self) -> Duration {
        self.times.get(self.times.len() / 2).copied().unwrap_or_default()
    }
}

/// All searches asked in turn, again and again for so long.
async fn asked<'q>(
    system: &System,
    questions: &'q [Question],
    time: Duration,
) -> Result<Vec<Alone<'q>>, BoxError> {
    let alone = questions.iter().map(|question| Alone {
        question,
        total: 0,
        times: Vec::new(),
    });
    let mut all: Vec<_> = alone.collect();
    // What is asked again is kept behind that.
    for _ in 0..ROUNDS_BEFORE {
        once(system, questions).await?;
    }
    let begun = Instant::now();
    while begun.elapsed() < time {
        for Alone {
            question,
            total,
            times,
        } in &mut all
        {
            let begun = Instant::now();
            *total = system.ask(question).await?.total;
            times.push(begun.elapsed());
        }
    }
    for alone in &mut all {
        alone.times.sort_unstable();
    }
    Ok(all)
}

/// Prints the times of each class and of its searches, the slowest first; each class is asked for so long.
pub(super) async fn print(system: &System, classes: &[Class], time: Duration) -> Result<(), BoxError> {
    for class in classes {
        let mut all = asked(system, &class.questions, time).await?;
        all.sort_by_key(|alone| Reverse(alone.median()));
        let mut times: Vec<_> = all.iter().flat_map(|alone| &alone.times).copied().collect();
        times.sort_unstable();
        let [p50, p99] = [50, 99].map(|percent| times.get(times.len() * percent / 100).copied());
        println!(
            "{}: p50 {:.2} ms, p99 {:.2} ms",
            class.name,
            millis(p50.unwrap_or_default()),
            millis(p99.unwrap_or_default())
        );
        for alone in all {
            let (median, asked) = (millis(alone.median()), alone.question.asked());
            println!("{median:>9.3} ms {:>8} matches  {asked}", alone.total);
        }
    }
    Ok(())
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
