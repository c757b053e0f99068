//! `dsctl count`: how many records a search would find, free of charge.

use clap::Args;
use serde_json::Value;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::import::grouped;
use crate::output::Output;
use crate::search::{Filters, Kind};

/// `dsctl count`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl count companies --business-type bakery --location Hamburg
  dsctl count people --job-title CTO --json")]
pub(crate) struct Count {
    /// What to count
    kind: Kind,
    #[command(flatten)]
    filters: Filters,
}

impl Count {
    /// Counts with the API key.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let path = format!("/{}/count", self.kind.name());
        let body = Value::Object(self.filters.body());
        let answer = connection.api()?.post(&path, &body, None).await?;
        let total = answer.pointer("/data/total").and_then(Value::as_u64);
        output.show(&answer, || grouped(total.unwrap_or_default()))
    }
}
