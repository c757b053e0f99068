//! The rules of records that are imported: bounds, and the few forms that are asked for.
//!
//! Real sources are dirty, and that is no reason to lose a record: only an external id and a name are required, a
//! blank text is as good as none, and addresses, domains and telephone numbers are taken as they come; what can't be
//! read as one is not found by it. Paths are the names of the JSON import format.

use std::iter;

use crate::day;
use crate::search::v1::import_record::Change;
use crate::search::v1::{CompanyRecord, ImportRecord, PersonRecord};
use crate::violation::Violation;
use crate::violation::ViolationCode::{InvalidFormat, InvalidValue, Missing, TooBig, TooLong, TooSmall};

/// Most characters of an external id.
pub const MAX_EXTERNAL_ID_CHARS: usize = 200;
/// Most characters of a company's or a full name.
pub const MAX_NAME_CHARS: usize = 500;
/// Most characters of a given or family name, city or region.
pub const MAX_SHORT_CHARS: usize = 200;
/// Most characters of a domain, telephone number or job title.
pub const MAX_LINE_CHARS: usize = 500;
/// Most characters of a website's address.
pub const MAX_WEBSITE_CHARS: usize = 2_000;
/// Most characters of an e-mail address.
pub const MAX_EMAIL_CHARS: usize = 320;
/// Most characters of a description.
pub const MAX_DESCRIPTION_CHARS: usize = 10_000;
/// Most business types of a company.
pub const MAX_BUSINESS_TYPES: usize = 50;
/// Most tags of a company.
pub const MAX_TAGS: usize = 100;
/// Most characters of a business type or tag.
pub const MAX_LABEL_CHARS: usize = 200;

/// Every rule that one record of an import breaks.
#[must_use]
pub fn check(record: &ImportRecord) -> Vec<Violation> {
    match &record.change {
        None => vec![Violation::at("type", Missing, "is missing")],
        Some(Change::Company(company)) => check_company(company),
        Some(Change::Person(person)) => check_person(person),
        Some(Change::DeleteCompany(company)) => check_external_id(&company.external_id),
        Some(Change::DeletePerson(person)) => check_external_id(&person.external_id),
    }
}

/// Every rule that a company breaks, in the order of its fields.
#[must_use]
pub fn check_company(company: &CompanyRecord) -> Vec<Violation> {
    let mut found = check_external_id(&company.external_id);
    check_required(&mut found, "name", &company.name, MAX_NAME_CHARS);
    check_optional(&mut found, "domain", company.domain.as_deref(), MAX_LINE_CHARS);
    check_optional(
        &mut found,
        "website",
        company.website.as_deref(),
        MAX_WEBSITE_CHARS,
    );
    check_labels(
        &mut found,
        "businessTypes",
        &company.business_types,
        MAX_BUSINESS_TYPES,
    );
    check_optional(
        &mut found,
        "description",
        company.description.as_deref(),
        MAX_DESCRIPTION_CHARS,
    );
    check_labels(&mut found, "tags", &company.tags, MAX_TAGS);
    check_optional(
        &mut found,
        "businessEmail",
        company.business_email.as_deref(),
        MAX_EMAIL_CHARS,
    );
    check_optional(
        &mut found,
        "businessPhone",
        company.business_phone.as_deref(),
        MAX_LINE_CHARS,
    );
    check_place(
        &mut found,
        company.city.as_deref(),
        company.region.as_deref(),
        company.country.as_deref(),
    );
    if let Some(count) = company.employee_count.filter(|count| *count < 0) {
        found.push(Violation::at(
            "employeeCount",
            TooSmall,
            format!("is {count}, less than 0"),
        ));
    }
    if let Some(text) = given(company.founded_date.as_deref())
        && day::parse_founded(text).is_none()
    {
        let (first, last) = day::FOUNDED_YEARS;
        let message = format!("is no day or year of {first}-{last}");
        found.push(Violation::at("foundedDate", InvalidFormat, message).hint("write YYYY-MM-DD or YYYY"));
    }
    check_updated(&mut found, company.info_updated_at.as_ref());
    found
}

