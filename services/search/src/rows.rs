//! What a row tells that its document can't know: what depends on the day, on the query, and on which fields were
//! asked for.

use std::collections::HashSet;

use proto::search::v1::{Company, EmailStatus, Location, LocationMatch, Person};

/// Which fields were asked for, by their names and paths in the public JSON.
#[derive(Clone, Debug)]
pub struct Mask(Option<HashSet<String>>);

impl Mask {
    /// The fields of a query that breaks no rule; none of them means all.
    #[must_use]
    pub fn new(fields: &[String]) -> Self {
        let names: HashSet<String> = fields
            .iter()
            .filter(|name| !name.trim().is_empty())
            .cloned()
            .collect();
        Self((!names.is_empty()).then_some(names))
    }

    /// Whether the whole of this field was asked for.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(name))
    }

    /// The parts of this field that were asked for: none if it was neither asked for as a whole nor in part.
    fn parts<'a>(&'a self, name: &'a str) -> Option<impl Fn(&str) -> bool + 'a> {
        let prefix = format!("{name}.");
        let any = self.has(name)
            || self
                .0
                .as_ref()
                .is_some_and(|names| names.iter().any(|path| path.starts_with(&prefix)));
        any.then_some(move |part: &str| self.has(name) || self.has(&format!("{prefix}{part}")))
    }
}

/// Leaves the fields of a company that were not asked for at their defaults. The id stays.
pub fn mask_company(company: &mut Company, mask: &Mask) {
    clear(&mut company.name, mask.has("name"));
    clear(&mut company.domain, mask.has("domain"));
    clear(&mut company.website, mask.has("website"));
    clear(&mut company.business_types, mask.has("businessTypes"));
    clear(&mut company.description, mask.has("description"));
    clear(&mut company.tags, mask.has("tags"));
    clear(&mut company.business_email, mask.has("businessEmail"));
    clear(&mut company.business_phone, mask.has("businessPhone"));
    mask_location(&mut company.location, mask);
    clear(&mut company.employee_count, mask.has("employeeCount"));
    clear(&mut company.founded_date, mask.has("foundedDate"));
    clear(&mut company.new_business, mask.has("newBusiness"));
    clear(&mut company.info_updated_at, mask.has("infoUpdatedAt"));
    clear(&mut company.location_match, mask.has("locationMatch"));
}

/// Leaves the fields of a person that were not asked for at their defaults. The id stays.
pub fn mask_person(person: &mut Person, mask: &Mask) {
    clear(&mut person.full_name, mask.has("fullName"));
    clear(&mut person.first_name, mask.has("firstName"));
    clear(&mut person.last_name, mask.has("lastName"));
    clear(&mut person.job_title, mask.has("jobTitle"));
    clear(&mut person.email, mask.has("email"));
    clear(&mut person.email_status, mask.has("emailStatus"));
    mask_location(&mut person.location, mask);
    match (&mut person.company, mask.parts("company")) {
        (Some(company), Some(has)) => {
            clear(&mut company.id, has("id"));
            clear(&mut company.name, has("name"));
            clear(&mut company.domain, has("domain"));
            clear(&mut company.website, has("website"));
            clear(&mut company.business_types, has("businessTypes"));
        }
        (company, _) => *company = None,
    }
    clear(&mut person.info_updated_at, mask.has("infoUpdatedAt"));
}

fn mask_location(location: &mut Option<Location>, mask: &Mask) {
    match (location, mask.parts("location")) {
        (Some(location), Some(has)) => {
            clear(&mut location.city, has("city"));
            clear(&mut location.region, has("region"));
            clear(&mut location.country, has("country"));
            clear(&mut location.country_code, has("countryCode"));
        }
        (location, _) => *location = None,
    }
}

fn clear<T: Default>(value: &mut T, keep: bool) {
    if !keep {
        *value = T::default();
    }
}

/// What met the location filter of a search for companies.
#[must_use]
pub const fn location_match(asked: bool, own_place: bool) -> LocationMatch {
    match (asked, own_place) {
        (false, _) => LocationMatch::Unspecified,
        (true, true) => LocationMatch::Company,
        (true, false) => LocationMatch::People,
    }
}

