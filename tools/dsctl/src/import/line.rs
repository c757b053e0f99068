//! One line of an import: JSON in, a change of the records out, or every reason why not.
//!
//! What a line says of its own form (JSON, types, unknown and missing properties) is judged here; the rules of a record
//! are those of [`proto::record`], which the search service holds as well. `null` is the same as leaving out.

use std::fmt;

use chrono::{DateTime, NaiveTime, Utc};
use prost_types::Timestamp;
use proto::names::nearest;
use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, DeleteCompany, DeletePerson, ImportRecord, PersonRecord};
use proto::violation::Violation;
use proto::violation::ViolationCode::{
    self, DuplicateKey, InvalidFormat, InvalidType, Missing, UnrecognizedKey,
};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Number, Value};

const COMPANY_PROPERTIES: [&str; 17] = [
    "type",
    "externalId",
    "deleted",
    "name",
    "domain",
    "website",
    "businessTypes",
    "description",
    "tags",
    "businessEmail",
    "businessPhone",
    "city",
    "region",
    "country",
    "employeeCount",
    "foundedDate",
    "infoUpdatedAt",
];

const PERSON_PROPERTIES: [&str; 13] = [
    "type",
    "externalId",
    "deleted",
    "companyExternalId",
    "firstName",
    "lastName",
    "fullName",
    "jobTitle",
    "email",
    "city",
    "region",
    "country",
    "infoUpdatedAt",
];

/// Why a line is no change of the records.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadLine {
    /// More bytes than a line may have.
    TooLong,
    /// No UTF-8, from this byte on, counted from 1.
    NotUtf8(usize),
    /// No JSON object: what is wrong, and where.
    NotJson(String),
    /// Properties that break rules.
    Invalid(Vec<Violation>),
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the line is longer than {} bytes", crate::source::LONGEST_LINE),
            Self::NotUtf8(byte) => write!(f, "not UTF-8 at byte {byte}"),
            Self::NotJson(problem) => write!(f, "not a JSON object: {problem}"),
            Self::Invalid(violations) => {
                for (index, violation) in violations.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{violation}")?;
                }
                Ok(())
            }
        }
    }
}

/// The change that a line tells; none if the line is blank.
pub(super) fn parse(number: u64, bytes: Option<&[u8]>) -> Result<Option<ImportRecord>, BadLine> {
    let bytes = bytes.ok_or(BadLine::TooLong)?;
    let text = str::from_utf8(bytes).map_err(|error| BadLine::NotUtf8(error.valid_up_to() + 1))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let object: Object = serde_json::from_str(text).map_err(|error| BadLine::NotJson(in_one_line(&error)))?;
    let mut properties = Properties::of(object);
    let change = properties.change();
    let mut violations = properties.violations;
    if let Some(change) = change {
        let record = ImportRecord {
            line: number,
            change: Some(change),
        };
        // A property that could not be taken seems to be missing: once told is enough.
        let told: Vec<_> = violations.iter().map(Violation::field).collect();
        violations.extend(
            proto::record::check(&record)
                .into_iter()
                .filter(|found| !told.contains(&found.field())),
        );
        if violations.is_empty() {
            return Ok(Some(record));
        }
    }
    Err(BadLine::Invalid(violations))
}

/// The message of the parser, whose line is always 1.
fn in_one_line(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    format!("{message} at column {}", error.column())
}

/// A JSON object as it was written: its properties in order, those given twice too.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Properties;
        impl<'de> Visitor<'de> for Properties {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a record in braces")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut properties = Vec::new();
                while let Some(property) = map.next_entry()? {
                    properties.push(property);
                }
                Ok(Object(properties))
            }
        }
        deserializer.deserialize_map(Properties)
    }
}

/// The properties of a line that have not been taken yet, and what was found wrong so far.
struct Properties {
    rest: Vec<(String, Value)>,
    violations: Vec<Violation>,
}

impl Properties {
    fn of(Object(all): Object) -> Self {
        let mut properties = Self {
            rest: Vec::new(),
            violations: Vec::new(),
        };
        for (name, value) in all {
            if properties.rest.iter().any(|(other, _)| *other == name) {
                properties.wrong(&name, DuplicateKey, "is given twice");
            } else {
                properties.rest.push((name, value));
            }
        }
        properties
    }

