//! `search --all`: page after page by cursor, until there is none.
//!
//! Each page is asked for with an `Idempotency-Key` of its own, and again with the same one for as long as its answer is not
//! there: a page whose answer was lost on the way, or with the process ([`super::output_file`]), is charged once. So every failure
//! that may pass is tried again, without a question of what it has cost:
//! - 429: after `Retry-After`, as often as it takes, since the service says when it will be otherwise.
//! - 500, 502, 503, 504, no answer: after `Retry-After`, else 1, 2, 4, ... seconds; the sixth in a row ends the walk.
//! - All else (a key that was revoked, credits that are short) ends it at once.
//!
//! The budget is looked at before a page is asked for: it must cover what the page before has cost, 1 credit before the first.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use runtime::ambient::Ambient;
use serde_json::{Value, json};

use super::output_file::{OutputFile, Position, Task};
use super::rows::{Rows, print};
use crate::failure::Failure;
use crate::import::grouped;
use crate::rest::Api;

/// Failures in a row of one page that are tried again.
const PATIENCE: u32 = 5;

/// A search for all rows.
pub(super) struct Walk {
    pub(super) api: Api,
    /// Of the operation.
    pub(super) path: String,
    /// The request, without its cursor.
    pub(super) body: Value,
    /// Credits that it may cost.
    pub(super) budget: Option<u64>,
}

/// What came with a page.
struct Page {
    text: String,
    rows: u64,
    total: u64,
    cost: u64,
    balance: u64,
    next: Option<String>,
}

impl Walk {
    /// Prints all rows.
    pub(super) async fn into_standard_output(self, mut rows: Rows) -> Result<(), Failure> {
        let ambient = Ambient::system();
        let mut position = Position::start(&ambient);
        let bar = Bar::new();
        let mut last_cost = None;
        loop {
            self.check_budget(&position, last_cost)?;
            let page = self.page(&position, &mut rows, &bar).await?;
            bar.suspend(|| print(&page.text))?;
            last_cost = Some(page.cost);
            let is_last = advance(&mut position, &page, &ambient);
            bar.show(&position, page.total);
            if is_last {
                bar.finish();
                eprintln!("{}", summary(&position, page.balance));
                return Ok(());
            }
        }
    }

    /// Writes all rows to a file, from where it ended the last time.
    pub(super) async fn into_file(self, mut rows: Rows, path: &Path, overwrite: bool) -> Result<(), Failure> {
        let ambient = Ambient::system();
        let task = Task {
            url: format!("{}{}", self.api.base(), self.path),
            body: self.body.clone(),
            format: rows.format().name().to_owned(),
        };
        let (mut output, mut position) = OutputFile::open(path, task, overwrite, &ambient)?;
        if position.bytes > 0 {
            rows.go_on();
            eprintln!(
                "{}: goes on after {} rows",
                path.display(),
                grouped(position.rows)
            );
        }
        match self.fill(&mut output, &mut position, rows, &ambient).await {
            Ok(balance) => {
                let path = output.path().display().to_string();
                output.finish()?;
                eprintln!("{path}: {}", summary(&position, balance));
                Ok(())
            }
            // The search itself is not valid: nothing of it was paid for, and nothing can be gone on with. After all else the
            // first page's key is kept, since an answer before this one may have been lost.
            Err(Failure::Rest(refusal)) if position.cursor.is_none() && refusal.status == 400 => {
                output.discard()?;
                Err(Failure::Rest(refusal))
            }
            Err(why) => Err(Failure::Incomplete {
                why: Box::new(why),
                kept: format!("{} rows are in {}", grouped(position.rows), path.display()),
            }),
        }
    }

    /// The pages that are left; the balance after them.
    async fn fill(
        &self,
        output: &mut OutputFile,
        position: &mut Position,
        mut rows: Rows,
        ambient: &Ambient,
    ) -> Result<u64, Failure> {
        let bar = Bar::new();
        let mut last_cost = None;
        loop {
            self.check_budget(position, last_cost)?;
            let page = self.page(position, &mut rows, &bar).await?;
            let bytes = output.append(position.bytes, &page.text)?;
            last_cost = Some(page.cost);
            let mut after = position.clone();
            after.bytes = bytes;
            let is_last = advance(&mut after, &page, ambient);
            if !is_last {
                output.note(&after)?;
            }
            *position = after;
            bar.show(position, page.total);
            if is_last {
                bar.finish();
                return Ok(page.balance);
            }
        }
    }

    fn check_budget(&self, position: &Position, last_cost: Option<u64>) -> Result<(), Failure> {
        let next = last_cost.unwrap_or(1);
        match self.budget {
            Some(budget) if position.spent.saturating_add(next) > budget => Err(Failure::Refused(format!(
                "--max-credits {budget} does not cover the next page: {} spent, it costs {next}; give more to go on",
                position.spent
            ))),
            _ => Ok(()),
        }
    }

