//! How a query is understood, in words that its author knows: each filter with what is compared after normalisation.
//!
//! Where a filter looks is read off the plan for it alone ([`crate::planner`]). What it compares comes from the parsers that
//! the planner uses, by what the table of properties says may stand in it: keyword lists, names, places, hosts and numbers
//! are taken apart in one place, and a filter that is added is explained. What this page adds is how they are told; a test
//! holds that every term told is one that the plan looks for.
//!
//! Nothing of the index, of the database or of an account is looked at, so that an explanation costs next to nothing and
//! tells of no record. Its size is bounded by the query's own bounds, and by [`MAX_EXPLAINED_PLACES`] for each part of a location.

use chrono::{DateTime, NaiveDate, SecondsFormat};
use proto::alternatives::{Separator, composed, split};
use proto::email::EmailTerm;
use proto::host::{Domain, WebsiteTerm};
use proto::search::v1::{
    AlternativeExplanation, FilterExplanation, PlaceExplanation, PlaceType, SearchQuery, TermExplanation,
    TermMatch,
};
use proto::search_properties::{Kind as Form, PROPERTIES, Property, TextRule};
use proto::search_query::MAX_EXPLAINED_PLACES;
use uuid::Uuid;

use crate::phone::asked_prefix;
use crate::place::gazetteer::{Entity, Gazetteer};
use crate::place::{AskedPart, asked_parts};
use crate::plan::{Condition, KeyField, Kind, NumberField, TextField, Window};
use crate::planner::{self, PlanContext};
use crate::text::company_name::CompanyName;
use crate::text::keywords::Alternative;
use crate::text::stem;
use crate::text::titles::title_words;
use crate::text::words::{Word, runs, words};

/// What an explanation depends on besides the query.
#[derive(Clone, Copy, Debug)]
pub struct ExplanationContext {
    /// The day, UTC.
    pub today: NaiveDate,
    /// For how many days a company counts as new.
    pub new_business_days: u32,
}

/// The filters of a query that meets the rules, in its order.
#[must_use]
pub fn filters(kind: Kind, query: &SearchQuery, context: ExplanationContext) -> Vec<FilterExplanation> {
    // What is left of it: each property is taken out to be looked at alone.
    let mut rest = query.clone();
    let explained = PROPERTIES
        .iter()
        .filter_map(|property| filter(kind, property, &mut rest, context));
    explained.collect()
}

/// A property of the query, if it is a filter and given: where it looks by the plan for it alone, and what it compares by
/// what may stand in it.
fn filter(
    kind: Kind,
    property: &Property,
    rest: &mut SearchQuery,
    context: ExplanationContext,
) -> Option<FilterExplanation> {
    let mut alone = SearchQuery::default();
    match &property.kind {
        Form::Text(text) => std::mem::swap((text.slot)(&mut alone), (text.slot)(rest)),
        Form::Date(slot) => std::mem::swap(slot(&mut alone), slot(rest)),
        Form::Texts(slot) => std::mem::swap(slot(&mut alone), slot(rest)),
        Form::Choice(slot, _) => std::mem::swap(slot(&mut alone), slot(rest)),
        Form::Integer { .. } | Form::Cursor | Form::Sort | Form::Fields => return None,
    }
    let plan = PlanContext {
        today: context.today,
        new_business_days: context.new_business_days,
        // What is asked of the addresses that an account has revealed is in the plan only if there are any.
        revealed: &[Uuid::nil()],
        window: Window {
            after: None,
            skip: 0,
            limit: 0,
        },
    };
    let condition = planner::plan(kind, &alone, &plan).filter;
    if condition == Condition::Everything {
        return None;
    }
    let mut looks = Looks::default();
    looks.at(kind, "", &condition);
    let any_of = match &property.kind {
        Form::Text(text) => alternatives((text.slot)(&mut alone), text.rule, looks.titles),
        Form::Texts(slot) if looks.whole_values => each(slot(&mut alone), whole_value),
        Form::Texts(slot) => each(slot(&mut alone), |text| terms(text, title_words)),
        Form::Date(slot) => one(slot(&mut alone).trim(), looks.bounds),
        Form::Choice(slot, words) => {
            let chosen = *slot(&mut alone);
            let word = words.iter().find(|(_, number)| *number == chosen);
            one(word.map_or("", |(word, _)| word), looks.bounds)
        }
        Form::Integer { .. } | Form::Cursor | Form::Sort | Form::Fields => Vec::new(),
    };
    Some(FilterExplanation {
        filter: property.name.to_owned(),
        fields: looks.fields,
        excludes: looks.excludes,
        any_of,
    })
}

