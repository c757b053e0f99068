//! `dsctl balance`: what the account of the API key has, and what has moved it. (`dsctl credits` is for operators.)

use std::fmt::Write as _;

use clap::Args;
use serde_json::Value;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::output::{Output, cell, table};

/// `dsctl balance`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl balance
  dsctl balance --limit 100 --json")]
pub(crate) struct Balance {
    /// Entries to show, newest first
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    /// The cursor that the page before has told
    #[arg(long)]
    cursor: Option<String>,
}

impl Balance {
    /// Asks with the API key.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let limit = self.limit.map(|limit| limit.to_string());
        let query = [("limit", limit.as_deref()), ("cursor", self.cursor.as_deref())];
        let given: Vec<_> = query
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| (name, value)))
            .collect();
        let answer = connection.api()?.get("/credits", &given).await?;
        output.show(&answer, || human(&answer["data"]))
    }
}

fn human(data: &Value) -> String {
    let columns = [
        "id",
        "type",
        "operation",
        "amount",
        "balance",
        "corrects",
        "createdAt",
    ];
    let entries = data["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| columns.iter().map(|name| cell(entry.get(name))).collect())
        .collect();
    let mut text = format!("balance {}\n", data["balance"]);
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&table(&columns, &rows));
    }
    if let Some(cursor) = data["nextCursor"].as_str() {
        // Writing to a string can't fail.
        let _ = write!(text, "\nnext: --cursor {cursor}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_balance_is_told_with_its_entries_and_how_to_go_on() {
        let text = human(&json!({"balance": 9, "nextCursor": "17", "entries": [
            {"id": 18, "type": "charge", "operation": "searchPeople", "amount": -1, "balance": 9, "corrects": null,
             "createdAt": "2026-11-28T09:30:00.000Z"},
        ]}));
        assert!(text.starts_with("balance 9\n"), "{text}");
        assert!(text.contains("searchPeople") && text.contains("-1"), "{text}");
        assert!(text.ends_with("next: --cursor 17"), "{text}");
        assert_eq!(
            human(&json!({"balance": 0, "nextCursor": null, "entries": []})),
            "balance 0\n"
        );
    }
}
