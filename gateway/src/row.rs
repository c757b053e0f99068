//! Rows: records of the search service as the public JSON has them.
//!
//! The types here are the documented ones and the answered ones. Without `fields` a row is written as it is; with
//! `fields` it is written to a JSON object first, from which what was asked for is picked.

use chrono::{DateTime, SecondsFormat};
use proto::search::v1::{self, SearchQuery};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A company.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompanyRow {
    /// Id of the record.
    #[schema(format = Uuid)]
    pub id: String,
    /// Name as the company writes it.
    #[schema(example = "Example Tools Inc.")]
    pub name: String,
    /// Its domain as the source has it; null if none is known, as with all that may be null here.
    #[schema(example = "example.com")]
    pub domain: Option<String>,
    /// Address of its website as the source has it.
    #[schema(example = "https://www.example.com")]
    pub website: Option<String>,
    /// What it does, in the words of the source; empty if nothing is known.
    pub business_types: Vec<String>,
    /// What the company says of itself, or others of it.
    #[schema(example = "Tools that make examples.")]
    pub description: Option<String>,
    /// Labels of the source, by which `searchTags` finds it.
    pub tags: Vec<String>,
    /// E-mail address of the company, which is nobody's own.
    #[schema(example = "info@example.com")]
    pub business_email: Option<String>,
    /// Telephone number as the source writes it.
    #[schema(example = "+1 217-555-0142")]
    pub business_phone: Option<String>,
    /// Its place.
    pub location: LocationRow,
    /// Number of employees.
    #[schema(example = 42)]
    pub employee_count: Option<i64>,
    /// Day of founding, `YYYY-MM-DD`, or `YYYY` where only the year is known.
    #[schema(example = "2019-05-02")]
    pub founded_date: Option<String>,
    /// Founded within the last 365 days.
    pub new_business: bool,
    /// When the record was last updated.
    #[schema(format = DateTime)]
    pub info_updated_at: Option<String>,
    /// What met the location filter; not there where there was none, null if asked for then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub location_match: Option<LocationMatch>,
}

/// What met a location filter: the company's own place, or the place of at least one of its people.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum LocationMatch {
    /// The company's own place.
    Company,
    /// The place of at least one of its people.
    People,
}

/// A place as the record names it.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Location)]
pub struct LocationRow {
    /// City.
    #[schema(example = "Springfield")]
    pub city: Option<String>,
    /// Region, as name or code.
    #[schema(example = "Illinois")]
    pub region: Option<String>,
    /// English name of the country.
    #[schema(example = "United States")]
    pub country: Option<String>,
    /// ISO 3166-1 alpha-2 code of the country.
    #[schema(example = "US")]
    pub country_code: Option<String>,
}

/// A person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonRow {
    /// Id of the record.
    #[schema(format = Uuid)]
    pub id: String,
    /// Full name.
    #[schema(example = "Robin Example")]
    pub full_name: String,
    /// Given name.
    #[schema(example = "Robin")]
    pub first_name: Option<String>,
    /// Family name.
    #[schema(example = "Example")]
    pub last_name: Option<String>,
    /// Job title at `company`.
    #[schema(example = "CTO")]
    pub job_title: Option<String>,
    /// The e-mail address, only where `emailStatus` is `revealed`.
    pub email: Option<String>,
    /// `none`: no address is known; `locked`: one is known, `email` is null; `revealed`: `email` is the address.
    pub email_status: EmailStatus,
    /// Their place.
    pub location: LocationRow,
    /// The company they work at.
    pub company: Option<PersonCompany>,
    /// When the record was last updated.
    #[schema(format = DateTime)]
    pub info_updated_at: Option<String>,
}

/// Whether an e-mail address is known, and shown.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum EmailStatus {
    /// No address is known.
    None,
    /// One is known; this account has not revealed it.
    Locked,
    /// This account has revealed it.
    Revealed,
}

/// What a person's row tells of the company.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonCompany {
    /// Id of the company.
    #[schema(format = Uuid)]
    pub id: String,
    /// Name as the company writes it.
    #[schema(example = "Example Tools Inc.")]
    pub name: String,
    /// Its domain as the source has it; null if none is known.
    #[schema(example = "example.com")]
    pub domain: Option<String>,
    /// Address of its website as the source has it.
    #[schema(example = "https://www.example.com")]
    pub website: Option<String>,
    /// What it does, in the words of the source; empty if nothing is known.
    pub business_types: Vec<String>,
}

/// A row as it is answered.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Row {
    /// A company, whole.
    Company(Box<CompanyRow>),
    /// A person, whole.
    Person(Box<PersonRow>),
    /// What was asked for.
    Picked(Map<String, Value>),
}

