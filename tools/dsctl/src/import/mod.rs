//! `dsctl import`: JSON Lines into the search service.
//!
//! A thread reads and judges lines ([`reader`], [`mod@line`]), the main task sends batches and takes the answers
//! ([`transfer`]). A bad line is told and left out; the rest goes in.

mod line;
mod progress;
mod reader;
mod transfer;

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use self::progress::Progress;
pub(crate) use self::progress::grouped;
use self::transfer::Tally;
use crate::connection::{Connection, refusal};
use crate::failure::Failure;
use crate::output::Output;
use crate::source::Source;
use crate::{duration, index};

/// What a file looks like, for `--help`.
const FORMAT: &str = "\
Each line is a JSON object; what is there already is found by its externalId and replaced:
  {\"type\": \"company\", \"externalId\": \"c1\", \"name\": \"Acme GmbH\", \"domain\": \"acme.example\", \"website\": \"https://acme.example\",
   \"businessTypes\": [\"Software\"], \"description\": \"...\", \"tags\": [\"b2b\"], \"businessEmail\": \"info@acme.example\",
   \"businessPhone\": \"+49 30 1234\", \"city\": \"Berlin\", \"region\": \"Berlin\", \"country\": \"DE\", \"employeeCount\": 12,
   \"foundedDate\": \"2019-05-01\", \"infoUpdatedAt\": \"2026-01-31\"}
  {\"type\": \"person\", \"externalId\": \"p1\", \"companyExternalId\": \"c1\", \"firstName\": \"Ada\", \"lastName\": \"Example\",
   \"fullName\": \"Ada Example\", \"jobTitle\": \"CEO\", \"email\": \"ada@acme.example\", \"city\": \"Berlin\", \"country\": \"DE\"}
  {\"type\": \"person\", \"externalId\": \"p1\", \"deleted\": true}
Only type, externalId and a name are required. A country is its ISO 3166-1 alpha-2 code; foundedDate may be a year;
infoUpdatedAt is now unless it is given.\n";

/// `dsctl import`.
#[derive(Args, Debug)]
#[command(after_help = FORMAT)]
pub(crate) struct Import {
    /// JSON Lines, plain or gzip; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Return only when what was imported is searchable
    #[arg(long)]
    wait: bool,
    /// How long to wait for that at most
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = duration::parse)]
    wait_timeout: Duration,
    /// Show no progress, only bad lines and the result
    #[arg(long, short)]
    quiet: bool,
}

impl Import {
    /// Imports, and tells what became of the records.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let sources = self
            .files
            .iter()
            .map(|name| Source::open(name))
            .collect::<Result<Vec<_>, _>>()?;
        let wait = self.wait.then_some(self.wait_timeout);
        let imported = import(sources, connection, wait, self.quiet).await?;
        output.show(&imported.json(), || imported.human())?;
        imported.verdict()
    }
}

/// Imports what the sources hold; waits so long, if at all, until it is searchable.
pub(crate) async fn import(
    sources: Vec<Source>,
    connection: &Connection,
    wait: Option<Duration>,
    quiet: bool,
) -> Result<Imported, Failure> {
    let channel = connection.search().await?;
    let total = sources.iter().map(|source| source.size).sum();
    let progress = if quiet {
        Progress::quiet()
    } else {
        Progress::new(total)
    };
    let (mut batches, reader) = reader::start(sources, progress.clone());
    let mut tally = Tally::default();
    let done = tokio::select! {
        done = transfer::run(channel.clone(), &mut batches, &mut tally, &progress) => done.map_err(Some),
        _ = tokio::signal::ctrl_c() => Err(None),
    };
    progress.finish();
    if let Err(why) = done {
        let stored = grouped(tally.records());
        let what_now = "the same import again completes it";
        return Err(Failure::Refused(match why {
            Some(status) => {
                format!(
                    "{}; {stored} records are in: {what_now}",
                    refusal("search", &status)
                )
            }
            None => format!("interrupted; {stored} records are in: {what_now}"),
        }));
    }
    let read = reader
        .join()
        .map_err(|_| Failure::Refused("the reader of the files died".to_owned()))?;
    let imported = Imported {
        rejected: tally.rejected + read.bad_lines,
        broken_sources: read.broken_sources,
        elapsed: progress.elapsed(),
        rate: progress.rate(tally.records()),
        tally,
    };
    if let Some(patience) = wait {
        index::wait_for(channel, imported.tally.position, patience, quiet).await?;
    }
    Ok(imported)
}

/// What became of the records.
pub(crate) struct Imported {
    tally: Tally,
    rejected: u64,
    broken_sources: u64,
    elapsed: Duration,
    rate: u64,
}

impl Imported {
    /// For programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "stored": self.tally.stored, "unchanged": self.tally.unchanged, "deleted": self.tally.deleted,
            "rejected": self.rejected, "seconds": self.elapsed.as_secs_f64(), "recordsPerSecond": self.rate,
            "position": self.tally.position,
        })
    }

    /// For people.
    pub(crate) fn human(&self) -> String {
        format!(
            "{} stored, {} unchanged, {} deleted, {} rejected in {} ({}/s)",
            grouped(self.tally.stored),
            grouped(self.tally.unchanged),
            grouped(self.tally.deleted),
            grouped(self.rejected),
            duration::format(self.elapsed),
            grouped(self.rate),
        )
    }

    /// Whether all of it went in.
    pub(crate) fn verdict(&self) -> Result<(), Failure> {
        match (self.rejected, self.broken_sources) {
            (0, 0) => Ok(()),
            (0, _) => Err(Failure::Refused(
                "not all files could be read to their end".to_owned(),
            )),
            (1, _) => Err(Failure::Refused("1 line was rejected and left out".to_owned())),
            (rejected, _) => Err(Failure::Refused(format!(
                "{} lines were rejected and left out",
                grouped(rejected)
            ))),
        }
    }
}

/// Whether an import takes a line, or why not. For the tests of the sample.
#[cfg(test)]
pub(crate) fn is_good_line(bytes: &[u8]) -> Result<(), String> {
    line::parse(1, Some(bytes))
        .map(|_| ())
        .map_err(|reason| reason.to_string())
}
