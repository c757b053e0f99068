//! The body of a search: one table of its properties, by which it is parsed and by which it is documented.
//!
//! A property of the wrong type is told and left out of the query; the rest of the query is held against the rules of
//! `proto`, and all problems are told together.

use proto::search::v1::{NewBusiness, SearchQuery, Sort, SortDirection, SortField, WebsiteStatus};
use proto::search_query::{
    self, DEFAULT_LIMIT, MAX_ITEMS, MAX_LIMIT, MAX_PAGED_RECORDS, RecordKind, sort_names, unknown_name,
};
use proto::violation::{PathSegment, Violation, ViolationCode};

use super::json::{Shape, Value};
use super::property::{at, known, object, path, text, wrong_type};

/// A property of the body.
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// What may stand there, and where it goes.
    pub kind: Kind,
    /// What it means.
    pub doc: &'static str,
    /// A value of it, as JSON.
    pub example: &'static str,
}

/// What may stand in a property.
pub enum Kind {
    /// A text.
    Text(fn(&mut SearchQuery) -> &mut String),
    /// A day, `YYYY-MM-DD`.
    Date(fn(&mut SearchQuery) -> &mut String),
    /// A list of texts.
    Texts(fn(&mut SearchQuery) -> &mut Vec<String>),
    /// One of some words, each with its number in the message.
    Choice(fn(&mut SearchQuery) -> &mut i32, &'static [(&'static str, i32)]),
    /// An integer from 1.
    Integer {
        /// Where it goes.
        slot: fn(&mut SearchQuery) -> &mut Option<i64>,
        /// Largest value, whatever else is asked for.
        maximum: i64,
        /// Value when it is left out.
        default: i64,
    },
    /// A cursor or null.
    Cursor,
    /// What to sort by.
    Sort,
    /// Names of fields to return.
    Fields,
}

/// The words of `websiteStatus`.
const WEBSITE_STATUS: &[(&str, i32)] = &[
    ("any", WebsiteStatus::Any as i32),
    ("has", WebsiteStatus::Has as i32),
    ("no", WebsiteStatus::No as i32),
];

/// The words of `newBusiness`.
const NEW_BUSINESS: &[(&str, i32)] = &[
    ("any", NewBusiness::Any as i32),
    ("yes", NewBusiness::Yes as i32),
    ("no", NewBusiness::No as i32),
];

/// The words of `sort.dir`.
pub const DIRECTIONS: &[(&str, i32)] = &[
    ("asc", SortDirection::Asc as i32),
    ("desc", SortDirection::Desc as i32),
];

/// The names within `sort`.
pub const SORT_PROPERTIES: [&str; 2] = ["field", "dir"];