    /// The change, if the line says of what.
    fn change(&mut self) -> Option<Change> {
        let kind = self.text("type");
        let (properties, company) = match kind.as_deref() {
            Some("company") => (&COMPANY_PROPERTIES[..], true),
            Some("person") => (&PERSON_PROPERTIES[..], false),
            Some(other) => {
                let message = format!("is {other:?}, and must be \"company\" or \"person\"");
                self.wrong("type", ViolationCode::InvalidValue, message);
                return None;
            }
            None if self
                .violations
                .iter()
                .any(|violation| violation.field() == "type") =>
            {
                return None;
            }
            None => {
                self.wrong("type", Missing, "is missing: \"company\" or \"person\"");
                return None;
            }
        };
        let external_id = self.text("externalId").unwrap_or_default();
        let deleted = self.flag("deleted");
        let change = match (company, deleted) {
            (true, false) => Change::Company(self.company(external_id)),
            (true, true) => Change::DeleteCompany(DeleteCompany { external_id }),
            (false, false) => Change::Person(self.person(external_id)),
            (false, true) => Change::DeletePerson(DeletePerson { external_id }),
        };
        for (name, _) in std::mem::take(&mut self.rest) {
            if !properties.contains(&name.as_str()) {
                let mut violation = Violation::at(&name, UnrecognizedKey, "is no property of this type");
                if let Some(near) = nearest(&name, properties.iter().copied()) {
                    violation = violation.hint(format!("did you mean {near}?"));
                }
                self.violations.push(violation);
            }
        }
        Some(change)
    }

    fn company(&mut self, external_id: String) -> CompanyRecord {
        CompanyRecord {
            external_id,
            name: self.text("name").unwrap_or_default(),
            domain: self.text("domain"),
            website: self.text("website"),
            business_types: self.texts("businessTypes"),
            description: self.text("description"),
            tags: self.texts("tags"),
            business_email: self.text("businessEmail"),
            business_phone: self.text("businessPhone"),
            city: self.text("city"),
            region: self.text("region"),
            country: self.text("country"),
            employee_count: self.whole_number("employeeCount"),
            founded_date: self.text("foundedDate"),
            info_updated_at: self.time("infoUpdatedAt"),
        }
    }

    fn person(&mut self, external_id: String) -> PersonRecord {
        PersonRecord {
            external_id,
            company_external_id: self.text("companyExternalId"),
            first_name: self.text("firstName"),
            last_name: self.text("lastName"),
            full_name: self.text("fullName"),
            job_title: self.text("jobTitle"),
            email: self.text("email"),
            city: self.text("city"),
            region: self.text("region"),
            country: self.text("country"),
            info_updated_at: self.time("infoUpdatedAt"),
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.rest.iter().position(|(other, _)| other == name)?;
        Some(self.rest.swap_remove(at).1).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.wrong_type(name, "a text", &other);
                None
            }
        }
    }

    fn texts(&mut self, name: &str) -> Vec<String> {
        let items = match self.take(name) {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong_type(name, "a list of texts", &other);
                return Vec::new();
            }
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text),
                other => {
                    let message = format!("is {}, and must be a text", kind_of(&other));
                    self.violations
                        .push(Violation::at(name, InvalidType, message).item(index));
                }
            }
        }
        texts
    }

    fn flag(&mut self, name: &str) -> bool {
        match self.take(name) {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(other) => {
                self.wrong_type(name, "true or false", &other);
                false
            }
        }
    }

    fn whole_number(&mut self, name: &str) -> Option<i64> {
        let value = self.take(name)?;
        let whole = value.as_number().and_then(whole);
        if whole.is_none() {
            self.wrong_type(name, "a whole number", &value);
        }
        whole
    }

    fn time(&mut self, name: &str) -> Option<Timestamp> {
        let text = self.text(name)?;
        let time = DateTime::parse_from_rfc3339(&text)
            .map(|time| time.with_timezone(&Utc))
            .ok()
            .or_else(|| proto::day::parse(&text).map(|day| day.and_time(NaiveTime::MIN).and_utc()));
        if time.is_none() {
            let message =
                format!("is {text:?}, and must be a day (2026-01-31) or a time (2026-01-31T09:30:00Z)");
            self.wrong(name, InvalidFormat, message);
        }
        time.map(|time| Timestamp {
            seconds: time.timestamp(),
            // A leap second counts as the end of the second before.
            nanos: i32::try_from(time.timestamp_subsec_nanos().min(999_999_999)).unwrap_or_default(),
        })
    }

    fn wrong_type(&mut self, name: &str, wanted: &str, value: &Value) {
        self.wrong(
            name,
            InvalidType,
            format!("is {}, and must be {wanted}", kind_of(value)),
        );
    }

    fn wrong(&mut self, name: &str, code: ViolationCode, message: impl Into<String>) {
        self.violations.push(Violation::at(name, code, message));
    }
}

/// The number, if it is whole however it is written: `25`, `25.0`.
fn whole(number: &Number) -> Option<i64> {
    /// Beyond it a floating point number says nothing of the last digits.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_i64().or_else(|| {
        let float = number
            .as_f64()
            .filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)?;
        format!("{float:.0}").parse().ok()
    })
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests;
