//! The tables of what matches and what does not, line by line against a running service: each value in the last two
//! columns is a record of its own, and the search of the line finds those of the one and none of the other.

use std::fs;
use std::path::Path;

use devstack::Options;
use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, DeleteCompany, DeletePerson, PersonRecord};
use serde_json::{Value, json};
use system_tests::{Account, Set, World, company, person, timestamp};

/// A value that stands for having none.
const NONE: &str = "(none)";

/// A line of a table.
struct Line {
    filter: String,
    sent: String,
    found: Vec<String>,
    missed: Vec<String>,
}

/// The values in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What stands in backticks in each cell of the table that has this head.
fn table(guide: &str, head: &str) -> Vec<Vec<Vec<String>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../gateway/docs/guides/{guide}.md"));
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().skip_while(|line| *line != head).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| row.trim_matches('|').split('|').map(quoted).collect())
        .collect()
}

/// The lines of the table that has this head.
fn lines(guide: &str, head: &str, filter: Option<&str>) -> Vec<Line> {
    let mut of = filter.map(str::to_owned);
    table(guide, head)
        .into_iter()
        .map(|mut cells| {
            if filter.is_none() {
                of = cells.remove(0).pop().or(of.take());
            }
            let [sent, found, missed] = cells.try_into().unwrap();
            let filter = of.clone().expect("the first line names a filter");
            let sent = sent.into_iter().next().unwrap();
            Line {
                filter,
                sent,
                found,
                missed,
            }
        })
        .collect()
}

/// A company, or a person at it, that has this value where the filter looks.
fn record(filter: &str, name: &str, value: &str) -> (CompanyRecord, Option<PersonRecord>) {
    let mut record = company(name, name);
    let some = Some(value.to_owned()).filter(|value| value != NONE);
    match filter {
        "businessType" => record.business_types.extend(some),
        "companyName" => value.clone_into(&mut record.name),
        "website" | "websiteStatus" => record.website = some,
        "companyDomain" => record.domain = some,
        "businessEmail" => record.business_email = some,
        "businessPhone" => {
            record.business_phone = some;
            record.country = Some("GB".to_owned());
        }
        "descriptionKeywords" | "excludeKeywords" => record.description = some,
        "searchTags" => record.tags.extend(some),
        "newBusiness" => record.founded_date = some,
        "infoUpdatedFrom" | "infoUpdatedTo" => {
            record.info_updated_at = some.map(|day| timestamp(&format!("{day}T12:00:00Z")));
        }
        "location" => {
            let parts: Vec<&str> = value.split(", ").collect();
            let [city, region, country] = parts.try_into().unwrap();
            let part = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            (record.city, record.region, record.country) = (part(city), part(region), part(country));
        }
        "jobTitles" => {
            let holder = PersonRecord {
                company_external_id: Some(name.to_owned()),
                job_title: some,
                ..person(name, name)
            };
            return (record, Some(holder));
        }
        _ => panic!("no record is made for {filter}"),
    }
    (record, None)
}

/// Names of what a line finds.
fn found(line: &Line, set: &Set) -> Vec<String> {
    let asked = match line.filter.as_str() {
        "jobTitles" | "searchTags" => json!([line.sent]),
        _ => Value::from(line.sent.as_str()),
    };
    let query = json!({(line.filter.as_str()): asked});
    match line.filter.as_str() {
        "jobTitles" => set.people(query),
        // The tag of this set is no tag that the line asks for: all that have one are told apart by their names.
        "searchTags" => set.account.companies(&query).expect(200).names(),
        _ => set.companies(query),
    }
}

fn holds(line: &Line) {
    let values = line.found.iter().chain(&line.missed).enumerate();
    let by_name = line.filter == "companyName";
    let name = |number: usize, value: &str| {
        if by_name {
            value.to_owned()
        } else {
            format!("{number}-{value}")
        }
    };
    let records: Vec<_> = values
        .map(|(number, value)| record(&line.filter, &name(number, value), value))
        .collect();
    let (companies, people): (Vec<_>, Vec<_>) = records.into_iter().unzip();
    let set = Set::of(companies, people.into_iter().flatten());
    let mut expected: Vec<String> = line
        .found
        .iter()
        .enumerate()
        .map(|(number, value)| name(number, value))
        .collect();
    expected.sort();
    assert_eq!(found(line, &set), expected, "{}: {}", line.filter, line.sent);
}

#[test]
fn filters_find_what_their_guide_says_and_nothing_that_it_denies() {
    let lines = lines("filters", "| filter | you send | finds | does not find |", None);
    assert!(lines.len() > 25, "the table is read");
    lines.iter().for_each(holds);
}

#[test]
fn places_find_what_their_guide_says_and_nothing_that_it_denies() {
    let lines = lines("places", "| you send | finds | does not find |", Some("location"));
    assert!(lines.len() > 10, "the table is read");
    lines.iter().for_each(holds);
}

/// What is suggested for what is typed, among records with these values and nothing else.
fn suggested(world: &World, account: &Account, vocabulary: &str, typed: &str) -> Vec<String> {
    world.operator.wait_suggested();
    let typed = typed.replace(' ', "%20");
    let answer = account
        .get(&format!("/suggest/{vocabulary}?q={typed}"))
        .expect(200);
    let suggestions = answer.body["data"]["suggestions"].as_array().unwrap();
    let values = suggestions
        .iter()
        .map(|suggestion| suggestion["value"].as_str().unwrap());
    values.map(str::to_owned).collect()
}

#[test]
fn what_is_suggested_is_what_the_guide_says() {
    // Nothing else is to be there: the guide's values are words that other tests use too.
    let world = World::start(Options::new());
    let account = world.account();
    let table = table(
        "suggestions",
        "| vocabulary | records have | you type | suggested |",
    );
    assert!(table.len() > 8, "the table is read");
    let mut before: Vec<Change> = Vec::new();
    let mut of = String::new();
    for row in table {
        let [vocabulary, held, typed, expected] = row.try_into().unwrap();
        of = vocabulary.into_iter().next().unwrap_or(of);
        let filter = match of.as_str() {
            "places" => "location",
            "businessTypes" => "businessType",
            "tags" => "searchTags",
            other => other,
        };
        let mut changes = std::mem::take(&mut before);
        for (number, value) in held.iter().enumerate() {
            let (company, person) = record(filter, &number.to_string(), value);
            before.push(Change::DeleteCompany(DeleteCompany {
                external_id: company.external_id.clone(),
            }));
            before.extend(person.iter().map(|person| {
                Change::DeletePerson(DeletePerson {
                    external_id: person.external_id.clone(),
                })
            }));
            changes.push(Change::Company(company));
            changes.extend(person.map(Change::Person));
        }
        world.operator.import(changes);
        assert_eq!(
            suggested(&world, &account, &of, &typed[0]),
            expected,
            "{of}: {}",
            typed[0]
        );
    }
}
