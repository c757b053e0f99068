//! `dsctl explain`: how a search would be understood, free of charge.

use std::fmt::Write as _;

use clap::Args;
use serde_json::Value;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::output::{Output, printable};
use crate::search::{Filters, Kind, sort_of};

/// Places shown of each part of a location.
const PLACES: usize = 5;

/// `dsctl explain`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl explain people --job-title \"VP Sales\" --location \"Springfield, IL\"
  dsctl explain companies --company-domain https://www.acme.co.uk/about --json")]
pub(crate) struct Explain {
    /// Which search
    kind: Kind,
    #[command(flatten)]
    filters: Filters,
    /// Order, such as name or infoUpdatedAt:asc
    #[arg(long, value_name = "FIELD[:asc|desc]")]
    sort: Option<String>,
}

impl Explain {
    /// Explains with the API key.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let path = format!("/{}/explain", self.kind.name());
        let mut body = self.filters.body();
        body.extend(
            self.sort
                .as_deref()
                .map(|sort| ("sort".to_owned(), sort_of(sort))),
        );
        let api = connection.api()?;
        let answer = api.post(&path, &Value::Object(body), None).await?;
        output.show(&answer, || human(&answer["data"]))
    }
}

/// A line for each filter, and one for each alternative below it.
fn human(data: &Value) -> String {
    let mut text = String::new();
    let filters = items(&data["filters"]);
    if filters.is_empty() {
        text.push_str("no filter: every record\n");
    }
    for filter in filters {
        let fields: Vec<_> = items(&filter["fields"]).iter().map(shown).collect();
        let excludes = if filter["excludes"] == true { "not " } else { "" };
        let name = shown(&filter["filter"]);
        // Writing to a string can't fail.
        let _ = writeln!(text, "{name}: {excludes}in {}", fields.join(", "));
        for alternative in items(&filter["anyOf"]) {
            let terms: Vec<_> = items(&alternative["allOf"]).iter().map(term).collect();
            let _ = writeln!(
                text,
                "  {} -> {}",
                shown(&alternative["text"]),
                terms.join(" and ")
            );
            for part in items(&alternative["allOf"]) {
                text.push_str(&places(part));
            }
        }
    }
    let _ = write!(
        text,
        "\nsort {} {}, {} rows a page; the search costs {}",
        shown(&data["sort"]["field"]),
        shown(&data["sort"]["dir"]),
        data["limit"],
        data["cost"],
    );
    text
}

fn term(term: &Value) -> String {
    let forms = std::iter::once(&term["value"]).chain(items(&term["otherForms"]));
    let forms: Vec<_> = forms.map(shown).collect();
    format!("{} {}", shown(&term["match"]), forms.join("/"))
        .trim_end()
        .to_owned()
}

/// The places that a part may mean; those that the other parts rule out are counted alone.
fn places(part: &Value) -> String {
    let all = items(&part["places"]["candidates"]);
    let left: Vec<_> = all.iter().filter(|place| place["isLeft"] == true).collect();
    let mut text = String::new();
    for place in left.iter().take(PLACES) {
        let names = ["name", "region", "country"].map(|name| place[name].as_str());
        let mut names: Vec<_> = names.into_iter().flatten().map(printable).collect();
        names.dedup();
        let _ = writeln!(text, "    {}: {}", shown(&place["type"]), names.join(", "));
    }
    let more = part["places"]["more"].as_u64().unwrap_or_default();
    let others = (left.len().saturating_sub(PLACES) + all.len() - left.len()) as u64 + more;
    if others > 0 {
        let _ = writeln!(
            text,
            "    and {others} other places called {}",
            shown(&part["value"])
        );
    }
    text
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), printable)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_explanation_is_a_line_for_each_alternative() {
        let place = |name: &str, left: bool| {
            json!({"type": "city", "name": name, "region": "Illinois",
            "country": "United States", "isLeft": left})
        };
        let text = human(&json!({
            "filters": [
                {"filter": "businessType", "fields": ["businessTypes", "tags"], "excludes": false, "anyOf": [
                    {"text": "Gyms", "allOf": [{"match": "word", "value": "gym", "otherForms": []}]},
                ]},
                {"filter": "location", "fields": ["location"], "excludes": false, "anyOf": [
                    {"text": "Springfield", "allOf": [{"match": "place", "value": "springfield", "otherForms": [],
                        "places": {"candidates": [place("Springfield", true), place("Other", false)], "more": 2}}]},
                ]},
                {"filter": "websiteStatus", "fields": ["website"], "excludes": true, "anyOf": [
                    {"text": "no", "allOf": [{"match": "present", "value": "", "otherForms": []}]},
                ]},
            ],
            "sort": {"field": "relevance", "dir": "desc"}, "limit": 25, "cost": 1,
        }));
        assert_eq!(
            text,
            "businessType: in businessTypes, tags\n  Gyms -> word gym\n\
             location: in location\n  Springfield -> place springfield\n    \
             city: Springfield, Illinois, United States\n    and 3 other places called springfield\n\
             websiteStatus: not in website\n  no -> present\n\n\
             sort relevance desc, 25 rows a page; the search costs 1"
        );
        let nothing =
            human(&json!({"filters": [], "sort": {"field": "name", "dir": "asc"}, "limit": 1, "cost": 1}));
        assert!(nothing.starts_with("no filter: every record"), "{nothing}");
    }
}