impl From<v1::Company> for CompanyRow {
    fn from(company: v1::Company) -> Self {
        let location_match = match company.location_match() {
            v1::LocationMatch::Unspecified => None,
            v1::LocationMatch::Company => Some(LocationMatch::Company),
            v1::LocationMatch::People => Some(LocationMatch::People),
        };
        Self {
            id: company.id,
            name: company.name,
            domain: company.domain,
            website: company.website,
            business_types: company.business_types,
            description: company.description,
            tags: company.tags,
            business_email: company.business_email,
            business_phone: company.business_phone,
            location: company.location.map(LocationRow::from).unwrap_or_default(),
            employee_count: company.employee_count,
            founded_date: company.founded_date,
            new_business: company.new_business,
            info_updated_at: company.info_updated_at.and_then(rfc3339),
            location_match,
        }
    }
}

impl From<v1::Person> for PersonRow {
    fn from(person: v1::Person) -> Self {
        let email_status = match person.email_status() {
            v1::EmailStatus::Unspecified | v1::EmailStatus::None => EmailStatus::None,
            v1::EmailStatus::Locked => EmailStatus::Locked,
            v1::EmailStatus::Revealed => EmailStatus::Revealed,
        };
        Self {
            id: person.id,
            full_name: person.full_name,
            first_name: person.first_name,
            last_name: person.last_name,
            job_title: person.job_title,
            email: person.email,
            email_status,
            location: person.location.map(LocationRow::from).unwrap_or_default(),
            company: person.company.map(PersonCompany::from),
            info_updated_at: person.info_updated_at.and_then(rfc3339),
        }
    }
}

impl From<v1::Location> for LocationRow {
    fn from(location: v1::Location) -> Self {
        let v1::Location {
            city,
            region,
            country,
            country_code,
        } = location;
        Self {
            city,
            region,
            country,
            country_code,
        }
    }
}

impl From<v1::CompanySummary> for PersonCompany {
    fn from(company: v1::CompanySummary) -> Self {
        let v1::CompanySummary {
            id,
            name,
            domain,
            website,
            business_types,
        } = company;
        Self {
            id,
            name,
            domain,
            website,
            business_types,
        }
    }
}

/// RFC 3339 in UTC, with milliseconds and `Z`.
#[must_use]
pub fn rfc3339(timestamp: prost_types::Timestamp) -> Option<String> {
    let time = DateTime::from_timestamp(timestamp.seconds, timestamp.nanos.try_into().ok()?)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Which fields of a row are answered.
#[derive(Debug)]
pub struct Selection {
    /// None: all of them. Else names and paths in the row's order, without those that a shorter one covers.
    paths: Option<Vec<(&'static str, Option<&'static str>)>>,
}

impl Selection {
    /// What a valid query asks for, of rows with these field names.
    #[must_use]
    pub fn of(query: &SearchQuery, names: &'static [&'static str]) -> Self {
        let asked = |name: &str| name == "id" || query.fields.iter().any(|field| field == name);
        if query.fields.iter().all(|field| field.trim().is_empty()) {
            return Self { paths: None };
        }
        let paths = names
            .iter()
            .filter(|name| asked(name))
            .filter_map(|name| match name.split_once('.') {
                None => Some((*name, None)),
                Some((parent, _)) if asked(parent) => None,
                Some((parent, child)) => Some((parent, Some(child))),
            });
        Self {
            paths: Some(paths.collect()),
        }
    }

    /// A company's row.
    #[must_use]
    pub fn company(&self, company: v1::Company) -> Row {
        let row = CompanyRow::from(company);
        if self.paths.is_none() {
            Row::Company(Box::new(row))
        } else {
            Row::Picked(self.pick(&row))
        }
    }

    /// A person's row.
    #[must_use]
    pub fn person(&self, person: v1::Person) -> Row {
        let row = PersonRow::from(person);
        if self.paths.is_none() {
            Row::Person(Box::new(row))
        } else {
            Row::Picked(self.pick(&row))
        }
    }

    /// Every field asked for is there: with null what the row has not.
    fn pick(&self, row: &impl Serialize) -> Map<String, Value> {
        // A row is an object of texts, numbers and lists: it can always be written.
        let mut row = match serde_json::to_value(row) {
            Ok(Value::Object(row)) => row,
            _ => Map::new(),
        };
        let mut picked = Map::new();
        for (name, child) in self.paths.iter().flatten() {
            match child {
                None => {
                    picked.insert((*name).to_owned(), row.remove(*name).unwrap_or_default());
                }
                Some(child) => {
                    let parent = row.get_mut(*name).and_then(Value::as_object_mut);
                    match (
                        parent.map(|parent| parent.remove(*child).unwrap_or_default()),
                        picked.get_mut(*name),
                    ) {
                        (Some(value), Some(Value::Object(object))) => {
                            object.insert((*child).to_owned(), value);
                        }
                        (Some(value), _) => {
                            let object = Map::from_iter([((*child).to_owned(), value)]);
                            picked.insert((*name).to_owned(), object.into());
                        }
                        (None, _) => {
                            picked.insert((*name).to_owned(), Value::Null);
                        }
                    }
                }
            }
        }
        picked
    }
}

#[cfg(test)]
mod tests {
    use proto::search_query::{RecordKind, field_names};
    use serde_json::json;