/// Where a condition looks.
#[derive(Default)]
struct Looks {
    /// Names of the public JSON, in the plan's order.
    fields: Vec<String>,
    /// Records that meet it are left out.
    excludes: bool,
    /// Values are compared as a whole.
    whole_values: bool,
    /// Job titles are looked at.
    titles: bool,
    /// The bounds of numbers, and what has to be there.
    bounds: Vec<TermExplanation>,
}

impl Looks {
    /// Adds what the condition looks at, of what begins so.
    fn at(&mut self, kind: Kind, of: &str, condition: &Condition) {
        match condition {
            Condition::Everything => {}
            Condition::Text { fields, .. } => {
                for field in fields {
                    self.add(of, text_name(kind, *field));
                    self.titles |= *field == TextField::JobTitles;
                }
            }
            Condition::Key { field, .. } | Condition::KeyPrefix { field, .. } => {
                self.add(of, key_name(*field));
                self.whole_values |= *field == KeyField::WholeTag;
                if *field == KeyField::Flag {
                    self.bounds.push(term(TermMatch::Present, ""));
                }
            }
            Condition::Range { field, from, to } => {
                self.add(of, number_name(*field));
                let ends = [(TermMatch::From, from), (TermMatch::To, to)];
                let told = ends.into_iter().filter_map(|(end, number)| {
                    let number = (*number)?;
                    Some(term(end, number_text(*field, number)))
                });
                self.bounds.extend(told);
            }
            // A person's own address, where it is revealed.
            Condition::Ids(_) => self.add(of, "email"),
            Condition::All(parts) | Condition::Any(parts) => {
                for part in parts {
                    self.at(kind, of, part);
                }
            }
            Condition::Not(part) => {
                self.excludes = true;
                self.at(kind, of, part);
            }
            Condition::Employer(part) => self.at(Kind::Company, "company.", part),
        }
    }

    fn add(&mut self, of: &str, name: &str) {
        let name = format!("{of}{name}");
        if !self.fields.contains(&name) {
            self.fields.push(name);
        }
    }
}

const fn text_name(kind: Kind, field: TextField) -> &'static str {
    match field {
        TextField::CompanyName | TextField::CompanyFullName => "name",
        TextField::BusinessTypes => "businessTypes",
        TextField::Tags => "tags",
        TextField::Description => "description",
        TextField::JobTitles => match kind {
            Kind::Company => "people.jobTitle",
            Kind::Person => "jobTitle",
        },
        TextField::Place => "location",
        TextField::PeoplePlaces => "people.location",
    }
}

const fn key_name(field: KeyField) -> &'static str {
    match field {
        KeyField::Website | KeyField::Flag => "website",
        KeyField::Domain => "domain",
        KeyField::BusinessEmail => "businessEmail",
        KeyField::Phone => "businessPhone",
        KeyField::WholeTag => "tags",
    }
}

const fn number_name(field: NumberField) -> &'static str {
    match field {
        NumberField::InfoUpdatedAt => "infoUpdatedAt",
        NumberField::FoundedDate => "foundedDate",
        NumberField::EmployeeCount => "employeeCount",
    }
}

/// As the public JSON writes it; a number that is none of its kind as it is.
fn number_text(field: NumberField, number: i64) -> String {
    let text = match field {
        NumberField::InfoUpdatedAt => DateTime::from_timestamp_micros(number)
            .map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true)),
        NumberField::FoundedDate => i32::try_from(number)
            .ok()
            .and_then(NaiveDate::from_epoch_days)
            .map(|day| day.to_string()),
        NumberField::EmployeeCount => None,
    };
    text.unwrap_or_else(|| number.to_string())
}

