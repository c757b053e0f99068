//! The costliest valid requests: what one takes, and what a flood of them does to cheap ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proto::search::v1::{NewBusiness, SearchQuery, Sort, SortDirection, SortField, WebsiteStatus};
use proto::search_query::{
    MAX_ITEM_CHARS, MAX_ITEMS, MAX_LIMIT, MAX_PAGED_RECORDS, MAX_TERMS, MAX_TEXT_CHARS,
};
use tokio::task::JoinSet;
use tonic::{Code, Status};

use super::measure::Until;
use super::ours::{Kind, Ours};
use super::progress::{per_second, tell};
use super::report::millis;
use super::sample::Sample;
use super::text;
use super::{Search, Stage};
use crate::BoxError;

/// Clients that send nothing else.
const FLOOD: usize = 8;

/// The class of the cheap ones.
const CHEAP: &str = "companies: name";

/// How often each is asked alone.
const TIMES: u32 = 5;

/// How long the cheap ones are measured, at rest and beside the flood.
const TIME: Duration = Duration::from_secs(10);

/// Texts by how often they occur, the most frequent first.
fn frequent(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_by(|left, right| (right.1, &left.0).cmp(&(left.1, &right.0)));
    all.into_iter().map(|(text, _)| text).collect()
}

/// As many of the terms as a filter takes, in one text.
fn list(terms: &[String]) -> String {
    let mut list = String::new();
    for term in terms.iter().filter(|term| !term.contains(',')).take(MAX_TERMS) {
        if list.chars().count() + term.chars().count() + 1 > MAX_TEXT_CHARS {
            break;
        }
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(term);
    }
    list
}

fn items(terms: &[String]) -> Vec<String> {
    let fits = |term: &&String| term.chars().count() <= MAX_ITEM_CHARS;
    terms.iter().filter(fits).take(MAX_ITEMS).cloned().collect()
}

/// The last page that can be asked for by number, of the most rows, in the order that is dearest to find.
fn deep(query: SearchQuery) -> SearchQuery {
    SearchQuery {
        page: Some(MAX_PAGED_RECORDS / MAX_LIMIT),
        limit: Some(MAX_LIMIT),
        sort: Some(Sort {
            field: SortField::Relevance.into(),
            direction: SortDirection::Desc.into(),
        }),
        ..query
    }
}

/// Requests with as much in them as is valid: all filters at once, and each alone in which many alternatives are dear.
fn requests(sample: &Sample) -> Vec<(&'static str, Kind, SearchQuery)> {
    let patterns = &sample.patterns;
    let types = frequent(patterns.iter().flat_map(|pattern| pattern.business_types.clone()));
    let tags = frequent(patterns.iter().flat_map(|pattern| pattern.tags.clone()));
    let sentences = patterns.iter().flat_map(|pattern| &pattern.sentences);
    let words = frequent(sentences.clone().flat_map(|sentence| text::words(sentence)));
    let pairs: Vec<String> = frequent(sentences.flat_map(|sentence| {
        let words = text::words(sentence);
        let pairs = words.windows(2).map(|pair| pair.join(" "));
        pairs.collect::<Vec<_>>()
    }));
    let names = frequent(sample.first_words.iter().cloned());
    let places = frequent(sample.places.iter().filter_map(|place| place.city.clone()));
    let titles = frequent(sample.titles.iter().cloned());
    let all = SearchQuery {
        business_type: list(&types),
        location: list(&places),
        company_name: list(&names),
        description_keywords: list(&words),
        job_titles: items(&titles),
        exclude_keywords: list(&names[names.len() / 2..]),
        search_tags: items(&tags),
        website_status: WebsiteStatus::Has.into(),
        new_business: NewBusiness::No.into(),
        info_updated_from: "2000-01-01".to_owned(),
        info_updated_to: "2100-01-01".to_owned(),
        ..SearchQuery::default()
    };
    let words = SearchQuery {
        description_keywords: list(&words),
        ..SearchQuery::default()
    };
    let pairs = SearchQuery {
        description_keywords: list(&pairs),
        ..SearchQuery::default()
    };
    let titles = SearchQuery {
        job_titles: items(&titles),
        ..SearchQuery::default()
    };
    vec![
        ("all filters, companies", Kind::Companies, deep(all.clone())),
        ("all filters, people", Kind::People, deep(all)),
        (
            "words of descriptions, companies",
            Kind::Companies,
            deep(words.clone()),
        ),
        ("words of descriptions, people", Kind::People, deep(words)),
        ("pairs of words, companies", Kind::Companies, deep(pairs)),
        ("titles, people", Kind::People, deep(titles)),
    ]
}

/// Asks once. Whether it was answered: the service may have given up in time.
async fn ask(ours: &Ours, kind: Kind, query: &SearchQuery) -> Result<bool, BoxError> {
    match ours.search(kind, query).await {
        Ok(_) => Ok(true),
        Err(error) => match error.downcast_ref::<Status>().map(Status::code) {
            Some(Code::DeadlineExceeded) => Ok(false),
            _ => Err(error),
        },
    }
}

impl Stage {
    /// The costliest requests one by one, and cheap ones beside a flood of the costliest of them.
    pub(super) async fn costliest(&mut self, options: &Search) -> Result<(), BoxError> {
        let ours = self.ours().await?;
        let mut worst = (Duration::ZERO, Kind::Companies, SearchQuery::default());
        for (name, kind, query) in requests(self.data.sample()) {
            let mut longest = Duration::ZERO;
            for _ in 0..TIMES {
                let begun = Instant::now();
                let answered = ask(&ours, kind, &query).await?;
                longest = longest.max(begun.elapsed());
                if !answered {
                    tell(&format!("{name}: given up"));
                }
            }
            tell(&format!("{name}: at most {:.1} ms", longest.as_secs_f64() * 1e3));
            if longest > worst.0 {
                worst = (longest, kind, query);
            }
        }
        let (longest, kind, query) = worst;
        self.report.figure(
            "the costliest of valid requests, alone",
            longest.as_secs_f64() * 1e3,
            "ms",
            "",
        );

        let classes = options.terms(&self.data, options.records.as_of).classes();
        let cheap = classes.into_iter().find(|class| class.name == CHEAP);
        let cheap = Arc::new(cheap.ok_or("there is no such class")?.questions);
        let rest = self.repeated(1, &cheap, Until::Time(TIME)).await?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut flood = JoinSet::new();
        for _ in 0..FLOOD {
            let (ours, query, stop) = (self.ours().await?, query.clone(), Arc::clone(&stop));
            flood.spawn(async move {
                let mut asked = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    ask(&ours, kind, &query).await?;
                    asked += 1;
                }
                Ok::<_, BoxError>(asked)
            });
        }
        let beside = self.repeated(1, &cheap, Until::Time(TIME)).await?;
        stop.store(true, Ordering::Relaxed);
        let mut asked = 0;
        while let Some(done) = flood.join_next().await {
            asked += done??;
        }
        tell(&format!("{asked} of the costliest meanwhile"));
        let report = &mut self.report;
        report.figure("p99 of names, 1 client, at rest", millis(&rest, 0.99), "ms", "");
        report.figure(
            "p99 of names beside 8 clients of the costliest",
            millis(&beside, 0.99),
            "ms",
            "",
        );
        report.figure(
            "p99 of names beside the costliest by p99 at rest",
            millis(&beside, 0.99) / millis(&rest, 0.99),
            "x",
            "",
        );
        report.figure("the costliest meanwhile", per_second(asked, TIME), "per s", "");
        Ok(())
    }
}
