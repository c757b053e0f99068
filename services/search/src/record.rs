//! The records, as the store keeps them.

use std::cmp::Ordering;

use chrono::{DateTime, NaiveDate, Utc};
use uuid::Uuid;

/// Number of a company within the store, counted from 1: what people's documents refer to it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompanyNumber(pub u64);

/// A company.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Company {
    /// Given by the store with the first writing; none before.
    pub number: Option<CompanyNumber>,
    /// Public id; stays the same as long as the external id is known.
    pub id: Uuid,
    /// Id in the source.
    pub external_id: String,
    /// Name as the company writes it.
    pub name: String,
    /// Domain as the source has it.
    pub domain: Option<String>,
    /// Address of its website as the source has it.
    pub website: Option<String>,
    /// What it does.
    pub business_types: Vec<String>,
    /// Free text.
    pub description: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// Role address.
    pub business_email: Option<String>,
    /// Telephone number as the source has it.
    pub business_phone: Option<String>,
    /// Where it is.
    pub place: PlaceText,
    /// Number of employees.
    pub employee_count: Option<i64>,
    /// When it was founded.
    pub founded: Option<Founded>,
    /// When the source last updated it.
    pub info_updated_at: DateTime<Utc>,
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Public id; stays the same as long as the external id is known.
    pub id: Uuid,
    /// Id in the source.
    pub external_id: String,
    /// External id of the company they work at, whether that company is known or not.
    pub company_external_id: Option<String>,
    /// Full name.
    pub full_name: String,
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Job title.
    pub job_title: Option<String>,
    /// E-mail address. Leaves the service only for an account that has revealed it.
    pub email: Option<String>,
    /// Where they are.
    pub place: PlaceText,
    /// When the source last updated them.
    pub info_updated_at: DateTime<Utc>,
}

/// A place as the source has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PlaceText {
    /// City, in any spelling.
    pub city: Option<String>,
    /// Region, as name or code.
    pub region: Option<String>,
    /// ISO 3166-1 alpha-2 code of the country, upper case.
    pub country: Option<String>,
}

impl PlaceText {
    /// Whether nothing is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.city.is_none() && self.region.is_none() && self.country.is_none()
    }

    /// By city, region and country; in each, what is not known comes last.
    fn rank(&self) -> [(bool, Option<&str>); 3] {
        [&self.city, &self.region, &self.country].map(|part| (part.is_none(), part.as_deref()))
    }
}

/// By their bytes: the city first, then the region; what is not known comes last.
impl Ord for PlaceText {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for PlaceText {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A day of founding, or only its year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Founded {
    /// The day.
    Day(NaiveDate),
    /// The year.
    Year(i32),
}

/// What a company's document tells of one of its people.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Employee {
    /// Job title.
    pub job_title: Option<String>,
    /// Where they are.
    pub place: PlaceText,
}