/// Every rule that a person breaks, in the order of their fields.
#[must_use]
pub fn check_person(person: &PersonRecord) -> Vec<Violation> {
    let mut found = check_external_id(&person.external_id);
    let company = person.company_external_id.as_deref();
    check_optional(&mut found, "companyExternalId", company, MAX_EXTERNAL_ID_CHARS);
    let names = [&person.first_name, &person.last_name, &person.full_name];
    if names.iter().all(|name| given(name.as_deref()).is_none()) {
        let violation = Violation::at("fullName", Missing, "is missing");
        found.push(violation.hint("one of fullName, firstName and lastName is required"));
    }
    check_optional(
        &mut found,
        "firstName",
        person.first_name.as_deref(),
        MAX_SHORT_CHARS,
    );
    check_optional(
        &mut found,
        "lastName",
        person.last_name.as_deref(),
        MAX_SHORT_CHARS,
    );
    check_optional(
        &mut found,
        "fullName",
        person.full_name.as_deref(),
        MAX_NAME_CHARS,
    );
    check_optional(
        &mut found,
        "jobTitle",
        person.job_title.as_deref(),
        MAX_LINE_CHARS,
    );
    check_optional(&mut found, "email", person.email.as_deref(), MAX_EMAIL_CHARS);
    check_place(
        &mut found,
        person.city.as_deref(),
        person.region.as_deref(),
        person.country.as_deref(),
    );
    check_updated(&mut found, person.info_updated_at.as_ref());
    found
}

/// Every rule that an external id breaks.
#[must_use]
pub fn check_external_id(id: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    check_required(&mut found, "externalId", id, MAX_EXTERNAL_ID_CHARS);
    found
}

/// The text without the spaces around it; none if it is blank.
#[must_use]
pub fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn check_required(found: &mut Vec<Violation>, property: &str, text: &str, max_chars: usize) {
    if given(Some(text)).is_none() {
        found.push(Violation::at(property, Missing, "is missing"));
    } else {
        found.extend(text_problems(property, text, max_chars));
    }
}

fn check_optional(found: &mut Vec<Violation>, property: &str, text: Option<&str>, max_chars: usize) {
    found.extend(
        text.into_iter()
            .flat_map(|text| text_problems(property, text, max_chars)),
    );
}

fn check_labels(found: &mut Vec<Violation>, property: &str, labels: &[String], max_items: usize) {
    if labels.len() > max_items {
        let message = format!("has {} items, more than {max_items}", labels.len());
        found.push(Violation::at(property, TooBig, message));
    }
    for (index, label) in labels.iter().enumerate().take(max_items) {
        found.extend(text_problems(property, label, MAX_LABEL_CHARS).map(|violation| violation.item(index)));
    }
}

fn check_place(found: &mut Vec<Violation>, city: Option<&str>, region: Option<&str>, country: Option<&str>) {
    check_optional(found, "city", city, MAX_SHORT_CHARS);
    check_optional(found, "region", region, MAX_SHORT_CHARS);
    if let Some(country) = given(country)
        && !(country.len() == 2 && country.bytes().all(|letter| letter.is_ascii_alphabetic()))
    {
        let violation = Violation::at("country", InvalidFormat, "is no ISO 3166-1 alpha-2 code");
        found.push(violation.hint("two letters, such as DE"));
    }
}

fn check_updated(found: &mut Vec<Violation>, at: Option<&prost_types::Timestamp>) {
    let Some(at) = at else { return };
    let (first, last) = day::YEARS;
    let in_years = u32::try_from(at.nanos)
        .ok()
        .and_then(|nanos| chrono::DateTime::from_timestamp(at.seconds, nanos))
        .is_some_and(|time| (first..=last).contains(&chrono::Datelike::year(&time)));
    if !in_years {
        let message = format!("is no time of the years {first}-{last}");
        found.push(Violation::at("infoUpdatedAt", InvalidFormat, message));
    }
}

