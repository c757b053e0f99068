//! Each of the service's normalisers beside the oracle's, on all of the sample.

use std::collections::{BTreeSet, HashSet};

use search::record::PlaceText;
use search::text::legal_forms::without_legal_forms;
use search::text::titles;
use search::text::words::Word;
use search::{host, place, text};
use serde_json::Value;

use crate::legal::name_words;
use crate::made::records::{SAMPLE, SAMPLE_TITLES};
use crate::places::Place;
use crate::plural::singular;
use crate::text::{fold, words};
use crate::titles::title_words;
use crate::web::registrable;

fn companies() -> Vec<Value> {
    let parse = |line: &String| serde_json::from_str(line).expect("a line of JSON");
    SAMPLE.iter().map(parse).collect()
}

/// Tells all differences at once, or the first of them.
fn no_differences(differences: &BTreeSet<String>) {
    let first = differences.iter().take(40).cloned().collect::<Vec<_>>();
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        first.join("\n")
    );
}

fn service_words(words: &[Word]) -> Vec<(&str, &str, bool)> {
    words
        .iter()
        .map(|word| (word.plain.as_str(), word.expanded_or_plain(), word.continues))
        .collect()
}

fn oracle_words(words: &[crate::text::Word]) -> Vec<(&str, &str, bool)> {
    words
        .iter()
        .map(|word| (word.plain.as_str(), word.long.as_str(), word.glued))
        .collect()
}

#[test]
fn names_and_titles_have_the_same_words() {
    let mut differences = BTreeSet::new();
    let mut compare = |text: &str, service: &[Word], oracle: &[crate::text::Word]| {
        let (service, oracle) = (service_words(service), oracle_words(oracle));
        if service != oracle {
            differences.insert(format!("{text}: the service {service:?}, the oracle {oracle:?}"));
        }
    };
    for company in companies() {
        let name = company["name"].as_str().expect("a name");
        let cut = text::words::words(name);
        compare(name, &cut, &words(name));
        compare(name, &without_legal_forms(&cut), &name_words(name));
    }
    for title in &*SAMPLE_TITLES {
        compare(title, &titles::title_words(title), &title_words(title));
    }
    no_differences(&differences);
}

#[test]
fn texts_have_the_same_words_in_singular() {
    let mut differences = BTreeSet::new();
    let mut seen = HashSet::new();
    for company in companies() {
        for key in ["name", "description", "businessTypes", "tags"] {
            let text = company[key].to_string();
            if !seen.insert(text.clone()) {
                continue;
            }
            let (service, oracle) = (text::words::words(&text), words(&text));
            if service_words(&service) != oracle_words(&oracle) {
                differences.insert(text.clone());
            }
            if text::fold::fold(&text) != fold(&text) {
                differences.insert(format!("folded: {text}"));
            }
            for word in oracle.into_iter().flat_map(|word| [word.plain, word.long]) {
                if !seen.insert(word.clone()) {
                    continue;
                }
                let (service, oracle) = (text::stem(&word), singular(&word));
                if service != oracle {
                    differences.insert(format!("{word}: the service {service}, the oracle {oracle}"));
                }
            }
        }
    }
    no_differences(&differences);
}

#[test]
fn domains_are_registered_alike() {
    let mut differences = BTreeSet::new();
    for company in companies() {
        for text in [&company["domain"], &company["website"]]
            .into_iter()
            .filter_map(Value::as_str)
        {
            let (service, oracle) = (host::domain_term(text), registrable(text));
            if service != oracle {
                differences.insert(format!("{text}: the service {service:?}, the oracle {oracle:?}"));
            }
        }
    }
    no_differences(&differences);
}

#[test]
fn places_are_the_same() {
    let mut differences = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for company in companies() {
        let [city, region, country] = ["city", "region", "country"].map(|key| company[key].as_str());
        if !seen.insert([city, region, country].map(|text| text.map(str::to_owned))) {
            continue;
        }
        let [city_text, region_text, country_text] =
            [city, region, country].map(|text| text.map(str::to_owned));
        let record = PlaceText {
            city: city_text,
            region: region_text,
            country: country_text,
        };
        let service = place::value(&record)
            .iter()
            .next()
            .and_then(|slots| slots.into_iter().next())
            .unwrap_or_default();
        let service = service
            .into_iter()
            .filter(|id| id.contains(':'))
            .collect::<BTreeSet<_>>();
        let oracle = Place::of(city, region, country).ids();
        if service != oracle {
            differences.insert(format!(
                "{record:?}: the service {service:?}, the oracle {oracle:?}"
            ));
        }
    }
    no_differences(&differences);
}
