//! How much longer searches take in all records than in a tenth of them.
//!
//! Both are there at once, each in a stack of its own, and asked in turn: what the machine does meanwhile slows both.

use std::time::{Duration, Instant};

use super::classes::{Class, Question};
use super::measure::{System, once};
use super::ours::Ours;
use super::progress::tell;
use super::{Search, each};
use crate::BoxError;

/// How often all searches are asked before their times are taken.
const ROUNDS_BEFORE: usize = 4;

/// A class of searches in a tenth of the records, or in all.
struct Side {
    system: System,
    questions: Vec<Question>,
    times: Vec<Duration>,
}

impl Side {
    async fn ask_all(&mut self) -> Result<(), BoxError> {
        for question in &self.questions {
            let begun = Instant::now();
            self.system.ask(question).await?;
            self.times.push(begun.elapsed());
        }
        Ok(())
    }

    /// Milliseconds within which so many of a hundred searches were answered.
    fn percentile(&mut self, percent: usize) -> f64 {
        self.times.sort_unstable();
        let time = self.times.get(self.times.len() * percent / 100);
        each::millis(time.copied().unwrap_or_default())
    }
}

/// Prints the times of each class of selective searches on both sides, asked for so long.
pub(super) async fn print(search: &Search, time: Duration) -> Result<(), BoxError> {
    let mut sides = Vec::new();
    let mut stacks = Vec::new();
    for records in [search.records.tenth(), search.records.clone()] {
        let (stack, _) = records.stage(&search.set).await?;
        let ours = Ours::connect(&stack.environment()?).await?;
        ours.wait_settled().await?;
        let data = records.data()?;
        let classes = search.selected(search.terms(&data, super::today()?).classes());
        let classes: Vec<Class> = classes.into_iter().filter(|class| class.selective).collect();
        sides.push((System::Ours(ours), classes));
        stacks.push(stack);
    }
    let [(tenth, of_tenth), (all, of_all)] = &sides[..] else {
        return Err("a tenth and all are two".into());
    };
    println!(
        "{:34} | {:>20} | {:>20} | growth",
        "ms: p50, p99", "a tenth", "all"
    );
    for few in of_tenth {
        let Some(many) = of_all.iter().find(|class| class.name == few.name) else {
            continue;
        };
        tell(few.name);
        let side = |system: &System, class: &Class| Side {
            system: system.clone(),
            questions: class.questions.clone(),
            times: Vec::new(),
        };
        let mut both = [side(tenth, few), side(all, many)];
        for side in &both {
            for _ in 0..ROUNDS_BEFORE {
                once(&side.system, &side.questions).await?;
            }
        }
        let begun = Instant::now();
        while begun.elapsed() < time {
            for side in &mut both {
                side.ask_all().await?;
            }
        }
        let [few50, few99, all50, all99] = [(0, 50), (0, 99), (1, 50), (1, 99)]
            .map(|(side, percent): (usize, usize)| both[side].percentile(percent));
        println!(
            "{:34} | {few50:>9.2} {few99:>10.2} | {all50:>9.2} {all99:>10.2} | {:>4.2} {:>4.2}",
            few.name,
            all50 / few50,
            all99 / few99
        );
    }
    tokio::task::spawn_blocking(move || drop(stacks)).await?;
    Ok(())
}
