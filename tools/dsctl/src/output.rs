//! What commands print on standard output: one JSON document for programs, words and tables for people.

use std::io::{self, IsTerminal as _, Write as _};

use console::{Term, measure_text_width, truncate_str};
use serde_json::Value;

use crate::failure::Failure;

/// Narrowest that a column is made to fit.
const NARROWEST: usize = 6;

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

/// A table as wide as the terminal at most; as wide as it needs where there is none.
pub(crate) fn table(headers: &[&str], rows: &[Vec<String>]) -> String {
    let width = if io::stdout().is_terminal() {
        usize::from(Term::stdout().size().1)
    } else {
        usize::MAX
    };
    table_within(width, headers, rows)
}

fn table_within(width: usize, headers: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| printable(cell)).collect())
        .collect();
    let mut widths: Vec<usize> = headers.iter().map(|header| header.len()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(measure_text_width(cell));
        }
    }
    let gaps = 2 * headers.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        match widths.iter_mut().max() {
            Some(widest) if *widest > NARROWEST => *widest -= 1,
            _ => break,
        }
    }
    let mut text = String::new();
    let headers = headers.iter().map(|header| header.to_uppercase()).collect();
    for row in std::iter::once(&headers).chain(&rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let cell = truncate_str(cell, *width, "…");
            line.push_str(&cell);
            line.push_str(&" ".repeat(width - measure_text_width(&cell).min(*width) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Control characters could do anything to a terminal: they are shown as what they are not.
fn printable(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character.is_control() {
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

    #[test]
    fn tables_fit_and_wide_characters_count_twice() {
        let rows = [
            vec!["1".to_owned(), "株式会社".to_owned()],
            vec!["22".to_owned(), "a\u{1b}[31m".to_owned()],
        ];
        assert_eq!(
            table_within(80, &["id", "name"], &rows),
            "ID  NAME\n1   株式会社\n22  a\u{fffd}[31m\n"
        );
        let long = [vec!["x".repeat(30), "y".repeat(30)]];
        let narrow = table_within(30, &["a", "b"], &long);
        assert!(
            narrow.lines().all(|line| measure_text_width(line) <= 30),
            "{narrow}"
        );
        assert!(narrow.contains('…'));
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
