//! `dsctl search`: both searches, through the public interface, with one flag for each property of a request.

use clap::{Args, ValueEnum};
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::connection::{Connection, Secret};
use crate::failure::Failure;
use crate::import::grouped;
use crate::output::{Output, cell, table};

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// People
    People,
    /// Companies
    Companies,
}

/// `dsctl search`. Values go to the service as they are: it tells everything that is wrong with them.
#[derive(Args, Debug)]
pub(crate) struct Search {
    /// What to search
    kind: Kind,
    /// Business types or tags: keywords, comma-separated
    #[arg(long, value_name = "KEYWORDS")]
    business_type: Option<String>,
    /// Places, `;` between alternatives; of companies also those with people there (see locationMatch)
    #[arg(long, value_name = "PLACES")]
    location: Option<String>,
    /// Website of the company
    #[arg(long, value_name = "URL")]
    website: Option<String>,
    /// Whether the company has a website: any, has, no
    #[arg(long, value_name = "STATUS")]
    website_status: Option<String>,
    /// Words of the company's name
    #[arg(long, value_name = "NAME")]
    company_name: Option<String>,
    /// Domain of the company
    #[arg(long, value_name = "DOMAIN")]
    company_domain: Option<String>,
    /// E-mail address or its domain
    #[arg(long, value_name = "ADDRESS")]
    business_email: Option<String>,
    /// Telephone number of the company, or how it begins
    #[arg(long, value_name = "NUMBER")]
    business_phone: Option<String>,
    /// Keywords of the description, comma-separated
    #[arg(long, value_name = "KEYWORDS")]
    description_keywords: Option<String>,
    /// Job title; give it again for alternatives
    #[arg(long = "job-title", value_name = "TITLE")]
    job_titles: Vec<String>,
    /// Keywords that must not occur, comma-separated
    #[arg(long, value_name = "KEYWORDS")]
    exclude_keywords: Option<String>,
    /// Tag; give it again for alternatives
    #[arg(long = "search-tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Whether the company is new: any, yes, no
    #[arg(long, value_name = "STATUS")]
    new_business: Option<String>,
    /// First day of the update
    #[arg(long, value_name = "YYYY-MM-DD")]
    info_updated_from: Option<String>,
    /// Last day of the update
    #[arg(long, value_name = "YYYY-MM-DD")]
    info_updated_to: Option<String>,
    /// Page, from 1
    #[arg(long, allow_negative_numbers = true)]
    page: Option<i64>,
    /// Rows a page
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
}

impl Search {
    /// Searches with the API key.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let key = Secret::ApiKey.read()?;
        let path = match self.kind {
            Kind::People => "/people/search",
            Kind::Companies => "/companies/search",
        };
        let send = |request: reqwest::RequestBuilder| {
            let request = request.header("x-api-key", key.trim()).json(&self.body());
            match &self.idempotency_key {
                Some(key) => request.header("idempotency-key", key),
                None => request,
            }
        };
        let answer = connection.rest(Method::POST, path, send).await?;
        output.show(&answer, || self.human(&answer))
    }

    /// The request: what was given, and nothing else.
    fn body(&self) -> Value {
        let mut body = Map::new();
        for (name, text) in [
            ("businessType", &self.business_type),
            ("location", &self.location),
            ("website", &self.website),
            ("websiteStatus", &self.website_status),
            ("companyName", &self.company_name),
            ("companyDomain", &self.company_domain),
            ("businessEmail", &self.business_email),
            ("businessPhone", &self.business_phone),
            ("descriptionKeywords", &self.description_keywords),
            ("excludeKeywords", &self.exclude_keywords),
            ("newBusiness", &self.new_business),
            ("infoUpdatedFrom", &self.info_updated_from),
            ("infoUpdatedTo", &self.info_updated_to),
        ] {
            body.extend(text.as_ref().map(|text| (name.to_owned(), json!(text))));
        }
        for (name, list) in [
            ("jobTitles", &self.job_titles),
            ("searchTags", &self.tags),
            ("fields", &self.fields),
        ] {
            body.extend((!list.is_empty()).then(|| (name.to_owned(), json!(list))));
        }
        for (name, number) in [("page", self.page), ("limit", self.limit)] {
            body.extend(number.map(|number| (name.to_owned(), json!(number))));
        }
        if let Some(cursor) = &self.cursor {
            let cursor = Some(cursor).filter(|cursor| !cursor.is_empty());
            body.insert("cursor".to_owned(), json!(cursor));
        }
        if let Some(sort) = &self.sort {
            let sort = match sort.split_once(':') {
                Some((field, direction)) => json!({"field": field, "dir": direction}),
                None => json!({ "field": sort }),
            };
            body.insert("sort".to_owned(), sort);
        }
        Value::Object(body)
    }

    fn human(&self, answer: &Value) -> String {
        let number = |path: &str| grouped(answer.pointer(path).and_then(Value::as_u64).unwrap_or_default());
        let columns: Vec<&str> = if self.fields.is_empty() {
            match self.kind {
                Kind::People => vec![
                    "fullName",
                    "jobTitle",
                    "company.name",
                    "location.city",
                    "location.country",
                    "emailStatus",
                    "email",
                    "id",
                ],
                Kind::Companies => {
                    let place: &[&str] = if self.location.is_some() {
                        &["location.city", "location.country", "locationMatch"]
                    } else {
                        &["location.city", "location.country"]
                    };
                    [
                        &["name", "domain", "businessTypes"],
                        place,
                        &["employeeCount", "id"],
                    ]
                    .concat()
                }
            }
        } else {
            self.fields.iter().map(String::as_str).collect()
        };
        let rows: Vec<Vec<String>> = answer
            .pointer("/data/rows")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|row| columns.iter().map(|column| cell(at(row, column))).collect())
            .collect();
        let table = if rows.is_empty() {
            "no rows\n".to_owned()
        } else {
            table(&columns, &rows)
        };
        let next = match answer.pointer("/data/nextCursor").and_then(Value::as_str) {
            Some(cursor) => format!("\nnext: --cursor={cursor}"),
            None => String::new(),
        };
        format!(
            "{table}\n{} found, page {}; cost {}, balance {}{next}",
            number("/data/total"),
            number("/data/page"),
            number("/credits/cost"),
            number("/credits/balance"),
        )
    }
}

/// The value at a path such as `company.name`.
fn at<'a>(row: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(row, |value, name| value.get(name))
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
        let text = search.human(&json!({
            "data": {"rows": [{"id": "1", "fullName": "A B", "company": {"name": "C"}}], "total": 1200, "page": 1,
                "nextCursor": "n"},
            "credits": {"cost": 1, "balance": 9}
        }));
        assert!(text.contains("A B") && text.contains('C'), "{text}");
        assert!(
            text.contains("1,200 found, page 1; cost 1, balance 9\nnext: --cursor=n"),
            "{text}"
        );
    }
}
