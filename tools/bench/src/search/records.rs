//! Made-up records for other measurements: those that a search measurement has left, or the same ones imported anew.

use std::path::Path;
use std::sync::Arc;

use chrono::NaiveDate;
use clap::Args;
use devstack::{Options, Stack};
use serde_json::{Value, json};

use super::data::Data;
use super::import::{self, Deed, Manner};
use super::ours::Ours;
use super::progress::tell;
use super::sample::Sample;
use super::{baseline, process};
use crate::BoxError;

/// Which records, and where they are kept.
#[derive(Args)]
pub(crate) struct Records {
    /// Companies; there are three people to each
    #[arg(long, default_value_t = 20_000)]
    companies: u64,
    /// Another seed makes up other records
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Day on which the records are looked at: updates end before it
    #[arg(long, default_value = "2026-11-28", value_name = "YYYY-MM-DD")]
    as_of: NaiveDate,
    /// Where the databases and the index go; what `bench search --keep` has left there is used
    #[arg(long, default_value = ".devstack/bench-search", value_name = "FOLDER")]
    work_dir: std::path::PathBuf,
    /// Leave the databases and the index there
    #[arg(long)]
    keep: bool,
}

impl Records {
    /// A stack with the records in it, and the records.
    pub(crate) async fn stage(&self) -> Result<(Arc<Stack>, Made), BoxError> {
        let sample = Sample::read(Path::new("sample"))?;
        let data = Arc::new(Data::new(sample, "", self.companies, self.seed, self.as_of));
        let options = Options::new()
            .own_postgres()
            .durable()
            .folder(self.work_dir.clone());
        let mut options = baseline::administered(options, process::machine_memory() >> 20);
        if self.keep {
            options = options.kept();
        }
        tell(&format!("starting a stack in {}", self.work_dir.display()));
        let stack = Arc::new(tokio::task::spawn_blocking(move || Stack::start(options)).await??);
        let content = format!("{} {} {}\n", self.companies, self.seed, self.as_of);
        // The first is written by a search measurement, which has loaded its baseline too.
        let (loaded, imported) = (stack.folder().join("loaded"), stack.folder().join("imported"));
        let is_there = |mark| std::fs::read_to_string(mark).is_ok_and(|found| found == content);
        if is_there(&loaded) || is_there(&imported) {
            tell("the records of an earlier run are there");
        } else {
            let ours = Ours::connect(&stack.environment()?).await?;
            let manner = Manner {
                streams: 2,
                batch: 2_000,
                shuffled: false,
            };
            let done = import::import(&ours, &data, manner, Deed::Put).await?;
            ours.wait_searchable(done.position).await?;
            ours.wait_settled().await?;
            std::fs::write(&imported, &content)?;
        }
        Ok((stack, Made(data)))
    }
}

/// The records, for whoever asks for some of them.
pub(crate) struct Made(Arc<Data>);

/// A search: the kind of records in its path, and its body.
pub(crate) type Body = (&'static str, Value);

impl Made {
    /// `2,000 companies, 6,000 people`.
    pub(crate) fn told(&self) -> String {
        format!("{} companies, {} people", self.0.companies(), self.0.people())
    }

    /// Searches for one company each, by its domain, of which the id is returned.
    pub(crate) fn cheapest(&self) -> Vec<Body> {
        let domains = self.some().filter_map(|number| self.0.domain(number));
        domains
            .map(|domain| {
                (
                    "companies",
                    json!({"companyDomain": domain, "limit": 1, "fields": ["id"]}),
                )
            })
            .collect()
    }

    /// Searches as callers send them, in turn: by domain, name, type and country, and for people by title and country;
    /// whole rows, 25 a page.
    pub(crate) fn usual(&self) -> Vec<Body> {
        self.some()
            .flat_map(|number| {
                let company = self.0.company(number);
                let country = company.country.unwrap_or_else(|| "US".to_owned());
                let kind = company.business_types.first().cloned().unwrap_or_default();
                let title = self.0.title(number).unwrap_or_default();
                [
                    (
                        "companies",
                        json!({"companyDomain": company.domain.unwrap_or_default()}),
                    ),
                    ("companies", json!({"companyName": company.name})),
                    ("companies", json!({"businessType": kind, "location": country})),
                    ("people", json!({"jobTitles": [title], "location": country})),
                ]
            })
            .collect()
    }

    /// Companies, evenly from all of them.
    fn some(&self) -> impl Iterator<Item = u64> {
        const MOST: u64 = 50;
        let companies = self.0.companies();
        (0..MOST.min(companies)).map(move |number| number * companies / MOST.min(companies))
    }
}
