//! What is searched for: one flag for each filter of a request. Values go to the service as they are: it tells everything that
//! is wrong with them.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use proto::names::RecordKind;
use proto::search_properties::{Kind as PropertyKind, PROPERTIES, Property, TextRule};
use serde_json::{Map, Value, json};

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// People
    People,
    /// Companies
    Companies,
}

impl Kind {
    /// Its name in addresses.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::Companies => "companies",
        }
    }

    /// What its rows are.
    pub(crate) const fn record(self) -> RecordKind {
        match self {
            Self::People => RecordKind::Person,
            Self::Companies => RecordKind::Company,
        }
    }
}

/// The filters of a request: a flag for each one of the table, with what the table says of it.
#[derive(Debug)]
pub(crate) struct Filters(Map<String, Value>);

/// A property `sort`, as it is given: `FIELD` or `FIELD:DIR`.
pub(crate) fn sort_of(given: &str) -> Value {
    match given.split_once(':') {
        Some((field, direction)) => json!({"field": field, "dir": direction}),
        None => json!({ "field": given }),
    }
}

impl Filters {
    /// Whether places are asked for.
    pub(crate) fn has_location(&self) -> bool {
        self.0.contains_key("location")
    }

    /// The filters that were given, and nothing else.
    pub(crate) fn body(&self) -> Map<String, Value> {
        self.0.clone()
    }
}

/// The filters of the table; the properties behind them have flags of their own.
fn filters() -> impl Iterator<Item = &'static Property> {
    let is_filter = |property: &&Property| flag_of(property).is_some();
    PROPERTIES.iter().filter(is_filter)
}

/// How a property is given, if it is a filter: what its value is called, and whether it may be given more than once.
fn flag_of(property: &Property) -> Option<(String, bool)> {
    let value = match &property.kind {
        PropertyKind::Text(text) => match text.rule {
            TextRule::Keywords => "KEYWORDS",
            TextRule::Places => "PLACES",
            TextRule::CompanyName => "NAME",
            TextRule::Website => "URL",
            TextRule::Domain => "DOMAIN",
            TextRule::Email => "ADDRESS",
            TextRule::Phone => "NUMBER",
        },
        PropertyKind::Date(_) => "YYYY-MM-DD",
        PropertyKind::Texts(_) => return Some(("TEXT".to_owned(), true)),
        PropertyKind::Choice(_, words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            return Some((words.join("|"), false));
        }
        PropertyKind::Integer { .. } | PropertyKind::Cursor | PropertyKind::Sort | PropertyKind::Fields => {
            return None;
        }
    };
    Some((value.to_owned(), false))
}

/// `job-title` for `jobTitles`: a flag that is given again has one value each time.
fn long(property: &Property) -> String {
    let name = match property.kind {
        PropertyKind::Texts(_) => property.name.trim_end_matches('s'),
        _ => property.name,
    };
    let mut flag = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(letter.to_ascii_lowercase());
    }
    flag
}

/// The first sentence, for the short help.
fn first_sentence(doc: &str) -> &str {
    doc.split_once(". ")
        .map_or(doc, |(first, _)| first)
        .trim_end_matches('.')
}

impl Args for Filters {
    fn augment_args(command: Command) -> Command {
        let flags = filters().filter_map(|property| {
            let (value, is_repeated) = flag_of(property)?;
            let again = if is_repeated {
                "; give it again for more"
            } else {
                ""
            };
            let flag = Arg::new(property.name)
                .long(long(property))
                .value_name(value)
                .help(format!("{}{again}", first_sentence(property.doc)))
                .long_help(format!("{}{again}", property.doc.trim_end_matches('.')))
                .help_heading("Filters")
                .action(if is_repeated {
                    ArgAction::Append
                } else {
                    ArgAction::Set
                });
            Some(flag)
        });
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Filters {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut body = Map::new();
        for property in filters() {
            let Some(given) = matches.get_many::<String>(property.name) else {
                continue;
            };
            let given: Vec<&String> = given.collect();
            let value = match (&property.kind, given.as_slice()) {
                (PropertyKind::Texts(_), texts) => json!(texts),
                (_, texts) => json!(texts.last()),
            };
            body.insert(property.name.to_owned(), value);
        }
        Ok(Self(body))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_named_as_people_write_them() {
        let flags: Vec<String> = filters().map(long).collect();
        for flag in ["business-type", "job-title", "search-tag", "info-updated-from"] {
            assert!(flags.iter().any(|known| known == flag), "{flags:?}");
        }
        assert_eq!(first_sentence("A (B, ...). C. D."), "A (B, ...)");
        assert_eq!(first_sentence("One."), "One");
    }
}
