//! What is searched for: one flag for each filter of a request. Values go to the service as they are: it tells everything that
//! is wrong with them.

use clap::{Args, ValueEnum};
use proto::names::RecordKind;
use serde_json::{Map, Value, json};

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// People
    People,
    /// Companies
    Companies,
}

impl Kind {
    /// Its name in addresses.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::Companies => "companies",
        }
    }

    /// What its rows are.
    pub(crate) const fn record(self) -> RecordKind {
        match self {
            Self::People => RecordKind::Person,
            Self::Companies => RecordKind::Company,
        }
    }
}

/// The filters of a request.
#[derive(Args, Debug)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filters {
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
}

/// A property `sort`, as it is given: `FIELD` or `FIELD:DIR`.
pub(crate) fn sort_of(given: &str) -> Value {
    match given.split_once(':') {
        Some((field, direction)) => json!({"field": field, "dir": direction}),
        None => json!({ "field": given }),
    }
}

impl Filters {
    /// Whether places are asked for.
    pub(crate) const fn has_location(&self) -> bool {
        self.location.is_some()
    }

    /// The filters that were given, and nothing else.
    pub(crate) fn body(&self) -> Map<String, Value> {
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
        for (name, list) in [("jobTitles", &self.job_titles), ("searchTags", &self.tags)] {
            body.extend((!list.is_empty()).then(|| (name.to_owned(), json!(list))));
        }
        body
    }
}