/// Every property, in the order of the specification.
pub const PROPERTIES: [Property; 20] = [
    Property {
        name: "businessType",
        kind: Kind::Text(|query| &mut query.business_type),
        doc: "Keywords over the company's business types and tags (of a person: its company's). A comma separates \
              alternatives; within one, all words have to occur in one value, in any order, singular and plural \
              alike; \"in quotes\" stands for exactly these words in this order.",
        example: "\"software, \\\"computer programming\\\"\"",
    },
    Property {
        name: "location",
        kind: Kind::Text(|query| &mut query.location),
        doc: "Places: `;` separates alternatives, comma parts narrow. A company matches by its own place or by the \
              place of at least one of its people (`locationMatch` tells which), a person by its own place, or its \
              company's if it has none.",
        example: "\"Springfield, IL, USA; Munich\"",
    },
    Property {
        name: "website",
        kind: Kind::Text(|query| &mut query.website),
        doc: "URLs or hosts, comma-separated: the host or its subdomains match, a path as a prefix too. A word \
              without a dot matches hosts with a label that starts with it.",
        example: "\"https://www.example.com/shop\"",
    },
    Property {
        name: "websiteStatus",
        kind: Kind::Choice(|query| &mut query.website_status, WEBSITE_STATUS),
        doc: "Whether the company has a website; `any` is no filter.",
        example: "\"has\"",
    },
    Property {
        name: "companyName",
        kind: Kind::Text(|query| &mut query.company_name),
        doc: "Words of the company's name, in any order; legal forms (Inc, Ltd, GmbH, ...) do not count. In quotes: \
              the whole name.",
        example: "\"Acme Tools\"",
    },
    Property {
        name: "companyDomain",
        kind: Kind::Text(|query| &mut query.company_domain),
        doc: "Domains, comma-separated, compared by the registrable domain.",
        example: "\"example.com\"",
    },
    Property {
        name: "businessEmail",
        kind: Kind::Text(|query| &mut query.business_email),
        doc: "E-mail addresses of the company, or their domains with or without `@`, comma-separated. A person's own \
              address counts only where this account has revealed it.",
        example: "\"info@example.com\"",
    },
    Property {
        name: "businessPhone",
        kind: Kind::Text(|query| &mut query.business_phone),
        doc: "First digits of the company's telephone number in any spelling, at least 4; comma-separated.",
        example: "\"+44 20 7946\"",
    },
    Property {
        name: "descriptionKeywords",
        kind: Kind::Text(|query| &mut query.description_keywords),
        doc: "Keywords over the company's description, as `businessType`.",
        example: "\"cloud hosting\"",
    },
    Property {
        name: "jobTitles",
        kind: Kind::Texts(|query| &mut query.job_titles),
        doc: "Job titles, each item an alternative whose words all occur in any order (a comma within an item only separates \
              words), quotes as in `businessType`; usual short forms are equal (VP, \
              CEO, CTO, ...). Of companies: those with at least one person of such a title.",
        example: "[\"CTO\", \"head of engineering\"]",
    },
    Property {
        name: "excludeKeywords",
        kind: Kind::Text(|query| &mut query.exclude_keywords),
        doc: "Keywords, as `businessType`; drops records where one occurs in the company's name, business types, tags \
              or description, or in the person's job title.",
        example: "\"staffing, recruiting\"",
    },
    Property {
        name: "searchTags",
        kind: Kind::Texts(|query| &mut query.search_tags),
        doc: "Tags of the company, each compared as a whole; any of them is enough.",
        example: "[\"b2b\"]",
    },
    Property {
        name: "newBusiness",
        kind: Kind::Choice(|query| &mut query.new_business, NEW_BUSINESS),
        doc: "Whether the company was founded within the last 365 days: `no` is all others, those of unknown age too; \
              `any` is no filter.",
        example: "\"any\"",
    },
    Property {
        name: "infoUpdatedFrom",
        kind: Kind::Date(|query| &mut query.info_updated_from),
        doc: "First day (UTC) on which the record may have been updated, years 1900-2100.",
        example: "\"2026-01-01\"",
    },
    Property {
        name: "infoUpdatedTo",
        kind: Kind::Date(|query| &mut query.info_updated_to),
        doc: "Last day (UTC) on which the record may have been updated; the whole day counts.",
        example: "\"2026-12-31\"",
    },
    Property {
        name: "page",
        kind: Kind::Integer {
            slot: |query| &mut query.page,
            maximum: MAX_PAGED_RECORDS,
            default: 1,
        },
        doc: "Page, from 1; `page` x `limit` is at most 10,000. To go further, use `cursor`. Above 1 it excludes a \
              cursor.",
        example: "1",
    },
    Property {
        name: "limit",
        kind: Kind::Integer {
            slot: |query| &mut query.limit,
            maximum: MAX_LIMIT,
            default: DEFAULT_LIMIT,
        },
        doc: "Records a page.",
        example: "25",
    },
    Property {
        name: "cursor",
        kind: Kind::Cursor,
        doc: "`null` starts paging by cursor, `data.nextCursor` of the page before goes on. A cursor belongs to its \
              filters and its sort; `limit` and `fields` may change.",
        example: "null",
    },
    Property {
        name: "sort",
        kind: Kind::Sort,
        doc: "What to sort by. Without it: `relevance` if one of `companyName`, `businessType`, \
              `descriptionKeywords`, `jobTitles` is given, else `infoUpdatedAt` descending.",
        example: "{\"field\": \"infoUpdatedAt\", \"dir\": \"desc\"}",
    },
    Property {
        name: "fields",
        kind: Kind::Fields,
        doc: "Names of the fields to return, in any order, paths too (`location.city`); `id` always comes. Without \
              it: all.",
        example: "[\"id\", \"location.city\"]",
    },
];

