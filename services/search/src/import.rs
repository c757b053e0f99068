//! From the records of a source, as they come, to a batch that can be written.
//!
//! - A record that breaks a rule is rejected with its line and every reason; the others go in, and what was known of
//!   the rejected one stays as it is.
//! - The same external id twice in a batch: the later line wins, as if they had been written one after another. The
//!   earlier one is counted as the later one is.
//! - Blank texts are left out, spaces around texts are dropped, country codes are put in capitals, times are cut to
//!   the microseconds that Postgres keeps: what is stored is what comes again, so a repeated import changes nothing.

use std::collections::BTreeMap;

use chrono::{DateTime, SubsecRound as _, Utc};
use proto::day::{FoundedDate, parse_founded};
use proto::record::{self, given};
use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, ImportRecord, PersonRecord, RejectedRecord};
use runtime::ambient::Ambient;

use crate::record::{Company, Founded, Person, PlaceText};
use crate::store::write::{Batch, Delete, Put};

/// Most records of a batch.
pub const MAX_BATCH: usize = 5_000;

/// The records of a batch by their external ids; a deletion is a record that is none.
type Latest<R> = BTreeMap<String, (Option<Put<R>>, u64)>;

/// The batch that these records ask for, and those that break a rule.
#[must_use]
pub fn read(records: Vec<ImportRecord>, ambient: &Ambient) -> (Batch, Vec<RejectedRecord>) {
    let now = ambient.now().trunc_subsecs(6);
    let (mut companies, mut people) = (Latest::new(), Latest::new());
    let mut rejected = Vec::new();
    for record in records {
        let violations = record::check(&record);
        if !violations.is_empty() {
            rejected.push(RejectedRecord {
                line: record.line,
                reasons: violations.iter().map(ToString::to_string).collect(),
            });
            continue;
        }
        match record.change {
            Some(Change::Company(company)) => {
                let put = read_company(&company, ambient, now);
                keep(&mut companies, put.record.external_id.clone(), Some(put));
            }
            Some(Change::Person(person)) => {
                let put = read_person(&person, ambient, now);
                keep(&mut people, put.record.external_id.clone(), Some(put));
            }
            Some(Change::DeleteCompany(company)) => {
                keep(&mut companies, company.external_id.trim().to_owned(), None);
            }
            Some(Change::DeletePerson(person)) => {
                keep(&mut people, person.external_id.trim().to_owned(), None);
            }
            // A rule of its own, checked above.
            None => {}
        }
    }
    let (companies, deleted_companies) = split(companies);
    let (people, deleted_people) = split(people);
    let batch = Batch {
        companies,
        people,
        deleted_companies,
        deleted_people,
    };
    (batch, rejected)
}

fn keep<R>(latest: &mut Latest<R>, external_id: String, put: Option<Put<R>>) {
    let entry = latest.entry(external_id).or_insert((None, 0));
    *entry = (put, entry.1 + 1);
}

fn split<R>(latest: Latest<R>) -> (Vec<Put<R>>, Vec<Delete>) {
    let (mut puts, mut deletes) = (Vec::new(), Vec::new());
    for (external_id, (put, lines)) in latest {
        match put {
            Some(put) => puts.push(Put { lines, ..put }),
            None => deletes.push(Delete { external_id, lines }),
        }
    }
    (puts, deletes)
}