/// The alternatives of a text, which may be looked for in job titles too.
fn alternatives(text: &str, rule: TextRule, in_titles: bool) -> Vec<AlternativeExplanation> {
    match rule {
        TextRule::Keywords => {
            let keywords = |words| list(text, Separator::CommaOutsideQuotes, |text| terms(text, words));
            let mut told = keywords(words);
            if in_titles {
                // There short forms are written out.
                let written_out = keywords(title_words);
                let others = written_out
                    .into_iter()
                    .filter(|alternative| !told.contains(alternative));
                let others = others.collect::<Vec<_>>();
                told.extend(others);
            }
            told
        }
        TextRule::Places => list(text, Separator::Semicolon, places),
        TextRule::CompanyName => company_name(text),
        TextRule::Website => list(text, Separator::Comma, |text| website(text).into_iter().collect()),
        TextRule::Domain => list(text, Separator::Comma, |text| domain(text).into_iter().collect()),
        TextRule::Email => list(text, Separator::Comma, |text| email(text).into_iter().collect()),
        TextRule::Phone => list(text, Separator::Comma, |text| phone(text).into_iter().collect()),
    }
}

/// The alternatives between separators; one that holds nothing to search for is left out.
fn list(
    text: &str,
    separator: Separator,
    terms: impl Fn(&str) -> Vec<TermExplanation>,
) -> Vec<AlternativeExplanation> {
    explained(split(text, separator), terms)
}

/// Each item as an alternative.
fn each(items: &[String], terms: impl Fn(&str) -> Vec<TermExplanation>) -> Vec<AlternativeExplanation> {
    explained(items.iter().map(|item| composed(item)).collect(), terms)
}

fn explained(
    texts: Vec<String>,
    terms: impl Fn(&str) -> Vec<TermExplanation>,
) -> Vec<AlternativeExplanation> {
    let alternatives = texts.into_iter().map(|text| AlternativeExplanation {
        all_of: terms(&text),
        text,
    });
    alternatives
        .filter(|alternative| !alternative.all_of.is_empty())
        .collect()
}

fn one(text: &str, all_of: Vec<TermExplanation>) -> Vec<AlternativeExplanation> {
    let text = text.to_owned();
    vec![AlternativeExplanation { text, all_of }]
}

fn term(compared: TermMatch, value: impl Into<String>) -> TermExplanation {
    TermExplanation {
        r#match: compared.into(),
        value: value.into(),
        ..TermExplanation::default()
    }
}

/// Words as they are, or with what else they may be written as.
fn phrase(compared: TermMatch, words: &[Word]) -> TermExplanation {
    let value = written(words, |word| &word.plain);
    let expanded = written(words, Word::expanded_or_plain);
    TermExplanation {
        other_forms: (expanded != value).then_some(expanded).into_iter().collect(),
        ..term(compared, value)
    }
}

/// The words as their author would write them: with spaces, but not between the characters of a script without.
fn written(words: &[Word], form: fn(&Word) -> &str) -> String {
    let mut text = String::new();
    for word in words {
        let is_character = word.continues && !word.plain.is_ascii();
        if !text.is_empty() && !is_character {
            text.push(' ');
        }
        text.push_str(form(word));
    }
    text
}

/// A run of words that continue each other: a word, or characters of a script without spaces.
fn run(words: &[Word], single: TermMatch) -> TermExplanation {
    match words {
        [word] if single == TermMatch::Word => TermExplanation {
            other_forms: word.expanded.iter().map(|form| stem(form).into_owned()).collect(),
            ..term(single, stem(&word.plain))
        },
        [_] => phrase(single, words),
        _ => phrase(TermMatch::Phrase, words),
    }
}

/// The terms of an alternative of keywords.
fn terms(text: &str, words: fn(&str) -> Vec<Word>) -> Vec<TermExplanation> {
    let alternative = Alternative::parse(text, words);
    let pieces = alternative.as_ref().map_or(&[][..], Alternative::pieces);
    let terms = pieces.iter().flat_map(|piece| {
        if piece.quoted {
            vec![phrase(TermMatch::Phrase, &piece.words)]
        } else {
            runs(&piece.words)
                .map(|words| run(words, TermMatch::Word))
                .collect()
        }
    });
    terms.collect()
}