/// Reads the body of a search, or tells everything that is wrong with it.
pub fn parse(body: &[u8], kind: RecordKind) -> Result<SearchQuery, Vec<Violation>> {
    let properties = object(body, "{}").map_err(|violation| vec![violation])?;
    let mut reader = Reader {
        kind,
        query: SearchQuery::default(),
        found: Vec::new(),
        kept_items: Vec::new(),
    };
    let names = PROPERTIES.map(|property| property.name);
    for (name, value) in known(&mut reader.found, &[], properties, &names) {
        // Every known name is a row of the table.
        if let Some(property) = PROPERTIES.iter().find(|property| property.name == name) {
            reader.read(property, value);
        }
    }
    let mut broken = search_query::check(&reader.query, kind);
    reader.restore_indices(&mut broken);
    reader.found.extend(broken);
    if reader.found.is_empty() {
        Ok(reader.query)
    } else {
        Err(reader.found)
    }
}

struct Reader {
    kind: RecordKind,
    query: SearchQuery,
    found: Vec<Violation>,
    /// Where items were left out of a list: the indices that those which were kept had in the body.
    kept_items: Vec<(&'static str, Vec<usize>)>,
}

impl Reader {
    fn read(&mut self, property: &Property, value: Value<'_>) {
        let name = property.name;
        match &property.kind {
            Kind::Text(slot) | Kind::Date(slot) => {
                if let Some(text) = self.text(name, value) {
                    *slot(&mut self.query) = text;
                }
            }
            Kind::Texts(slot) => *slot(&mut self.query) = self.texts(name, value),
            Kind::Fields => self.query.fields = self.texts(name, value),
            Kind::Choice(slot, choices) => {
                if let Some(choice) = self.choice(vec![step(name)], value, choices) {
                    *slot(&mut self.query) = choice;
                }
            }
            // One that can't be read counts as the least one, so that nothing else is told on its account.
            Kind::Integer { slot, .. } => {
                *slot(&mut self.query) = Some(self.integer(name, value).unwrap_or(1));
            }
            Kind::Cursor => self.query.cursor = self.cursor(name, value),
            Kind::Sort => self.query.sort = self.sort(name, value),
        }
    }

    fn keep<T>(&mut self, result: Result<T, Violation>) -> Option<T> {
        result.map_err(|violation| self.found.push(violation)).ok()
    }

    fn text(&mut self, name: &str, value: Value<'_>) -> Option<String> {
        self.keep(text(vec![step(name)], value))
    }

    fn texts(&mut self, name: &'static str, value: Value<'_>) -> Vec<String> {
        let items = match value.shape() {
            Shape::Array(items) => items,
            other => {
                self.found
                    .push(wrong_type(vec![step(name)], &other, "an array of strings"));
                return Vec::new();
            }
        };
        let total = items.len();
        let mut kept = Vec::new();
        let mut texts = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            // Of what is beyond the most, all that is told is that there is too much.
            let text = if index < MAX_ITEMS {
                self.keep(text(vec![step(name), PathSegment::Index(index)], item))
            } else {
                Some(String::new())
            };
            if let Some(text) = text {
                kept.push(index);
                texts.push(text);
            }
        }
        if kept.len() < total {
            self.kept_items.push((name, kept));
        }
        texts
    }

