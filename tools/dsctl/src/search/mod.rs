//! `dsctl search`: both searches, through the public interface, with one flag for each property of a request.

mod output_file;
mod query;
mod rows;
mod walk;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

pub(crate) use self::query::{Filters, Kind, sort_of};
use self::rows::{Format, Rows, columns};
use self::walk::Walk;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::import::grouped;
use crate::output::Output;

/// `dsctl search`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl search people --job-title \"Head of Marketing\" --location Berlin
  dsctl search companies --business-type software --location \"Munich; Hamburg\" --sort employeeCount --limit 10
  dsctl search companies --company-domain acme.com --json
  dsctl search people --job-title CTO --all -o ctos.csv --max-credits 50

An --all that was stopped goes on when the same command is run again; what was paid for is not paid for again.")]
pub(crate) struct Search {
    /// What to search
    kind: Kind,
    #[command(flatten)]
    filters: Filters,
    /// Page, from 1
    #[arg(long, allow_negative_numbers = true)]
    page: Option<i64>,
    /// Rows a page; 25, and 250 with --all, if not given
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
    /// Page by cursor: alone to start, with the cursor of the page before to go on
    #[arg(long, value_name = "CURSOR", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    cursor: Option<String>,
    /// Order, such as name or infoUpdatedAt:asc
    #[arg(long, value_name = "FIELD[:asc|desc]")]
    sort: Option<String>,
    /// Field to return, such as company.name; give it again for more
    #[arg(long = "field", value_name = "FIELD")]
    fields: Vec<String>,
    /// Makes a repeat of this very search free
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Print rows as CSV: RFC 4180, all fields unless --field names some
    #[arg(long)]
    csv: bool,
    /// All rows, page by page; with --json a row a line
    #[arg(long, conflicts_with_all = ["page", "cursor", "idempotency_key"])]
    all: bool,
    /// With --all: write to this file, and be able to go on after a break; .csv and .jsonl tell the form
    #[arg(long, short, value_name = "FILE", requires = "all")]
    output: Option<PathBuf>,
    /// With --output: begin anew, whatever the file holds
    #[arg(long, requires = "output")]
    overwrite: bool,
    /// With --all: stop before more than this is spent, all runs for one file together
    #[arg(long, value_name = "CREDITS", requires = "all")]
    max_credits: Option<u64>,
}

/// Rows a page of `--all`: a page costs the same, whatever it holds.
const WALKED_PAGE: i64 = 250;

impl Search {
    /// Searches with the API key.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let format = self.format(output)?;
        let api = connection.api()?;
        let columns = columns(self.kind, format, &self.fields, self.filters.has_location());
        let rows = Rows::new(format, columns);
        let path = format!("/{}/search", self.kind.name());
        if self.all {
            let walk = Walk {
                api,
                path,
                body: self.body(),
                budget: self.max_credits,
            };
            return match &self.output {
                Some(file) => walk.into_file(rows, file, self.overwrite).await,
                None => walk.into_standard_output(rows).await,
            };
        }
        let answer = api
            .post(&path, &self.body(), self.idempotency_key.as_deref())
            .await?;
        match format {
            Format::Json => Output::Json.show(&answer, String::new),
            Format::Table => output.show(&answer, || human(rows, &answer)),
            Format::Csv => {
                rows::print(&page_of(rows, &answer))?;
                eprintln!("{}", summary(&answer));
                Ok(())
            }
        }
    }

    /// The form that was asked for.
    fn format(&self, output: Output) -> Result<Format, Failure> {
        let json = output == Output::Json;
        if json && self.csv {
            return Err(Failure::Usage("--json and --csv exclude each other".to_owned()));
        }
        let extension = self
            .output
            .as_ref()
            .and_then(|file| file.extension())
            .and_then(|extension| extension.to_str());
        match (json, self.csv, &self.output, extension) {
            (true, ..) => Ok(Format::Json),
            (_, true, ..) | (_, _, Some(_), Some("csv")) => Ok(Format::Csv),
            (_, _, Some(_), Some("jsonl" | "ndjson" | "json")) => Ok(Format::Json),
            (_, _, Some(file), _) => Err(Failure::Usage(format!(
                "{}: add --csv or --json, or call it .csv or .jsonl",
                file.display()
            ))),
            (_, _, None, _) => Ok(Format::Table),
        }
    }

    /// The request: what was given, and nothing else.
    fn body(&self) -> Value {
        let mut body = self.filters.body();
        if !self.fields.is_empty() {
            body.insert("fields".to_owned(), json!(self.fields));
        }
        let limit = self.limit.or(self.all.then_some(WALKED_PAGE));
        for (name, number) in [("page", self.page), ("limit", limit)] {
            body.extend(number.map(|number| (name.to_owned(), json!(number))));
        }
        if let Some(cursor) = &self.cursor {
            let cursor = Some(cursor).filter(|cursor| !cursor.is_empty());
            body.insert("cursor".to_owned(), json!(cursor));
        }
        if let Some(sort) = &self.sort {
            body.insert("sort".to_owned(), sort_of(sort));
        }
        Value::Object(body)
    }
}