    /// The page at a position, however often it has to be asked for.
    async fn page(&self, position: &Position, rows: &mut Rows, bar: &Bar) -> Result<Page, Failure> {
        let mut body = self.body.clone();
        if let Some(body) = body.as_object_mut() {
            body.insert("cursor".to_owned(), json!(position.cursor));
        }
        let mut failures = 0;
        let answer = loop {
            let asked = self
                .api
                .post(&self.path, &body, Some(&position.idempotency_key))
                .await;
            match asked {
                Ok(answer) => break answer,
                Err(failure) => {
                    let Some(pause) = pause(&failure, &mut failures, position.rows > 0) else {
                        return Err(failure);
                    };
                    bar.tell(&failure, pause);
                    tokio::time::sleep(pause).await;
                }
            }
        };
        let number = |path: &str| {
            answer
                .pointer(path)
                .and_then(Value::as_u64)
                .ok_or_else(|| Failure::Refused(format!("the answer has no {path}: is the address right?")))
        };
        let page = answer.pointer("/data/rows").and_then(Value::as_array);
        let page = page.map_or(&[][..], Vec::as_slice);
        Ok(Page {
            text: rows.page(page),
            rows: page.len() as u64,
            total: number("/data/total")?,
            cost: number("/credits/cost")?,
            balance: number("/credits/balance")?,
            next: answer
                .pointer("/data/nextCursor")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    }
}

/// Moves behind a page; whether it was the last.
fn advance(position: &mut Position, page: &Page, ambient: &Ambient) -> bool {
    position.rows += page.rows;
    position.spent += page.cost;
    position.cursor.clone_from(&page.next);
    position.idempotency_key = ambient.uuid_v7().to_string();
    page.next.is_none()
}

/// How long to wait before a page is asked for again; none if that is of no use.
fn pause(failure: &Failure, failures: &mut u32, has_rows: bool) -> Option<Duration> {
    let asked = match failure {
        Failure::Rest(refusal) if refusal.status == 429 => {
            return Some(refusal.retry_after.unwrap_or(Duration::from_secs(1)));
        }
        Failure::Rest(refusal) if refusal.status >= 500 => refusal.retry_after,
        // Nobody is there, and nobody was before: the address is more likely wrong than the service away.
        Failure::Unreachable {
            before_it_was_sent: true,
            ..
        } if !has_rows => return None,
        Failure::Unreachable { .. } => None,
        _ => return None,
    };
    *failures += 1;
    let doubled = Duration::from_secs(1 << (*failures - 1).min(6));
    (*failures <= PATIENCE).then(|| asked.unwrap_or(doubled))
}

fn summary(position: &Position, balance: u64) -> String {
    format!(
        "{} rows; cost {}, balance {}",
        grouped(position.rows),
        grouped(position.spent),
        grouped(balance)
    )
}

/// What a walk shows on standard error while it runs: a bar, on a terminal only.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::no_length();
        let template =
            "{bar:30} {percent:>3} %  {human_pos} of {human_len} rows, {per_sec}  {eta} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(Some(bar))
    }

    fn show(&self, position: &Position, total: u64) {
        let Some(bar) = &self.0 else { return };
        if bar.length().is_none() {
            // What came before this run says nothing of its speed.
            bar.set_position(position.rows);
            bar.reset_eta();
        }
        bar.set_length(total.max(position.rows));
        bar.set_position(position.rows);
        bar.set_message(format!("{} credits", grouped(position.spent)));
    }

    /// Tells why it waits.
    fn tell(&self, failure: &Failure, pause: Duration) {
        let text = failure.to_string();
        let reason = text.lines().next().unwrap_or_default();
        let reason = format!("{reason}: waits {} s", pause.as_secs());
        match &self.0 {
            Some(bar) => bar.set_message(reason),
            None => eprintln!("{reason}"),
        }
    }

    fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Refusal;

    fn refused(status: u16, retry_after: Option<u64>) -> Failure {
        Failure::Rest(Box::new(Refusal {
            status,
            body: json!({}),
            retry_after: retry_after.map(Duration::from_secs),
        }))
    }

    #[test]
    fn what_passes_is_waited_for_and_what_does_not_is_told() {
        let mut failures = 0;
        for _ in 0..20 {
            let pause = pause(&refused(429, Some(3)), &mut failures, false);
            assert_eq!(pause, Some(Duration::from_secs(3)));
        }
        assert_eq!(
            pause(&refused(503, Some(7)), &mut failures, false),
            Some(Duration::from_secs(7))
        );
        for seconds in [2, 4, 8, 16] {
            let pause = pause(&refused(504, None), &mut failures, false);
            assert_eq!(pause, Some(Duration::from_secs(seconds)));
        }
        assert_eq!(pause(&refused(504, None), &mut failures, false), None);
        for status in [400, 401, 402, 422] {
            assert_eq!(pause(&refused(status, Some(1)), &mut 0, true), None);
        }
        let away = Failure::Unreachable {
            message: String::new(),
            before_it_was_sent: true,
        };
        assert_eq!(pause(&away, &mut 0, false), None);
        assert_eq!(pause(&away, &mut 0, true), Some(Duration::from_secs(1)));
    }
}
