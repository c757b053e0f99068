//! Made-up records and the stack that they are in: those that an earlier measurement has left, or the same ones anew.

use std::path::{Path, PathBuf};
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
#[derive(Args, Clone)]
pub(crate) struct Records {
    /// Companies; there are three people to each
    #[arg(long, default_value_t = 20_000)]
    pub(super) companies: u64,
    /// Another seed makes up other records
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Day on which the records are looked at: updates end before it
    #[arg(long, default_value = "2026-11-28", value_name = "YYYY-MM-DD")]
    pub(super) as_of: NaiveDate,
    /// Where the databases and the index go, on a disk with 5 KB of room a record
    #[arg(long, default_value = ".devstack/bench-search", value_name = "FOLDER")]
    work_dir: PathBuf,
    /// Leave the databases and the index there; the next run with the same records uses them
    #[arg(long)]
    keep: bool,
}

/// What was left by an earlier run.
#[derive(Clone, Copy)]
pub(super) enum Left {
    /// The records alone.
    Imported,
    /// The records, and the baseline.
    Loaded,
}

impl Records {
    /// The records.
    pub(super) fn data(&self) -> Result<Arc<Data>, BoxError> {
        let sample = Sample::read(Path::new("sample"))?;
        let data = Data::new(sample, "", self.companies, self.seed, self.as_of);
        Ok(Arc::new(data))
    }

    /// A tenth of them, kept beside them.
    pub(super) fn tenth(&self) -> Self {
        let mut name = self.work_dir.file_name().unwrap_or_default().to_owned();
        name.push("-tenth");
        Self {
            companies: (self.companies / 10).max(1),
            work_dir: self.work_dir.with_file_name(name),
            ..self.clone()
        }
    }

    /// A stack for them, with these settings.
    pub(super) async fn start(&self, settings: &[String]) -> Result<Arc<Stack>, BoxError> {
        let options = Options::new()
            .own_postgres()
            .durable()
            .folder(self.work_dir.clone());
        let mut options = baseline::administered(options, process::machine_memory() >> 20);
        if self.keep {
            options = options.kept();
        }
        for setting in settings {
            let (name, value) = setting.split_once('=').ok_or("a setting is NAME=VALUE")?;
            options = options.setting(name, value);
        }
        tell(&format!("starting a stack in {}", self.work_dir.display()));
        let started = tokio::task::spawn_blocking(move || Stack::start(options)).await??;
        Ok(Arc::new(started))
    }

    /// Whether an earlier run has left this of the same records.
    pub(super) fn are_there(&self, stack: &Stack, what: Left) -> bool {
        let is_there = std::fs::read_to_string(what.mark(stack)).is_ok_and(|found| found == self.named());
        if is_there {
            tell("the records of an earlier run are there");
        }
        is_there
    }

    /// Notes for later runs that this is there.
    pub(super) fn leave(&self, stack: &Stack, what: Left) -> Result<(), BoxError> {
        Ok(std::fs::write(what.mark(stack), self.named())?)
    }

    fn named(&self) -> String {
        format!("{} {} {}\n", self.companies, self.seed, self.as_of)
    }

    /// A stack with these settings and the records in it, and the records.
    pub(crate) async fn stage(&self, settings: &[String]) -> Result<(Arc<Stack>, Made), BoxError> {
        let data = self.data()?;
        let stack = self.start(settings).await?;
        if ![Left::Loaded, Left::Imported]
            .into_iter()
            .any(|left| self.are_there(&stack, left))
        {
            let ours = Ours::connect(&stack.environment()?).await?;
            let manner = Manner {
                streams: 2,
                batch: 2_000,
                shuffled: false,
            };
            let done = import::import(&ours, &data, manner, Deed::Put).await?;
            ours.wait_searchable(done.position).await?;
            ours.wait_settled().await?;
            self.leave(&stack, Left::Imported)?;
        }
        Ok((stack, Made(data)))
    }
}

impl Left {
    fn mark(self, stack: &Stack) -> PathBuf {
        stack.folder().join(match self {
            Self::Imported => "imported",
            Self::Loaded => "loaded",
        })
    }
}

/// The records, for whoever asks for some of them.
pub(crate) struct Made(Arc<Data>);

/// The beginning of a value.
pub(crate) struct Typed {
    /// Name of the vocabulary that it is looked for in.
    pub(crate) vocabulary: &'static str,
    /// What has been typed.
    pub(crate) text: String,
}

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

    /// What is typed by those who look for a value: its first three and six characters, the whole, and the whole with two of
    /// its characters swapped.
    pub(crate) fn typed(&self) -> Vec<Typed> {
        let typed = self.some().flat_map(|number| {
            let company = self.0.company(number);
            let values = [
                ("places", company.city),
                ("businessTypes", company.business_types.first().cloned()),
                ("jobTitles", self.0.title(number)),
                ("tags", company.tags.first().cloned()),
            ];
            values.into_iter().filter_map(|(vocabulary, value)| {
                let whole = value?.chars().take(100).collect::<Vec<_>>();
                let mut swapped = whole.clone();
                let middle = whole.len() / 2;
                if middle > 0 {
                    swapped.swap(middle - 1, middle);
                }
                let first = |count: usize| whole[..count.min(whole.len())].to_vec();
                Some([first(3), first(6), swapped, whole].map(|text| Typed {
                    vocabulary,
                    text: text.into_iter().collect(),
                }))
            })
        });
        typed.flatten().collect()
    }

    /// Companies, evenly from all of them.
    fn some(&self) -> impl Iterator<Item = u64> {
        const MOST: u64 = 50;
        let companies = self.0.companies();
        (0..MOST.min(companies)).map(move |number| number * companies / MOST.min(companies))
    }
}
