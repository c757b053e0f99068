//! Rows with the fields that were asked for, and nothing else but their ids.

use proto::search::v1::{Company, CompanySummary, Location, Person};

/// Whether a field, or the part of it, was asked for.
fn has(fields: &[String], field: &str) -> bool {
    let asked = fields
        .iter()
        .filter(|name| !name.trim().is_empty())
        .collect::<Vec<_>>();
    asked.is_empty() || asked.iter().any(|name| *name == field)
}

fn of<T: Clone + Default>(value: &T, asked: bool) -> T {
    if asked { value.clone() } else { T::default() }
}

fn location(row: Option<&Location>, fields: &[String]) -> Option<Location> {
    let part = |name: &str| has(fields, "location") || has(fields, &format!("location.{name}"));
    let row = row?;
    let asked = ["city", "region", "country", "countryCode"]
        .iter()
        .any(|name| part(name));
    asked.then(|| Location {
        city: of(&row.city, part("city")),
        region: of(&row.region, part("region")),
        country: of(&row.country, part("country")),
        country_code: of(&row.country_code, part("countryCode")),
    })
}

pub(crate) fn company(row: &Company, fields: &[String]) -> Company {
    let has = |name: &str| has(fields, name);
    Company {
        id: row.id.clone(),
        name: of(&row.name, has("name")),
        domain: of(&row.domain, has("domain")),
        website: of(&row.website, has("website")),
        business_types: of(&row.business_types, has("businessTypes")),
        description: of(&row.description, has("description")),
        tags: of(&row.tags, has("tags")),
        business_email: of(&row.business_email, has("businessEmail")),
        business_phone: of(&row.business_phone, has("businessPhone")),
        location: location(row.location.as_ref(), fields),
        employee_count: of(&row.employee_count, has("employeeCount")),
        founded_date: of(&row.founded_date, has("foundedDate")),
        new_business: of(&row.new_business, has("newBusiness")),
        info_updated_at: of(&row.info_updated_at, has("infoUpdatedAt")),
        location_match: of(&row.location_match, has("locationMatch")),
    }
}

pub(crate) fn person(row: &Person, fields: &[String]) -> Person {
    let asked = |name: &str| has(fields, name);
    let part = |name: &str| asked("company") || asked(&format!("company.{name}"));
    let any_part = ["id", "name", "domain", "website", "businessTypes"]
        .iter()
        .any(|name| part(name));
    let company = row
        .company
        .as_ref()
        .filter(|_| any_part)
        .map(|company| CompanySummary {
            id: of(&company.id, part("id")),
            name: of(&company.name, part("name")),
            domain: of(&company.domain, part("domain")),
            website: of(&company.website, part("website")),
            business_types: of(&company.business_types, part("businessTypes")),
        });
    Person {
        id: row.id.clone(),
        full_name: of(&row.full_name, asked("fullName")),
        first_name: of(&row.first_name, asked("firstName")),
        last_name: of(&row.last_name, asked("lastName")),
        job_title: of(&row.job_title, asked("jobTitle")),
        email: of(&row.email, asked("email")),
        email_status: of(&row.email_status, asked("emailStatus")),
        location: location(row.location.as_ref(), fields),
        company,
        info_updated_at: of(&row.info_updated_at, asked("infoUpdatedAt")),
    }
}
