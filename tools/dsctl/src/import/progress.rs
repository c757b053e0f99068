//! What an import shows while it runs, on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::duration;

/// Between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// The display. Clones show on the same one.
#[derive(Clone)]
pub(super) struct Progress {
    started: Instant,
    total_bytes: Option<u64>,
    display: Display,
}

#[derive(Clone)]
enum Display {
    Quiet,
    Bar(ProgressBar),
    Lines(Arc<Mutex<Instant>>),
}

impl Progress {
    /// The display that fits where standard error goes. The total is of all sources, none if it is not known.
    pub(super) fn new(total_bytes: Option<u64>) -> Self {
        let started = Instant::now();
        let display = if std::io::stderr().is_terminal() {
            Display::Bar(bar(total_bytes))
        } else {
            Display::Lines(Arc::new(Mutex::new(started)))
        };
        Self {
            started,
            total_bytes,
            display,
        }
    }

    /// Shows nothing but what is told.
    pub(super) fn quiet() -> Self {
        Self {
            started: Instant::now(),
            total_bytes: None,
            display: Display::Quiet,
        }
    }

    /// So many records are done, so many bytes of the sources with them.
    pub(super) fn advance(&self, records: u64, bytes: u64) {
        match &self.display {
            Display::Quiet => {}
            Display::Bar(bar) => {
                bar.set_position(bytes);
                bar.set_message(format!(
                    "{} records, {}/s",
                    grouped(records),
                    grouped(self.rate(records))
                ));
            }
            Display::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() >= LINE_INTERVAL {
                    *last = Instant::now();
                    eprintln!(
                        "{} records, {}/s{}",
                        grouped(records),
                        grouped(self.rate(records)),
                        self.left(bytes)
                    );
                }
            }
        }
    }

    /// Tells something that is to be read for itself.
    pub(super) fn tell(&self, message: &str) {
        match &self.display {
            Display::Bar(bar) => bar.suspend(|| eprintln!("{message}")),
            Display::Quiet | Display::Lines(_) => eprintln!("{message}"),
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Records a second, so far.
    pub(super) fn rate(&self, records: u64) -> u64 {
        let millis = self.started.elapsed().as_millis().max(1);
        u64::try_from(u128::from(records) * 1_000 / millis).unwrap_or(u64::MAX)
    }

    fn left(&self, bytes: u64) -> String {
        let Some(total) = self.total_bytes.filter(|total| *total > 0 && bytes > 0) else {
            return String::new();
        };
        let millis =
            self.started.elapsed().as_millis() * u128::from(total.saturating_sub(bytes)) / u128::from(bytes);
        let left = Duration::from_secs(u64::try_from(millis / 1_000).unwrap_or(u64::MAX));
        format!(", {} %, {} left", bytes * 100 / total, duration::format(left))
    }
}

fn bar(total_bytes: Option<u64>) -> ProgressBar {
    let (bar, template) = match total_bytes {
        Some(total) => (
            ProgressBar::new(total),
            "{bar:30} {percent:>3} %  {msg}  {eta} left",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// A number with a comma between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
