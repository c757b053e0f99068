//! What commands print on standard output: one JSON document for programs, words and tables for people.

use std::io::{self, IsTerminal as _, Write as _};

use console::{Term, measure_text_width, style, truncate_str};
use serde_json::Value;

use crate::environment;
use crate::failure::Failure;

/// Narrowest that a column is made to fit.
const NARROWEST: usize = 8;
/// Between two columns.
const GAP: usize = 2;

/// For whom the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Programs.
    Json,
    /// People.
    Human,
}

impl Output {
    /// Prints a result in the form asked for.
    pub(crate) fn show(self, json: &Value, human: impl FnOnce() -> String) -> Result<(), Failure> {
        let text = match self {
            Self::Json => {
                serde_json::to_string_pretty(json).map_err(|error| Failure::Output(error.into()))?
            }
            Self::Human => human(),
        };
        let mut output = io::stdout().lock();
        writeln!(output, "{}", text.trim_end())
            .and_then(|()| output.flush())
            .map_err(Failure::Output)
    }
}

/// How many columns the terminal has; without a limit where standard output is none. `COLUMNS` is believed in either case.
pub(crate) fn width() -> usize {
    let asked = environment::variable("COLUMNS").and_then(|columns| columns.trim().parse().ok());
    asked.filter(|columns| *columns > 0).unwrap_or_else(|| {
        if io::stdout().is_terminal() {
            usize::from(Term::stdout().size().1)
        } else {
            usize::MAX
        }
    })
}

/// A table as wide as the terminal at most; as wide as it needs where there is none.
pub(crate) fn table(headers: &[&str], rows: &[Vec<String>]) -> String {
    let table = Table::fitting(width(), headers, rows);
    let mut text = table.head();
    text.extend(rows.iter().map(|row| table.line(row)));
    text + &table.note()
}

/// Columns that fit side by side. What is too long ends in `…`; the last columns are left out, and named, where a few
/// characters of each would be no help, or half an id.
pub(crate) struct Table {
    headers: Vec<String>,
    widths: Vec<usize>,
    left_out: Vec<String>,
}

impl Table {
    /// Columns for these rows, `width` characters wide at most.
    pub(crate) fn fitting(width: usize, headers: &[&str], rows: &[Vec<String>]) -> Self {
        let mut widths: Vec<usize> = headers.iter().map(|header| measure_text_width(header)).collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(measure_text_width(&printable(cell)));
            }
        }
        let least = |(header, natural): (&&str, &usize)| {
            if *header == "id" {
                *natural
            } else {
                NARROWEST.min(*natural)
            }
        };
        let least: Vec<usize> = headers.iter().zip(&widths).map(least).collect();
        let mut shown = headers.len();
        while shown > 1 && least[..shown].iter().sum::<usize>() + GAP * (shown - 1) > width {
            shown -= 1;
        }
        widths.truncate(shown);
        let room = width.saturating_sub(GAP * shown.saturating_sub(1)).max(1);
        while widths.iter().sum::<usize>() > room {
            let wide = (0..shown).filter(|column| widths[*column] > least[*column]);
            match wide.max_by_key(|column| widths[*column]) {
                Some(widest) => widths[widest] -= 1,
                // One column in less than its least room.
                None => widths.fill(room),
            }
        }
        let mut headers: Vec<String> = headers.iter().map(|header| header.to_uppercase()).collect();
        let left_out = headers.split_off(shown);
        Self {
            headers,
            widths,
            left_out,
        }
    }

    /// The line above the rows.
    pub(crate) fn head(&self) -> String {
        let head = self.line(&self.headers);
        format!("{}\n", style(head.trim_end()).bold())
    }

    /// A row.
    pub(crate) fn line(&self, row: &[String]) -> String {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&self.widths) {
            let cell = printable(cell);
            let cell = truncate_str(&cell, *width, "…");
            line.push_str(&cell);
            line.push_str(&" ".repeat(width.saturating_sub(measure_text_width(&cell)) + GAP));
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }

    /// Which columns have no room; empty if all have.
    pub(crate) fn note(&self) -> String {
        if self.left_out.is_empty() {
            return String::new();
        }
        format!("(no room for {})\n", self.left_out.join(", "))
    }
}

/// Control characters could do anything to a terminal, and those that turn the direction of writing could show one thing as
/// another: they are shown as what they are not.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|character| {
            let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if character.is_control() || turns {
                '\u{fffd}'
            } else {
                character
            }
        })
        .collect()
}

/// A JSON value as a cell.
pub(crate) fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| cell(Some(item)))
            .collect::<Vec<_>>()
            .join(", "),
        Some(Value::Object(object)) => object
            .values()
            .filter(|value| !value.is_null())
            .map(|value| cell(Some(value)))
            .collect::<Vec<_>>()
            .join(", "),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table_within(width: usize, headers: &[&str], rows: &[Vec<String>]) -> String {
        let table = Table::fitting(width, headers, rows);
        let lines: String = rows.iter().map(|row| table.line(row)).collect();
        table.line(&table.headers) + &lines + &table.note()
    }

    #[test]
    fn tables_fit_and_wide_characters_count_twice() {
        let rows = [
            vec!["1".to_owned(), "株式会社".to_owned(), "x".to_owned()],
            vec!["22".to_owned(), "a\u{1b}[31m\u{202e}".to_owned(), "y".to_owned()],
        ];
        assert_eq!(
            table_within(80, &["n", "name", "z"], &rows),
            "N   NAME      Z\n1   株式会社  x\n22  a\u{fffd}[31m\u{fffd}   y\n"
        );
    }

    #[test]
    fn every_width_is_kept_to() {
        let id = "0198b0c4-7a1e-7000-8000-000000000000";
        let rows = [
            vec!["x".repeat(30), "株".repeat(30), id.to_owned()],
            vec!["é".repeat(30), "z".to_owned(), id.to_owned()],
        ];
        for width in 1..140 {
            let text = table_within(width, &["name", "title", "id"], &rows);
            let (lines, note): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| !line.starts_with('('));
            assert_eq!(lines.len(), 3);
            for line in &lines {
                assert!(measure_text_width(line) <= width, "{width}: {line}");
            }
            // Truncation can be seen, an id is whole or not there, and what is not there is named.
            assert_eq!(
                text.contains('…'),
                width < 30 + 2 + 60 + 2 + 36,
                "{width}: {text}"
            );
            assert_eq!(text.contains(id), note.is_empty(), "{width}: {text}");
        }
    }

    #[test]
    fn every_json_value_has_a_cell() {
        for (value, text) in [
            (json!(null), "-"),
            (json!("a"), "a"),
            (json!(3), "3"),
            (json!(["a", "b"]), "a, b"),
            (
                json!({"city": "Bonn", "region": null, "country": "Germany"}),
                "Bonn, Germany",
            ),
        ] {
            assert_eq!(cell(Some(&value)), text);
        }
    }
}