fn company_name(text: &str) -> Vec<AlternativeExplanation> {
    let Some(name) = CompanyName::parse(text) else {
        return Vec::new();
    };
    let words = runs(&name.words).map(|words| run(words, TermMatch::ExactWord));
    let whole = name
        .whole
        .iter()
        .map(|words| phrase(TermMatch::WholeValue, words));
    one(&composed(text), words.chain(whole).collect())
}

fn whole_value(text: &str) -> Vec<TermExplanation> {
    let words = words(text);
    let whole = (!words.is_empty()).then(|| phrase(TermMatch::WholeValue, &words));
    whole.into_iter().collect()
}

fn website(text: &str) -> Option<TermExplanation> {
    Some(match WebsiteTerm::parse(text).ok()? {
        WebsiteTerm::Label(label) => term(TermMatch::HostLabel, label),
        WebsiteTerm::Address(address) if address.path().is_empty() => {
            term(TermMatch::Host, address.host().to_string())
        }
        WebsiteTerm::Address(address) => {
            let path = address.path().to_lowercase();
            term(TermMatch::HostAndPath, format!("{}{path}", address.host()))
        }
    })
}

fn domain(text: &str) -> Option<TermExplanation> {
    let domain = Domain::parse(text).ok()?;
    Some(term(TermMatch::Domain, domain.registrable()))
}

fn email(text: &str) -> Option<TermExplanation> {
    Some(match EmailTerm::parse(text).ok()? {
        EmailTerm::Address(address) => term(TermMatch::EmailAddress, address.folded()),
        EmailTerm::Domain(host) => term(TermMatch::EmailDomain, host.to_string()),
    })
}

fn phone(text: &str) -> Option<TermExplanation> {
    asked_prefix(text).map(|prefix| term(TermMatch::PhonePrefix, prefix))
}

fn places(text: &str) -> Vec<TermExplanation> {
    let parts = asked_parts(text);
    (0..parts.len()).map(|at| part(&parts, at)).collect()
}

/// A part of a location: the places that it names, those first that the other parts leave, and larger before smaller ones;
/// or its words.
fn part(parts: &[AskedPart], at: usize) -> TermExplanation {
    let AskedPart { words, entities } = &parts[at];
    if entities.is_empty() {
        return match &words[..] {
            [_] => phrase(TermMatch::ExactWord, words),
            _ => phrase(TermMatch::Phrase, words),
        };
    }
    let gazetteer = Gazetteer::get();
    let goes_with =
        |place: Entity, other: Entity| gazetteer.is_within(place, other) || gazetteer.is_within(other, place);
    let others = parts
        .iter()
        .enumerate()
        .filter(|(other, part)| *other != at && !part.entities.is_empty())
        .map(|(_, part)| &part.entities)
        .collect::<Vec<_>>();
    let is_left = |place: Entity| {
        let fits = |other: &&Vec<Entity>| other.iter().any(|other| goes_with(place, *other));
        others.iter().all(fits)
    };
    let mut places: Vec<_> = entities.iter().map(|place| (*place, is_left(*place))).collect();
    places.sort_by_key(|(_, is_left)| !is_left);
    let more = places.len().saturating_sub(MAX_EXPLAINED_PLACES);
    places.truncate(MAX_EXPLAINED_PLACES);
    TermExplanation {
        places: places
            .into_iter()
            .map(|(place, is_left)| told(place, is_left))
            .collect(),
        more_places: i64::try_from(more).unwrap_or(i64::MAX),
        ..phrase(TermMatch::Place, words)
    }
}

fn told(place: Entity, is_left: bool) -> PlaceExplanation {
    let gazetteer = Gazetteer::get();
    let country = gazetteer.country(gazetteer.country_of(place));
    let (place_type, name, region) = match place {
        Entity::Country(_) => (PlaceType::Country, country.name.as_str(), None),
        Entity::Region(region) => (PlaceType::Region, gazetteer.region(region).name.as_str(), None),
        Entity::City(city) => {
            let city = gazetteer.city(city);
            let region = city.region.map(|region| gazetteer.region(region).name.clone());
            (PlaceType::City, &*city.name, region)
        }
    };
    PlaceExplanation {
        r#type: place_type.into(),
        name: name.to_owned(),
        region,
        country: country.name.clone(),
        country_code: country.code.clone(),
        is_left,
    }
}

#[cfg(test)]
mod tests;
