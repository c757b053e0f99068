//! Rules over the whole sample as it is committed.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::*;

fn command(seed: u64, count: u32) -> SamplePeople {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample");
    SamplePeople {
        origin: Origin {
            companies: sample.join("companies.jsonl.gz"),
            seed,
            as_of: "2026-11-28".parse().unwrap(),
        },
        count,
        job_titles: sample.join("job_titles.txt"),
    }
}

fn lines(records: impl Iterator<Item = impl Serialize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_lines(&mut bytes, records).unwrap();
    bytes
}

fn companies_and_people(seed: u64, count: u32) -> (Vec<u8>, Vec<u8>) {
    let command = command(seed, count);
    let companies = command.origin.read().unwrap();
    let titles = Titles::parse(&std::fs::read_to_string(&command.job_titles).unwrap());
    (
        lines(companies.iter()),
        lines(command.people(&companies, &titles)),
    )
}

fn parsed(bytes: &[u8]) -> Vec<Value> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn share(values: &[Value], holds: impl Fn(&Value) -> bool) -> usize {
    values.iter().filter(|value| holds(value)).count() * 100 / values.len()
}

/// Every e-mail address anywhere in the record ends in `.example`, and its update lies before the day.
fn check_rules(record: &Value) {
    for property in ["email", "businessEmail"] {
        if let Some(address) = record[property].as_str() {
            let (local, domain) = address.split_once('@').unwrap();
            assert!(!local.is_empty() && address.is_ascii(), "{address}");
            assert_eq!(domain.split('.').count(), 2, "{address}");
            assert!(
                domain.ends_with(".example") && !domain.starts_with('.') && domain.len() < 64,
                "{address}"
            );
        }
    }
    let updated = record["infoUpdatedAt"].as_str().unwrap();
    let updated = if updated.len() == 10 {
        format!("{updated}T00:00:00Z")
    } else {
        updated.to_owned()
    };
    assert!(
        updated.parse::<DateTime<Utc>>().unwrap() < "2026-11-28T00:00:00Z".parse::<DateTime<Utc>>().unwrap()
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_others() {
    let (first, again, other) = (
        companies_and_people(1, 5_000),
        companies_and_people(1, 5_000),
        companies_and_people(2, 5_000),
    );
    assert!(first == again);
    assert!(first.0 != other.0 && first.1 != other.1);
}

#[test]
fn what_companies_lack_is_made_up_by_the_rules_and_what_is_real_stays() {
    let command = command(1, 0);
    let companies = command.origin.read().unwrap();
    let made = parsed(&lines(companies.iter()));
    assert!(made.len() >= 20_000);
    for company in &made {
        check_rules(company);
        if let Some(number) = company["businessPhone"].as_str() {
            assert!(
                phone::is_fictional(company["country"].as_str().unwrap(), number),
                "{number}"
            );
        }
    }
    let file = BufReader::new(
        source::decompressed(std::fs::File::open(&command.origin.companies).unwrap()).unwrap(),
    );
    for (line, made) in file.lines().zip(&made) {
        let real: Value = serde_json::from_str(&line.unwrap()).unwrap();
        for (property, value) in real.as_object().unwrap() {
            assert_eq!(&made[property], value);
        }
        for property in ["businessEmail", "businessPhone", "infoUpdatedAt", "countryName"] {
            assert!(real[property].is_null(), "{property} is not among the real facts");
        }
    }
    let known = |property: &'static str| move |company: &Value| !company[property].is_null();
    assert!((70..100).contains(&share(&made, known("businessEmail"))));
    assert!((20..90).contains(&share(&made, known("businessPhone"))));
    assert!((85..100).contains(&share(&made, known("employeeCount"))));
    assert!((80..100).contains(&share(&made, known("foundedDate"))));
    assert!(
        made.iter()
            .filter(|company| company["foundedDate"].as_str() > Some("2025-11-28"))
            .count()
            > 100
    );
    let ids: HashSet<_> = made
        .iter()
        .map(|company| company["externalId"].as_str())
        .collect();
    assert_eq!(ids.len(), made.len());
    let again: Vec<_> = companies
        .iter()
        .cloned()
        .map(|company| company.complete(1, command.origin.as_of))
        .collect();
    assert!(
        lines(again.iter()) == lines(companies.iter()),
        "completing is done after one time"
    );
}

#[test]
fn people_are_made_up_by_the_rules_for_the_companies() {
    let (companies, people) = companies_and_people(1, 120_000);
    let companies = parsed(&companies);
    let people = parsed(&people);
    assert_eq!(people.len(), 120_000);
    people.iter().for_each(check_rules);
    let ids: HashSet<_> = companies
        .iter()
        .map(|company| company["externalId"].as_str().unwrap())
        .collect();
    assert!(
        people
            .iter()
            .filter_map(|person| person["companyExternalId"].as_str())
            .all(|id| ids.contains(id))
    );
    let distinct: HashSet<_> = people
        .iter()
        .map(|person| person["externalId"].as_str())
        .collect();
    assert_eq!(distinct.len(), people.len());
    for (property, least, most) in [
        ("companyExternalId", 94, 98),
        ("jobTitle", 90, 97),
        ("email", 75, 85),
        ("city", 65, 90),
        ("country", 80, 95),
        ("firstName", 90, 96),
    ] {
        let known = share(&people, |person| !person[property].is_null());
        assert!((least..=most).contains(&known), "{property}: {known} %");
    }
    assert!(
        people
            .iter()
            .all(|person| !person["fullName"].is_null() || !person["lastName"].is_null())
    );
    let other_scripts = share(&people, |person| {
        person["lastName"]
            .as_str()
            .is_some_and(|name| name.chars().any(|letter| letter > '\u{24f}'))
    });
    assert!((5..50).contains(&other_scripts), "{other_scripts} %");
    let chiefs = share(&people, |person| {
        person["jobTitle"]
            .as_str()
            .is_some_and(|title| title.contains("CEO") || title.starts_with("Chief"))
    });
    assert!((2..20).contains(&chiefs), "{chiefs} %");
}

#[test]
fn import_takes_every_line_of_the_sample() {
    let (companies, people) = companies_and_people(1, 20_000);
    for line in companies
        .split(|byte| *byte == b'\n')
        .chain(people.split(|byte| *byte == b'\n'))
    {
        let taken = crate::import::is_good_line(line);
        assert_eq!(taken, Ok(()), "{}", String::from_utf8_lossy(line));
    }
}
