//! A made-up person of the sample. Nobody real: names are drawn part by part, addresses lead nowhere.

use chrono::NaiveDate;
use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use super::chance::Chance;
use super::company::{Company, updated_at};
use super::staff::{Employer, Places};
use super::title::Titles;
use super::{address, name};

/// A person in the import format.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Person {
    #[serde(rename = "type")]
    kind: &'static str,
    external_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    company_external_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    info_updated_at: String,
}

impl Person {
    /// The person of this number, from 1; of an employer or of none.
    pub(super) fn make_up(
        number: u32,
        employer: Option<&Employer>,
        titles: &Titles,
        places: &Places,
        seed: u64,
        as_of: NaiveDate,
    ) -> Self {
        let external_id = format!("made-up:{number:07}");
        let chance = |fact| Chance::of(seed, fact, &external_id);
        let company = employer.map(|employer| employer.company);

        let mut where_from = chance("place");
        let home = places.near(company, &mut where_from);
        let from = home
            .and_then(|home| home.country.as_deref())
            .or(company.and_then(|company| company.country.as_deref()));
        let name = name::name(from, &mut chance("name"));

        let mut title = chance("title");
        let job_title = title.percent(94).then(|| match employer {
            Some(employer) => titles.of_employee(employer.rank, employer.people, &mut title),
            None => titles.of_anyone(false, &mut title),
        });
        let email = chance("email").percent(80).then(|| {
            let domain = company.map_or_else(|| address::NO_COMPANY.to_owned(), Company::made_up_domain);
            address::personal(&name.first, &name.last, number, &domain)
        });
        let (first_name, last_name, full_name) = as_written(name, &mut chance("writing"));
        let (city, region, country) = match home {
            Some(home) if where_from.percent(90) => {
                (home.city.clone(), home.region.clone(), home.country.clone())
            }
            Some(home) => (None, None, home.country.clone()),
            None => (None, None, None),
        };
        Self {
            kind: "person",
            company_external_id: company.map(|company| company.external_id.clone()),
            first_name,
            last_name,
            full_name,
            job_title: job_title.flatten(),
            email,
            city,
            region,
            country,
            info_updated_at: updated_at(as_of, &mut chance("updated")),
            external_id,
        }
    }
}

/// A name as sources have it: mostly in full, sometimes one of its forms only, in capitals, or with its accents apart.
fn as_written(name: name::Name, chance: &mut Chance) -> (Option<String>, Option<String>, Option<String>) {
    let write = match chance.between(0, 99) {
        0..=1 => |text: String| text.to_uppercase(),
        2 => |text: String| text.nfd().collect(),
        _ => |text: String| text,
    };
    let (first, last, full) = (write(name.first), write(name.last), write(name.full));
    match chance.between(0, 99) {
        0..=6 => (None, None, Some(full)),
        7..=11 => (Some(first), Some(last), None),
        _ => (Some(first), Some(last), Some(full)),
    }
}
