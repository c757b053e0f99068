//! Rows as they are printed: a table that fits the terminal, CSV, or a JSON document a line.

use std::io::{self, Write as _};

use proto::names::field_names;
use serde_json::Value;

use super::query::Kind;
use crate::csv;
use crate::failure::Failure;
use crate::output::{Table, cell, width};

/// The form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// For people.
    Table,
    /// A JSON document; of many pages, one for each row and line.
    Json,
    /// RFC 4180.
    Csv,
}

impl Format {
    /// Its name where it is noted down.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "jsonl",
            Self::Csv => "csv",
        }
    }
}

/// The columns: the fields asked for, else the ones that people look for first in a table, and all of them in CSV. In CSV a
/// field that has parts is one column for each.
pub(super) fn columns(kind: Kind, format: Format, fields: &[String], has_location: bool) -> Vec<String> {
    let known = field_names(kind.record());
    let parts = |field: &str| -> Vec<String> {
        let parts = known
            .iter()
            .filter(|name| name.strip_prefix(field).is_some_and(|rest| rest.starts_with('.')));
        let parts: Vec<String> = parts.map(|name| (*name).to_owned()).collect();
        if parts.is_empty() {
            vec![field.to_owned()]
        } else {
            parts
        }
    };
    match (format, fields.is_empty()) {
        (Format::Table, false) => fields.to_vec(),
        (_, false) => {
            let mut columns: Vec<String> = Vec::new();
            // The id always comes.
            for column in std::iter::once("id")
                .chain(fields.iter().map(String::as_str))
                .flat_map(parts)
            {
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
            columns
        }
        (Format::Table, true) => in_a_table(kind, has_location).map(str::to_owned).collect(),
        (_, true) => known
            .iter()
            .filter(|name| !name.contains('.'))
            .filter(|name| has_location || **name != "locationMatch")
            .flat_map(|name| parts(name))
            .collect(),
    }
}

fn in_a_table(kind: Kind, has_location: bool) -> impl Iterator<Item = &'static str> {
    let columns: &[&str] = match kind {
        Kind::People => &[
            "fullName",
            "jobTitle",
            "company.name",
            "location.city",
            "location.country",
            "emailStatus",
            "email",
            "id",
        ],
        Kind::Companies => &[
            "name",
            "domain",
            "businessTypes",
            "location.city",
            "location.country",
            "locationMatch",
            "employeeCount",
            "id",
        ],
    };
    let wanted = move |name: &&str| has_location || *name != "locationMatch";
    columns.iter().copied().filter(wanted)
}

/// Writes rows, page by page.
pub(super) struct Rows {
    format: Format,
    columns: Vec<String>,
    /// As the first page has shaped it.
    table: Option<Table>,
    begun: bool,
}

impl Rows {
    pub(super) const fn new(format: Format, columns: Vec<String>) -> Self {
        Self {
            format,
            columns,
            table: None,
            begun: false,
        }
    }

    /// The form.
    pub(super) const fn format(&self) -> Format {
        self.format
    }

    /// What is above the rows has been written before.
    pub(super) const fn go_on(&mut self) {
        self.begun = true;
    }

    /// The next page; the first one with what is above the rows.
    pub(super) fn page(&mut self, rows: &[Value]) -> String {
        let first = !std::mem::replace(&mut self.begun, true);
        match self.format {
            Format::Json => rows
                .iter()
                .flat_map(|row| [row.to_string(), "\n".to_owned()])
                .collect(),
            Format::Csv => {
                let head = first.then(|| csv::record(self.columns.iter().map(String::as_str)));
                let record = |row: &Value| {
                    let cells: Vec<String> = self
                        .columns
                        .iter()
                        .map(|column| csv::cell(at(row, column)))
                        .collect();
                    csv::record(cells.iter().map(String::as_str))
                };
                head.into_iter().chain(rows.iter().map(record)).collect()
            }
            Format::Table => {
                let cells: Vec<Vec<String>> = rows
                    .iter()
                    .map(|row| self.columns.iter().map(|column| cell(at(row, column))).collect())
                    .collect();
                let headers: Vec<&str> = self.columns.iter().map(String::as_str).collect();
                let table = self
                    .table
                    .get_or_insert_with(|| Table::fitting(width(), &headers, &cells));
                let head = if first { table.head() } else { String::new() };
                let lines: String = cells.iter().map(|cells| table.line(cells)).collect();
                let note = if first { table.note() } else { String::new() };
                head + &lines + &note
            }
        }
    }
}

/// Prints text as it is.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(Failure::Output)
}

/// The value at a path such as `company.name`.
fn at<'a>(row: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(row, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::slice;

    use super::*;

    #[test]
    fn csv_has_a_column_for_each_part_and_the_id() {
        let all = columns(Kind::People, Format::Csv, &[], false);
        assert_eq!(all.first().map(String::as_str), Some("id"));
        assert!(all.contains(&"location.city".to_owned()) && !all.contains(&"location".to_owned()));
        assert!(!columns(Kind::Companies, Format::Csv, &[], false).contains(&"locationMatch".to_owned()));
        assert!(columns(Kind::Companies, Format::Csv, &[], true).contains(&"locationMatch".to_owned()));
        let some = ["fullName".to_owned(), "company".to_owned(), "id".to_owned()];
        let some = columns(Kind::People, Format::Csv, &some, false);
        assert_eq!(some[..3], ["id", "fullName", "company.id"]);
    }

    #[test]
    fn what_is_above_the_rows_comes_once() {
        let row = json!({"id": "1", "name": "A, B", "tags": ["x", "y"]});
        let columns = || vec!["id".to_owned(), "name".to_owned(), "tags".to_owned()];
        let mut rows = Rows::new(Format::Csv, columns());
        assert_eq!(
            rows.page(slice::from_ref(&row)),
            "id,name,tags\r\n1,\"A, B\",x; y\r\n"
        );
        assert_eq!(rows.page(slice::from_ref(&row)), "1,\"A, B\",x; y\r\n");
        let mut rows = Rows::new(Format::Csv, columns());
        rows.go_on();
        assert_eq!(rows.page(slice::from_ref(&row)), "1,\"A, B\",x; y\r\n");
        let mut rows = Rows::new(Format::Table, columns());
        assert_eq!(rows.page(slice::from_ref(&row)).lines().count(), 2);
        assert_eq!(rows.page(slice::from_ref(&row)).lines().count(), 1);
        let mut rows = Rows::new(Format::Json, columns());
        assert_eq!(rows.page(&[row.clone(), row]).lines().count(), 2);
    }
}