/// A NUL, and too many characters; the spaces around a text are not stored and do not count.
fn text_problems(property: &str, text: &str, max_chars: usize) -> impl Iterator<Item = Violation> {
    let nul = text
        .contains('\0')
        .then(|| Violation::at(property, InvalidValue, "contains a NUL character"));
    let chars = text.trim().chars().count();
    let long = (chars > max_chars).then(|| {
        Violation::at(
            property,
            TooLong,
            format!("has {chars} characters, more than {max_chars}"),
        )
    });
    iter::empty().chain(nul).chain(long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::v1::{DeleteCompany, DeletePerson};
    use crate::violation::ViolationCode;

    type Set = fn(&mut CompanyRecord, String);
    type SetPerson = fn(&mut PersonRecord, String);

    fn company() -> CompanyRecord {
        CompanyRecord {
            external_id: "c1".into(),
            name: "Acme".into(),
            ..CompanyRecord::default()
        }
    }

    fn person() -> PersonRecord {
        PersonRecord {
            external_id: "p1".into(),
            full_name: Some("Ada".into()),
            ..PersonRecord::default()
        }
    }

    fn company_with(change: impl FnOnce(&mut CompanyRecord)) -> Vec<(String, ViolationCode)> {
        let mut company = company();
        change(&mut company);
        told(&check_company(&company))
    }

    fn person_with(change: impl FnOnce(&mut PersonRecord)) -> Vec<(String, ViolationCode)> {
        let mut person = person();
        change(&mut person);
        told(&check_person(&person))
    }

    fn told(violations: &[Violation]) -> Vec<(String, ViolationCode)> {
        violations
            .iter()
            .map(|violation| (violation.field(), violation.code))
            .collect()
    }

    fn at(field: &str, code: ViolationCode) -> Vec<(String, ViolationCode)> {
        vec![(field.to_owned(), code)]
    }

    #[test]
    fn only_an_external_id_and_a_name_are_required() {
        assert_eq!(company_with(|_| {}), []);
        assert_eq!(person_with(|_| {}), []);
        assert_eq!(
            company_with(|company| company.external_id = " ".into()),
            at("externalId", Missing)
        );
        assert_eq!(company_with(|company| company.name.clear()), at("name", Missing));
        assert_eq!(
            person_with(|person| person.external_id.clear()),
            at("externalId", Missing)
        );
        assert_eq!(
            person_with(|person| person.full_name = Some(" ".into())),
            at("fullName", Missing)
        );
        assert_eq!(
            person_with(|person| (person.full_name, person.first_name) = (None, Some("Ada".into()))),
            []
        );
        assert_eq!(
            person_with(|person| (person.full_name, person.last_name) = (None, Some("Ng".into()))),
            []
        );
    }

    #[test]
    fn texts_are_bounded_in_characters() {
        let texts: [(&str, usize, Set); 9] = [
            ("externalId", 200, |company, text| company.external_id = text),
            ("name", 500, |company, text| company.name = text),
            ("domain", 500, |company, text| company.domain = Some(text)),
            ("website", 2_000, |company, text| company.website = Some(text)),
            ("description", 10_000, |company, text| {
                company.description = Some(text);
            }),
            ("businessEmail", 320, |company, text| {
                company.business_email = Some(text);
            }),
            ("businessPhone", 500, |company, text| {
                company.business_phone = Some(text);
            }),
            ("city", 200, |company, text| company.city = Some(text)),
            ("region", 200, |company, text| company.region = Some(text)),
        ];
        for (property, max, set) in texts {
            assert_eq!(
                company_with(|company| set(company, format!(" {} ", "é".repeat(max)))),
                [],
                "{property}"
            );
            assert_eq!(
                company_with(|company| set(company, "é".repeat(max + 1))),
                at(property, TooLong)
            );
            assert_eq!(
                company_with(|company| set(company, "a\0".into())),
                at(property, InvalidValue)
            );
        }
        let texts: [(&str, usize, SetPerson); 9] = [
            ("externalId", 200, |person, text| person.external_id = text),
            ("companyExternalId", 200, |person, text| {
                person.company_external_id = Some(text);
            }),
            ("firstName", 200, |person, text| person.first_name = Some(text)),
            ("lastName", 200, |person, text| person.last_name = Some(text)),
            ("fullName", 500, |person, text| person.full_name = Some(text)),
            ("jobTitle", 500, |person, text| person.job_title = Some(text)),
            ("email", 320, |person, text| person.email = Some(text)),
            ("city", 200, |person, text| person.city = Some(text)),
            ("region", 200, |person, text| person.region = Some(text)),
        ];
        for (property, max, set) in texts {
            assert_eq!(
                person_with(|person| set(person, "é".repeat(max))),
                [],
                "{property}"
            );
            assert_eq!(
                person_with(|person| set(person, "é".repeat(max + 1))),
                at(property, TooLong)
            );
            assert_eq!(
                person_with(|person| set(person, "a\0".into())),
                at(property, InvalidValue)
            );
        }
    }

    #[test]
    fn labels_are_bounded_in_number_and_length() {
        let labels = |count: usize, chars: usize| vec!["é".repeat(chars); count];
        assert_eq!(
            company_with(|company| company.business_types = labels(50, 200)),
            []
        );
        assert_eq!(
            company_with(|company| company.business_types = labels(51, 200)),
            at("businessTypes", TooBig)
        );
        assert_eq!(
            company_with(|company| company.business_types = labels(1, 201)),
            at("businessTypes[0]", TooLong)
        );
        assert_eq!(company_with(|company| company.tags = labels(100, 200)), []);
        assert_eq!(
            company_with(|company| company.tags = labels(101, 200)),
            at("tags", TooBig)
        );
        assert_eq!(
            company_with(|company| company.tags = vec!["a".into(), "\0".into()]),
            at("tags[1]", InvalidValue)
        );
    }

    #[test]
    fn forms_are_checked_where_there_is_one() {
        for country in ["DE", "de", " de ", "", " "] {
            assert_eq!(
                company_with(|company| company.country = Some(country.into())),
                [],
                "{country}"
            );
            assert_eq!(
                person_with(|person| person.country = Some(country.into())),
                [],
                "{country}"
            );
        }
        for country in ["DEU", "D", "Germany", "ÄÖ", "1A"] {
            assert_eq!(
                company_with(|company| company.country = Some(country.into())),
                at("country", InvalidFormat)
            );
            assert_eq!(
                person_with(|person| person.country = Some(country.into())),
                at("country", InvalidFormat)
            );
        }
        for founded in ["1999", "1000", "2100-12-31", " 1999 ", ""] {
            assert_eq!(
                company_with(|company| company.founded_date = Some(founded.into())),
                [],
                "{founded}"
            );
        }
        for founded in ["999", "2101", "1999-02-30", "99"] {
            let found = company_with(|company| company.founded_date = Some(founded.into()));
            assert_eq!(found, at("foundedDate", InvalidFormat), "{founded}");
        }
        assert_eq!(company_with(|company| company.employee_count = Some(0)), []);
        assert_eq!(
            company_with(|company| company.employee_count = Some(-1)),
            at("employeeCount", TooSmall)
        );
        let time = |seconds: i64, nanos: i32| Some(prost_types::Timestamp { seconds, nanos });
        for (seconds, nanos, fine) in [
            (-2_208_988_800, 0, true),
            (4_133_980_799, 999_999_999, true),
            (-2_208_988_801, 999_999_999, false),
            (4_133_980_800, 0, false),
            (0, -1, false),
            (0, 2_000_000_000, false),
            (i64::MAX, 0, false),
        ] {
            let expected = if fine {
                vec![]
            } else {
                at("infoUpdatedAt", InvalidFormat)
            };
            assert_eq!(
                company_with(|company| company.info_updated_at = time(seconds, nanos)),
                expected
            );
            assert_eq!(
                person_with(|person| person.info_updated_at = time(seconds, nanos)),
                expected
            );
        }
    }

    #[test]
    fn every_problem_is_told_at_once_in_the_order_of_the_fields() {
        let found = company_with(|company| {
            *company = CompanyRecord {
                domain: Some("\0".into()),
                country: Some("Germany".into()),
                employee_count: Some(-5),
                founded_date: Some("once".into()),
                ..CompanyRecord::default()
            };
        });
        let fields = found.into_iter().map(|(field, _)| field).collect::<Vec<_>>();
        assert_eq!(
            fields,
            [
                "externalId",
                "name",
                "domain",
                "country",
                "employeeCount",
                "foundedDate"
            ]
        );
    }

    #[test]
    fn a_deletion_needs_only_the_external_id() {
        let record = |change| ImportRecord { line: 1, change };
        let deletion = |external_id: &str| {
            record(Some(Change::DeletePerson(DeletePerson {
                external_id: external_id.into(),
            })))
        };
        assert_eq!(check(&deletion("p1")), []);
        assert_eq!(told(&check(&deletion(""))), at("externalId", Missing));
        let company = DeleteCompany {
            external_id: "x".repeat(201),
        };
        assert_eq!(
            told(&check(&record(Some(Change::DeleteCompany(company))))),
            at("externalId", TooLong)
        );
        assert_eq!(told(&check(&record(None))), at("type", Missing));
    }
}
