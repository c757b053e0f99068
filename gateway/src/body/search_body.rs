//! The body of a search, parsed by the table of its properties.
//!
//! A property of the wrong type is told and left out of the query; the rest of the query is held against the rules of
//! `proto`, and all problems are told together.

use proto::search::v1::{SearchQuery, Sort, SortField};
use proto::search_properties::{DIRECTIONS, Kind, PROPERTIES, Property, Text};
use proto::search_query::{self, MAX_ITEMS, QUERY_PROPERTIES, RecordKind, sort_names, unknown_name};
use proto::violation::{PathSegment, Violation, ViolationCode};

use super::json::{Shape, Value};
use super::property::{at, known, object, path, text, wrong_type};

/// The names within `sort`.
const SORT_PROPERTIES: [&str; 2] = ["field", "dir"];

/// Reads the body of a search, or tells everything that is wrong with it.
pub fn parse(body: &[u8], kind: RecordKind) -> Result<SearchQuery, Vec<Violation>> {
    let properties = object(body, "{}").map_err(|violation| vec![violation])?;
    let mut reader = Reader {
        kind,
        query: SearchQuery::default(),
        found: Vec::new(),
        kept_items: Vec::new(),
    };
    for (name, value) in known(&mut reader.found, &[], properties, &QUERY_PROPERTIES) {
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
            Kind::Text(Text { slot, .. }) | Kind::Date(slot) => {
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
