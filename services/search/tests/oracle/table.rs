//! `table.tsv`: what finds what, a line each. To add a case, add a line.
//!
//! Columns: the filter; what is asked; the record's value; whether the record is found; what the line shows. Values of
//! lists have `|` between them. A place is `city|region|country`, a telephone number `number|country`, a title that of a
//! person; what is excluded is looked for in a description.

use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, PersonRecord, SearchQuery};
use runtime::ambient::Ambient;
use search::document::Change as Indexed;
use search::documents::Documents;
use search::import;
use search::plan::{Engine as _, Kind, Stop, Window};
use search::planner::{self, PlanContext};

use crate::fixture::{at, company, person, start};
use crate::reference::Reference;
use crate::scan::Oracle;

const TABLE: &str = include_str!("table.tsv");

/// A line: a record of one value, and a query of one filter.
struct Case {
    line: usize,
    text: &'static str,
    change: Change,
    query: SearchQuery,
    found: bool,
}

fn some(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

fn case((line, text): (usize, &'static str)) -> Case {
    let columns = text.split('\t').collect::<Vec<_>>();
    let &[filter, asked, value, found, _] = columns.as_slice() else {
        panic!("line {line} has {} columns, not 5", columns.len());
    };
    let mut record = company("1", "Test Company");
    let mut query = SearchQuery::default();
    let list = || value.split('|').map(str::to_owned).collect::<Vec<_>>();
    let parts = value.split('|').collect::<Vec<_>>();
    let text_filter = match filter {
        "jobTitles" => {
            query.job_titles = vec![asked.to_owned()];
            let record = PersonRecord {
                job_title: some(Some(value)),
                ..person("1", "Test Person", None)
            };
            return Case {
                line,
                text,
                change: Change::Person(record),
                query,
                found: found == "yes",
            };
        }
        "searchTags" => {
            record.tags = list();
            query.search_tags = vec![asked.to_owned()];
            None
        }
        "companyName" => {
            value.clone_into(&mut record.name);
            Some(&mut query.company_name)
        }
        "businessType" => {
            record.business_types = list();
            Some(&mut query.business_type)
        }
        "descriptionKeywords" => {
            record.description = some(Some(value));
            Some(&mut query.description_keywords)
        }
        "excludeKeywords" => {
            record.description = some(Some(value));
            Some(&mut query.exclude_keywords)
        }
        "location" => {
            let [city, region, country] = [0, 1, 2].map(|at| some(parts.get(at).copied()));
            record = CompanyRecord {
                city,
                region,
                country,
                ..record
            };
            Some(&mut query.location)
        }
        "website" => {
            record.website = some(Some(value));
            Some(&mut query.website)
        }
        "companyDomain" => {
            record.domain = some(Some(value));
            Some(&mut query.company_domain)
        }
        "businessEmail" => {
            record.business_email = some(Some(value));
            Some(&mut query.business_email)
        }
        "businessPhone" => {
            let [number, country] = [0, 1].map(|at| some(parts.get(at).copied()));
            record = CompanyRecord {
                business_phone: number,
                country,
                ..record
            };
            Some(&mut query.business_phone)
        }
        other => panic!("line {line}: no filter is called {other}"),
    };
    if let Some(text_filter) = text_filter {
        asked.clone_into(text_filter);
    }
    assert!(["yes", "no"].contains(&found), "line {line}: found or not?");
    Case {
        line,
        text,
        change: Change::Company(record),
        query,
        found: found == "yes",
    }
}

fn cases() -> Vec<Case> {
    (1..).zip(TABLE.lines()).skip(1).map(case).collect()
}

/// Every line on which the answer is another than the table's.
fn assert_all(found: impl Fn(&Case) -> bool) {
    let cases = cases();
    let wrong = cases.iter().filter(|case| found(case) != case.found);
    let wrong = wrong
        .map(|case| format!("{}: {}", case.line, case.text))
        .collect::<Vec<_>>();
    assert!(
        wrong.is_empty(),
        "{} of {} lines are wrong:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    assert!(cases.len() >= 150, "the table has shrunk to {}", cases.len());
}

#[test]
fn the_service_finds_what_the_table_says() {
    assert_all(|case| {
        let (batch, rejected) = import::read(vec![at(1, case.change.clone())], &Ambient::fixed(start(), 1));
        assert!(rejected.is_empty(), "{rejected:?}");
        let companies = batch
            .companies
            .iter()
            .map(|put| Documents::default().company(&put.record, &[]));
        let people = batch
            .people
            .iter()
            .map(|put| Documents::default().person(&put.record, None));
        let documents = companies.chain(people).collect::<Vec<_>>();
        let kind = if batch.people.is_empty() {
            Kind::Company
        } else {
            Kind::Person
        };
        let mut engine = Reference::default();
        for document in documents {
            engine.apply(&[Indexed::Put(Box::new(document))]);
        }
        let context = PlanContext {
            today: start().date_naive(),
            new_business_days: 365,
            revealed: &[],
            window: Window {
                after: None,
                skip: 0,
                limit: 1,
            },
        };
        engine
            .search(&planner::plan(kind, &case.query, &context), &Stop::never())
            .unwrap()
            .total
            == 1
    });
}

#[test]
fn the_oracle_finds_what_the_table_says() {
    assert_all(|case| {
        let mut oracle = Oracle::default();
        match &case.change {
            Change::Company(record) => oracle.put_company(record),
            Change::Person(record) => oracle.put_person(record),
            _ => {}
        }
        let companies = oracle.companies(&case.query).len();
        companies + oracle.people("one", &case.query).len() == 1
    });
}