fn read_company(company: &CompanyRecord, ambient: &Ambient, now: DateTime<Utc>) -> Put<Company> {
    let updated_at = read_time(company.info_updated_at);
    let founded = text(company.founded_date.as_deref()).and_then(|date| parse_founded(&date));
    let record = Company {
        number: None,
        id: ambient.uuid_v7(),
        external_id: company.external_id.trim().to_owned(),
        name: company.name.trim().to_owned(),
        domain: text(company.domain.as_deref()),
        website: text(company.website.as_deref()),
        business_types: labels(&company.business_types),
        description: text(company.description.as_deref()),
        tags: labels(&company.tags),
        business_email: text(company.business_email.as_deref()),
        business_phone: text(company.business_phone.as_deref()),
        place: place(
            company.city.as_deref(),
            company.region.as_deref(),
            company.country.as_deref(),
        ),
        employee_count: company.employee_count,
        founded: founded.map(|founded| match founded {
            FoundedDate::Day(day) => Founded::Day(day),
            FoundedDate::Year(year) => Founded::Year(year),
        }),
        info_updated_at: updated_at.unwrap_or(now),
    };
    Put {
        record,
        updated_at_given: updated_at.is_some(),
        lines: 1,
    }
}

fn read_person(person: &PersonRecord, ambient: &Ambient, now: DateTime<Utc>) -> Put<Person> {
    let updated_at = read_time(person.info_updated_at);
    let (first_name, last_name) = (
        text(person.first_name.as_deref()),
        text(person.last_name.as_deref()),
    );
    let full_name = text(person.full_name.as_deref()).unwrap_or_else(|| {
        let names: Vec<&str> = first_name.iter().chain(&last_name).map(String::as_str).collect();
        names.join(" ")
    });
    let record = Person {
        id: ambient.uuid_v7(),
        external_id: person.external_id.trim().to_owned(),
        company_external_id: text(person.company_external_id.as_deref()),
        full_name,
        first_name,
        last_name,
        job_title: text(person.job_title.as_deref()),
        email: text(person.email.as_deref()),
        place: place(
            person.city.as_deref(),
            person.region.as_deref(),
            person.country.as_deref(),
        ),
        info_updated_at: updated_at.unwrap_or(now),
    };
    Put {
        record,
        updated_at_given: updated_at.is_some(),
        lines: 1,
    }
}

fn text(text: Option<&str>) -> Option<String> {
    given(text).map(str::to_owned)
}

fn labels(labels: &[String]) -> Vec<String> {
    labels
        .iter()
        .filter_map(|label| given(Some(label)))
        .map(str::to_owned)
        .collect()
}

fn place(city: Option<&str>, region: Option<&str>, country: Option<&str>) -> PlaceText {
    PlaceText {
        city: text(city),
        region: text(region),
        country: text(country).map(|country| country.to_ascii_uppercase()),
    }
}

fn read_time(time: Option<prost_types::Timestamp>) -> Option<DateTime<Utc>> {
    let time = time?;
    let nanos = u32::try_from(time.nanos).ok()?;
    Some(DateTime::from_timestamp(time.seconds, nanos)?.trunc_subsecs(6))
}

#[cfg(test)]
mod tests {
    use proto::search::v1::{DeleteCompany, DeletePerson};

    use super::*;

    fn ambient() -> Ambient {
        Ambient::fixed(DateTime::from_timestamp(1_800_000_000, 123_456_789).unwrap(), 1)
    }

    fn company(line: u64, external_id: &str, name: &str) -> ImportRecord {
        let company = CompanyRecord {
            external_id: external_id.into(),
            name: name.into(),
            ..CompanyRecord::default()
        };
        ImportRecord {
            line,
            change: Some(Change::Company(company)),
        }
    }

    fn person(person: PersonRecord) -> ImportRecord {
        ImportRecord {
            line: 1,
            change: Some(Change::Person(person)),
        }
    }

    #[test]
    fn what_breaks_a_rule_is_told_by_line_with_every_reason_and_the_rest_goes_in() {
        let mut bad = company(7, "", " ");
        if let Some(Change::Company(company)) = &mut bad.change {
            company.country = Some("Germany".into());
        }
        let nothing = ImportRecord {
            line: 9,
            change: None,
        };
        let (batch, rejected) = read(
            vec![company(6, "a", "A"), bad, company(8, "b", "B"), nothing],
            &ambient(),
        );
        assert_eq!(batch.companies.len(), 2);
        assert_eq!(
            rejected.iter().map(|record| record.line).collect::<Vec<_>>(),
            [7, 9]
        );
        assert_eq!(rejected[0].reasons.len(), 3, "{:?}", rejected[0].reasons);
        assert!(rejected[0].reasons[2].starts_with("country: "));
    }