    use super::*;

    fn company() -> v1::Company {
        v1::Company {
            id: "c1".to_owned(),
            name: "Acme".to_owned(),
            location: Some(v1::Location {
                city: Some("Springfield".to_owned()),
                ..v1::Location::default()
            }),
            info_updated_at: Some(prost_types::Timestamp {
                seconds: 1_782_000_000,
                nanos: 7_000_000,
            }),
            ..v1::Company::default()
        }
    }

    fn person() -> v1::Person {
        v1::Person {
            id: "p1".to_owned(),
            full_name: "Ada Example".to_owned(),
            email_status: v1::EmailStatus::Locked.into(),
            company: Some(v1::CompanySummary {
                id: "c1".to_owned(),
                name: "Acme".to_owned(),
                ..v1::CompanySummary::default()
            }),
            ..v1::Person::default()
        }
    }

    fn companies(fields: &[&str], company: v1::Company) -> Value {
        let query = SearchQuery {
            fields: fields.iter().map(ToString::to_string).collect(),
            ..SearchQuery::default()
        };
        json!(Selection::of(&query, field_names(RecordKind::Company)).company(company))
    }

    fn people(fields: &[&str], person: v1::Person) -> Value {
        let query = SearchQuery {
            fields: fields.iter().map(ToString::to_string).collect(),
            ..SearchQuery::default()
        };
        json!(Selection::of(&query, field_names(RecordKind::Person)).person(person))
    }

    #[test]
    fn a_whole_row_has_every_field_and_null_or_nothing_where_nothing_is_known() {
        let expected = json!({
            "id": "c1", "name": "Acme", "domain": null, "website": null, "businessTypes": [], "description": null,
            "tags": [], "businessEmail": null, "businessPhone": null,
            "location": {"city": "Springfield", "region": null, "country": null, "countryCode": null},
            "employeeCount": null, "foundedDate": null, "newBusiness": false,
            "infoUpdatedAt": "2026-06-21T00:00:00.007Z",
        });
        assert_eq!(companies(&[], company()), expected);
        assert_eq!(companies(&["", " "], company()), expected);
        let expected = json!({
            "id": "p1", "fullName": "Ada Example", "firstName": null, "lastName": null, "jobTitle": null,
            "email": null, "emailStatus": "locked",
            "location": {"city": null, "region": null, "country": null, "countryCode": null},
            "company": {"id": "c1", "name": "Acme", "domain": null, "website": null, "businessTypes": []},
            "infoUpdatedAt": null,
        });
        assert_eq!(people(&[], person()), expected);
    }

    #[test]
    fn what_met_the_location_is_told_where_a_location_was_asked_for() {
        let mut met = company();
        met.location_match = v1::LocationMatch::People.into();
        assert_eq!(companies(&[], met.clone())["locationMatch"], "people");
        assert_eq!(
            companies(&["locationMatch"], met),
            json!({"id": "c1", "locationMatch": "people"})
        );
        assert_eq!(
            companies(&["locationMatch"], company()),
            json!({"id": "c1", "locationMatch": null})
        );
    }

    #[test]
    fn fields_pick_names_and_paths_in_any_order_and_the_id_always_comes() {
        assert_eq!(
            companies(&["tags", "domain"], company()),
            json!({"id": "c1", "domain": null, "tags": []})
        );
        assert_eq!(
            companies(&["location.region", "location.city", "name", "name"], company()),
            json!({"id": "c1", "name": "Acme", "location": {"city": "Springfield", "region": null}})
        );
        assert_eq!(
            people(&["company.name", "company"], person())["company"],
            json!({"id": "c1", "name": "Acme", "domain": null, "website": null, "businessTypes": []})
        );
        assert_eq!(
            people(&["company.name"], person()),
            json!({"id": "p1", "company": {"name": "Acme"}})
        );
        let alone = v1::Person {
            company: None,
            ..person()
        };
        assert_eq!(
            people(&["company.name", "company.id"], alone.clone()),
            json!({"id": "p1", "company": null})
        );
        assert_eq!(people(&["company"], alone), json!({"id": "p1", "company": null}));
    }

    #[test]
    fn every_name_that_can_be_asked_for_is_one_of_the_row_and_the_other_way_round() {
        fn paths(row: &Value, prefix: &str, found: &mut Vec<String>) {
            for (name, value) in row.as_object().unwrap() {
                found.push(format!("{prefix}{name}"));
                if value.is_object() {
                    paths(value, &format!("{name}."), found);
                }
            }
        }
        let mut met = company();
        met.location_match = v1::LocationMatch::Company.into();
        for (row, kind) in [
            (companies(&[], met), RecordKind::Company),
            (people(&[], person()), RecordKind::Person),
        ] {
            let mut found = Vec::new();
            paths(&row, "", &mut found);
            found.sort();
            let mut known = field_names(kind).to_vec();
            known.sort_unstable();
            assert_eq!(found, known);
        }
    }
}
