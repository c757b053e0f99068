//! A company of the sample: its real facts, and the made-up ones that real companies lack.

use chrono::{Datelike as _, NaiveDate, TimeDelta};
use serde::{Deserialize, Serialize};

use super::chance::Chance;
use super::{address, phone};

/// A company in the import format.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Company {
    /// Always `company`.
    #[serde(rename = "type")]
    pub(super) kind: CompanyType,
    /// Id in the source.
    pub(super) external_id: String,
    /// Name.
    pub(super) name: String,
    /// Real domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) domain: Option<String>,
    /// Real website.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) website: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) business_types: Vec<String>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    /// Labels; one of them tells its worth on the stock exchange.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    /// Role address: made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) business_email: Option<String>,
    /// Telephone number: made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) business_phone: Option<String>,
    /// City, as the source spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) city: Option<String>,
    /// Region, as code or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<String>,
    /// Country, ISO alpha-2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) country: Option<String>,
    /// Employees: made up, but for a few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) employee_count: Option<u32>,
    /// Day or year of founding: a real year, or made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) founded_date: Option<String>,
    /// When the source last updated it: made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) info_updated_at: Option<String>,
}

/// The only type a company has.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CompanyType {
    /// `company`.
    Company,
}

impl Company {
    /// The company with what it lacks made up. What is known stays; done again, nothing changes.
    pub(super) fn complete(mut self, seed: u64, as_of: NaiveDate) -> Self {
        let chance = |fact| Chance::of(seed, fact, &self.external_id);
        let employees = self
            .employee_count
            .or_else(|| employees(&self.tags, &mut chance("employees")));
        let founded = self
            .founded_date
            .take()
            .or_else(|| founded(as_of, &mut chance("founded")));
        let email = self
            .business_email
            .take()
            .or_else(|| self.role_address(&mut chance("email")));
        let phone = self.business_phone.take().or_else(|| {
            let mut chance = chance("phone");
            let country = self.country.as_deref().filter(|_| chance.percent(85))?;
            phone::number(country, &mut chance)
        });
        let updated = self
            .info_updated_at
            .take()
            .or_else(|| Some(updated_at(as_of, &mut chance("updated"))));
        Self {
            employee_count: employees,
            founded_date: founded,
            business_email: email,
            business_phone: phone,
            info_updated_at: updated,
            ..self
        }
    }

    /// Its made-up domain, for addresses.
    pub(super) fn made_up_domain(&self) -> String {
        address::company_domain(self.domain.as_deref(), &self.name, &self.external_id)
    }

    fn role_address(&self, chance: &mut Chance) -> Option<String> {
        let role = match self.country.as_deref() {
            Some("DE" | "AT" | "CH") if chance.percent(50) => "kontakt",
            _ => chance.pick(&[
                "info", "info", "info", "contact", "office", "hello", "sales", "ir",
            ]),
        };
        chance
            .percent(80)
            .then(|| format!("{role}@{}", self.made_up_domain()))
    }
}

/// More for companies of more worth; none for some.
fn employees(tags: &[String], chance: &mut Chance) -> Option<u32> {
    let (low, high) = tags
        .iter()
        .find_map(|tag| match tag.as_str() {
            "nano-cap" => Some((1, 250)),
            "micro-cap" => Some((10, 1_500)),
            "small-cap" => Some((50, 10_000)),
            "mid-cap" => Some((500, 50_000)),
            "large-cap" => Some((3_000, 200_000)),
            "mega-cap" => Some((20_000, 500_000)),
            _ => None,
        })
        .unwrap_or((5, 2_000));
    chance.percent(92).then(|| chance.skewed(low, high))
}

/// A year, a day, or a day of the last year; none for almost half.
fn founded(as_of: NaiveDate, chance: &mut Chance) -> Option<String> {
    let day = match chance.between(0, 99) {
        0..=44 => return None,
        45..=54 => as_of - TimeDelta::days(i64::from(chance.between(1, 364))),
        _ => as_of - TimeDelta::days(i64::from(chance.skewed(400, 40_000))),
    };
    Some(if chance.percent(40) && day.year() < as_of.year() - 1 {
        day.format("%Y").to_string()
    } else {
        day.to_string()
    })
}

/// A moment of the last six years before the day, lately more often than long ago; sometimes only its day.
pub(super) fn updated_at(as_of: NaiveDate, chance: &mut Chance) -> String {
    let day = as_of - TimeDelta::days(i64::from(chance.skewed(1, 2_000)));
    if chance.percent(10) {
        return day.to_string();
    }
    let (hour, minute, second) = (
        chance.between(0, 23),
        chance.between(0, 59),
        chance.between(0, 59),
    );
    format!("{day}T{hour:02}:{minute:02}:{second:02}Z")
}