    /// A blank one is no filter.
    fn choice(
        &mut self,
        path: Vec<PathSegment>,
        value: Value<'_>,
        choices: &[(&'static str, i32)],
    ) -> Option<i32> {
        let word = self.keep(text(path.clone(), value))?;
        if word.trim().is_empty() {
            return None;
        }
        let chosen = choices
            .iter()
            .find(|(choice, _)| *choice == word)
            .map(|(_, number)| *number);
        if chosen.is_none() {
            let allowed = choices
                .iter()
                .map(|(choice, _)| *choice)
                .collect::<Vec<_>>()
                .join(", ");
            let message = format!("is none of the allowed values: {allowed}");
            self.found.push(Violation {
                path,
                code: ViolationCode::InvalidValue,
                message,
                hint: None,
            });
        }
        chosen
    }

    fn integer(&mut self, name: &str, value: Value<'_>) -> Option<i64> {
        let shape = value.shape();
        let integer = match &shape {
            Shape::Number(number) => number.integer(),
            other => {
                self.found.push(wrong_type(vec![step(name)], other, "an integer"));
                return None;
            }
        };
        if integer.is_none() {
            let message = "is not a whole number".to_owned();
            self.found
                .push(at(&[], name, ViolationCode::InvalidType, message));
        }
        integer
    }

    /// In the message, an empty cursor is the start; in the body it is no cursor.
    fn cursor(&mut self, name: &str, value: Value<'_>) -> Option<String> {
        match value.shape() {
            Shape::Null => Some(String::new()),
            Shape::Text(Some(cursor)) if cursor.is_empty() => {
                let violation = at(&[], name, ViolationCode::InvalidFormat, "is empty".to_owned());
                self.found
                    .push(violation.hint("send null to start, or leave it out to page by number"));
                None
            }
            Shape::Text(_) => self.text(name, value),
            other => {
                self.found
                    .push(wrong_type(vec![step(name)], &other, "a string or null"));
                None
            }
        }
    }

    fn sort(&mut self, name: &str, value: Value<'_>) -> Option<Sort> {
        let properties = match value.shape() {
            Shape::Object(properties) => properties,
            other => {
                self.found.push(wrong_type(vec![step(name)], &other, "an object"));
                return None;
            }
        };
        let within = [step(name)];
        let mut sort = Sort::default();
        let problems = self.found.len();
        for (name, value) in known(&mut self.found, &within, properties, &SORT_PROPERTIES) {
            let at = path(&within, step(name));
            if name == "dir" {
                sort.direction = self.choice(at, value, DIRECTIONS).unwrap_or_default();
            } else if let Some(field) = self.keep(text(at, value)) {
                sort.field = self.sort_field(&field).into();
            }
        }
        // Half of a sort would be held against rules that the whole may meet.
        (self.found.len() == problems).then_some(sort)
    }

    fn sort_field(&mut self, name: &str) -> SortField {
        if name.trim().is_empty() {
            return SortField::Unspecified;
        }
        let known = sort_names(self.kind);
        if let Some((_, field)) = known.iter().find(|(known, _)| *known == name) {
            return *field;
        }
        let mut violation = unknown_name("sort", name, known.iter().map(|(name, _)| *name));
        violation.path.push(step("field"));
        self.found.push(violation);
        SortField::Unspecified
    }

    /// Indices in the query are those of the items that were kept; the caller knows those of the body.
    fn restore_indices(&self, violations: &mut [Violation]) {
        for violation in violations {
            if let [PathSegment::Name(name), PathSegment::Index(index)] = violation.path.as_mut_slice()
                && let Some((_, kept)) = self.kept_items.iter().find(|(property, _)| property == name)
                && let Some(original) = kept.get(*index)
            {
                *index = *original;
            }
        }
    }
}

fn step(name: &str) -> PathSegment {
    PathSegment::Name(name.to_owned())
}

#[cfg(test)]
mod tests;