    #[test]
    fn the_later_line_wins_and_stands_for_the_earlier_ones() {
        let delete = |line, id: &str| ImportRecord {
            line,
            change: Some(Change::DeleteCompany(DeleteCompany {
                external_id: id.into(),
            })),
        };
        let records = vec![
            company(1, "b", "first"),
            company(2, "a", "first"),
            company(3, "b", "second"),
            delete(4, "b"),
            company(5, " a ", "second"),
            company(6, "b", "third"),
            company(7, "b", ""),
            delete(8, "c"),
            ImportRecord {
                line: 9,
                change: Some(Change::DeletePerson(DeletePerson {
                    external_id: "a".into(),
                })),
            },
        ];
        let (batch, rejected) = read(records, &ambient());
        let told: Vec<_> = batch
            .companies
            .iter()
            .map(|put| {
                (
                    put.record.external_id.as_str(),
                    put.record.name.as_str(),
                    put.lines,
                )
            })
            .collect();
        assert_eq!(
            told,
            [("a", "second", 2), ("b", "third", 4)],
            "in the order of the ids"
        );
        assert_eq!(
            batch.deleted_companies,
            [Delete {
                external_id: "c".into(),
                lines: 1
            }]
        );
        assert_eq!(
            batch.deleted_people,
            [Delete {
                external_id: "a".into(),
                lines: 1
            }]
        );
        assert_eq!(rejected.len(), 1, "a bad line displaces nothing");
    }

    #[test]
    fn a_person_without_a_full_name_has_the_given_and_family_name() {
        let read_name = |full: &str, first: &str, last: &str| {
            let record = person(PersonRecord {
                external_id: "p".into(),
                full_name: Some(full.into()),
                first_name: Some(first.into()),
                last_name: Some(last.into()),
                ..PersonRecord::default()
            });
            let (batch, _) = read(vec![record], &ambient());
            batch.people[0].record.full_name.clone()
        };
        assert_eq!(read_name(" Ada L. ", "Ada", "Lovelace"), "Ada L.");
        assert_eq!(read_name(" ", " Ada", "Lovelace "), "Ada Lovelace");
        assert_eq!(read_name("", "", "Lovelace"), "Lovelace");
        assert_eq!(read_name("", "Ada", " "), "Ada");
    }

    #[test]
    fn times_are_cut_to_what_is_kept_and_absent_ones_are_now() {
        let mut record = company(1, "a", "A");
        let (batch, _) = read(vec![record.clone()], &ambient());
        let put = &batch.companies[0];
        assert!(!put.updated_at_given);
        assert_eq!(put.record.info_updated_at.timestamp_subsec_nanos(), 123_456_000);
        if let Some(Change::Company(company)) = &mut record.change {
            company.info_updated_at = Some(prost_types::Timestamp {
                seconds: 1_700_000_000,
                nanos: 1_999,
            });
            company.founded_date = Some(" 1999 ".into());
            company.country = Some("de".into());
            company.tags = vec![" ".into(), " x ".into()];
            company.website = Some("  ".into());
        }
        let (batch, rejected) = read(vec![record], &ambient());
        if rejected.is_empty() {
            let put = &batch.companies[0];
            assert!(put.updated_at_given);
            assert_eq!(put.record.info_updated_at.timestamp_subsec_nanos(), 1_000);
            assert_eq!(put.record.founded, Some(Founded::Year(1999)));
            assert_eq!(put.record.place.country.as_deref(), Some("DE"));
            assert_eq!(put.record.tags, ["x"]);
            assert_eq!(put.record.website, None);
        } else {
            panic!("{rejected:?}");
        }
    }
}