/// Shows the address of a person where the account has revealed it.
pub fn reveal(person: &mut Person, address: Option<String>) {
    if let Some(address) = address {
        person.email = Some(address);
        person.set_email_status(EmailStatus::Revealed);
    }
}

#[cfg(test)]
mod tests {
    use proto::RecordKind;
    use proto::search::v1::CompanySummary;
    use proto::search_query::field_names;

    use super::*;

    fn mask(names: &[&str]) -> Mask {
        Mask::new(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    fn location() -> Location {
        Location {
            city: Some("Köln".into()),
            region: Some("NW".into()),
            country: Some("Germany".into()),
            country_code: Some("DE".into()),
        }
    }

    fn company() -> Company {
        let some = || Some("x".to_owned());
        Company {
            id: "id".into(),
            name: "x".into(),
            domain: some(),
            website: some(),
            business_types: vec!["x".into()],
            description: some(),
            tags: vec!["x".into()],
            business_email: some(),
            business_phone: some(),
            location: Some(location()),
            employee_count: Some(1),
            founded_date: some(),
            new_business: true,
            info_updated_at: Some(prost_types::Timestamp { seconds: 1, nanos: 0 }),
            location_match: LocationMatch::Company.into(),
        }
    }

    fn person() -> Person {
        let some = || Some("x".to_owned());
        Person {
            id: "id".into(),
            full_name: "x".into(),
            first_name: some(),
            last_name: some(),
            job_title: some(),
            email: some(),
            email_status: EmailStatus::Revealed.into(),
            location: Some(location()),
            company: Some(CompanySummary {
                id: "c".into(),
                name: "x".into(),
                domain: some(),
                website: some(),
                business_types: vec!["x".into()],
            }),
            info_updated_at: Some(prost_types::Timestamp { seconds: 1, nanos: 0 }),
        }
    }

    fn whole(names: &[&'static str]) -> Vec<&'static str> {
        names.iter().copied().filter(|name| !name.contains('.')).collect()
    }

    /// Each name keeps something, and together they keep everything.
    #[test]
    fn every_field_name_is_known_to_the_mask() {
        let names = field_names(RecordKind::Company);
        for name in names.iter().filter(|name| **name != "id") {
            let mut masked = company();
            mask_company(&mut masked, &mask(&[name]));
            assert_ne!(
                masked,
                Company {
                    id: "id".into(),
                    ..Company::default()
                },
                "{name}"
            );
        }
        let mut masked = company();
        mask_company(&mut masked, &mask(&whole(names)));
        assert_eq!(masked, company());

        let names = field_names(RecordKind::Person);
        for name in names.iter().filter(|name| **name != "id") {
            let mut masked = person();
            mask_person(&mut masked, &mask(&[name]));
            assert_ne!(
                masked,
                Person {
                    id: "id".into(),
                    ..Person::default()
                },
                "{name}"
            );
        }
        let mut masked = person();
        mask_person(&mut masked, &mask(&whole(names)));
        assert_eq!(masked, person());
    }

    #[test]
    fn no_field_or_only_blank_ones_means_all() {
        for names in [&[] as &[&str], &["", "  "]] {
            let mut masked = person();
            mask_person(&mut masked, &mask(names));
            assert_eq!(masked, person());
        }
    }

    #[test]
    fn a_path_keeps_its_part_alone_and_the_id_always_stays() {
        let mut masked = person();
        mask_person(&mut masked, &mask(&["company.name", "location.city"]));
        let expected = Person {
            id: "id".into(),
            location: Some(Location {
                city: Some("Köln".into()),
                ..Location::default()
            }),
            company: Some(CompanySummary {
                name: "x".into(),
                ..CompanySummary::default()
            }),
            ..Person::default()
        };
        assert_eq!(masked, expected);

        let mut masked = company();
        mask_company(&mut masked, &mask(&["location", "location.city"]));
        assert_eq!(
            masked,
            Company {
                id: "id".into(),
                location: Some(location()),
                ..Company::default()
            }
        );

        let mut alone = Person {
            company: None,
            location: None,
            ..person()
        };
        mask_person(&mut alone, &mask(&["company.name", "location.city"]));
        assert_eq!(
            alone,
            Person {
                id: "id".into(),
                ..Person::default()
            }
        );
    }
}
