//! `dsctl suggest`: what the beginning of a value may become, and how many records a search would find; free of charge.

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::output::{Output, cell, table};

/// `dsctl suggest`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl suggest places muni
  dsctl suggest job-titles \"head of m\" --limit 25 --json")]
pub(crate) struct Suggest {
    /// Of which values
    vocabulary: Vocabulary,
    /// What has been typed so far
    #[arg(value_name = "TYPED", allow_hyphen_values = true)]
    typed: String,
    /// Most suggestions
    #[arg(long, allow_negative_numbers = true)]
    limit: Option<i64>,
}

/// Which values there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Vocabulary {
    /// Places, for --location
    Places,
    /// Business types and tags, for --business-type
    BusinessTypes,
    /// Job titles, for --job-title
    JobTitles,
    /// Tags, for --search-tag
    Tags,
}

impl Vocabulary {
    /// Its name in addresses.
    const fn name(self) -> &'static str {
        match self {
            Self::Places => "places",
            Self::BusinessTypes => "businessTypes",
            Self::JobTitles => "jobTitles",
            Self::Tags => "tags",
        }
    }
}

impl Suggest {
    /// Asks with the API key.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let path = format!("/suggest/{}", self.vocabulary.name());
        let limit = self.limit.map(|limit| limit.to_string());
        let mut query = vec![("q", self.typed.as_str())];
        query.extend(limit.as_deref().map(|limit| ("limit", limit)));
        let answer = connection.api()?.get(&path, &query).await?;
        output.show(&answer, || human(&answer["data"]))
    }
}

fn human(data: &Value) -> String {
    let columns = ["value", "filter", "companies", "people"];
    let suggestions = data["suggestions"].as_array().map_or(&[][..], Vec::as_slice);
    let rows: Vec<Vec<String>> = suggestions
        .iter()
        .map(|suggestion| columns.iter().map(|name| cell(suggestion.get(name))).collect())
        .collect();
    if rows.is_empty() {
        return "nothing begins so".to_owned();
    }
    table(&columns, &rows)
}

#[cfg(test)]
mod tests {
    use proto::suggestions::VOCABULARIES;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_vocabulary_can_be_asked_for() {
        let named: Vec<_> = Vocabulary::value_variants()
            .iter()
            .map(|vocabulary| vocabulary.name())
            .collect();
        assert_eq!(named, VOCABULARIES.map(|(name, _)| name));
    }

    #[test]
    fn suggestions_are_told_with_their_filters_and_counts() {
        let text = human(&json!({"suggestions": [
            {"value": "CEO", "filter": "\"CEO\"", "companies": 1, "people": 2},
        ]}));
        assert!(text.contains("\"CEO\"") && text.contains('2'), "{text}");
        assert_eq!(human(&json!({"suggestions": []})), "nothing begins so");
    }
}