fn page_of(mut rows: Rows, answer: &Value) -> String {
    let page = answer.pointer("/data/rows").and_then(Value::as_array);
    rows.page(page.map_or(&[][..], Vec::as_slice))
}

fn human(rows: Rows, answer: &Value) -> String {
    let is_empty = answer
        .pointer("/data/rows")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty);
    let table = if is_empty {
        "no rows\n".to_owned()
    } else {
        page_of(rows, answer)
    };
    format!("{table}\n{}", summary(answer))
}

/// What was found, what it cost, how to go on.
fn summary(answer: &Value) -> String {
    let number = |path: &str| grouped(answer.pointer(path).and_then(Value::as_u64).unwrap_or_default());
    let next = match answer.pointer("/data/nextCursor").and_then(Value::as_str) {
        Some(cursor) => format!("\nnext: --cursor={cursor}"),
        None => String::new(),
    };
    format!(
        "{} found, page {}; cost {}, balance {}{next}",
        number("/data/total"),
        number("/data/page"),
        number("/credits/cost"),
        number("/credits/balance"),
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        search: Search,
    }

    fn body(arguments: &[&str]) -> Value {
        let all = ["search", "companies"].iter().chain(arguments);
        Command::try_parse_from(all).unwrap().search.body()
    }

    #[test]
    fn what_is_not_given_is_not_sent() {
        assert_eq!(body(&[]), json!({}));
    }

    #[test]
    fn every_property_of_a_request_has_a_flag() {
        let body = body(&[
            "--business-type",
            "a",
            "--location",
            "b",
            "--website",
            "c",
            "--website-status",
            "has",
            "--company-name",
            "d",
            "--company-domain",
            "e",
            "--business-email",
            "f",
            "--business-phone",
            "+49",
            "--description-keywords",
            "g",
            "--job-title",
            "h",
            "--job-title",
            "i",
            "--exclude-keywords",
            "j",
            "--search-tag",
            "k",
            "--new-business",
            "yes",
            "--info-updated-from",
            "2026-01-01",
            "--info-updated-to",
            "2026-01-02",
            "--page",
            "2",
            "--limit",
            "-3",
            "--cursor=x",
            "--sort",
            "name:asc",
            "--field",
            "id",
            "--field",
            "company.name",
        ]);
        let mut given: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        let mut all = proto::names::QUERY_PROPERTIES.to_vec();
        given.sort_unstable();
        all.sort_unstable();
        assert_eq!(given, all);
        assert_eq!(body["jobTitles"], json!(["h", "i"]));
        assert_eq!(body["limit"], -3);
        assert_eq!(body["sort"], json!({"field": "name", "dir": "asc"}));
    }

    #[test]
    fn a_cursor_alone_starts_and_with_a_value_goes_on() {
        assert_eq!(body(&["--cursor"]), json!({"cursor": null}));
        assert_eq!(
            body(&["--cursor=abc", "--sort", "name"]),
            json!({"cursor": "abc", "sort": {"field": "name"}})
        );
    }

    #[test]
    fn people_are_shown_with_total_cost_and_balance() {
        let search = Command::try_parse_from(["search", "people"]).unwrap().search;
        let rows = Rows::new(Format::Table, columns(search.kind, Format::Table, &[], false));
        let text = human(
            rows,
            &json!({
                "data": {"rows": [{"id": "1", "fullName": "A B", "company": {"name": "C"}}], "total": 1200, "page": 1,
                    "nextCursor": "n"},
                "credits": {"cost": 1, "balance": 9}
            }),
        );
        assert!(text.contains("A B") && text.contains('C'), "{text}");
        assert!(
            text.contains("1,200 found, page 1; cost 1, balance 9\nnext: --cursor=n"),
            "{text}"
        );
    }

    #[test]
    fn the_form_is_told_by_flag_or_by_name() {
        let format = |output: Output, arguments: &[&str]| {
            let all = ["search", "companies"].iter().chain(arguments);
            Command::try_parse_from(all).unwrap().search.format(output).ok()
        };
        for (output, arguments, expected) in [
            (Output::Human, &[][..], Some(Format::Table)),
            (Output::Json, &[], Some(Format::Json)),
            (Output::Human, &["--csv"], Some(Format::Csv)),
            (Output::Json, &["--csv"], None),
            (Output::Human, &["--all"], Some(Format::Table)),
            (Output::Human, &["--all", "-o", "a.csv"], Some(Format::Csv)),
            (Output::Human, &["--all", "-o", "a.jsonl"], Some(Format::Json)),
            (Output::Json, &["--all", "-o", "a.csv"], Some(Format::Json)),
            (Output::Human, &["--all", "-o", "a"], None),
        ] {
            assert_eq!(format(output, arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn all_takes_the_largest_pages() {
        assert_eq!(body(&["--all"]), json!({"limit": 250}));
        assert_eq!(body(&["--all", "--limit", "7"]), json!({"limit": 7}));
    }
}
