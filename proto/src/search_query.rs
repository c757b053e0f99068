//! The rules of a search query.
//!
//! [`check`] tells every problem at once, in the order of the message's fields; a query without one can be planned.
//! Texts are looked into only while they are within their bounds, so that the work and the number of problems stay
//! bounded whatever is sent.

use std::fmt::Display;

use crate::alternatives::{Separator, count_words, is_searchable, split};
use crate::email::{EmailProblem, EmailTerm};
use crate::host::{Domain, HostProblem, WebsiteTerm};
use crate::search::v1::{SearchQuery, SortDirection, SortField};
use crate::search_properties::{Kind, PROPERTIES, TextRule};
use crate::violation::ViolationCode::{Conflict, InvalidFormat, InvalidValue, TooBig, TooLong, TooSmall};
use crate::violation::{PathSegment, Violation, ViolationCode};
use crate::{cursor, day};

pub use crate::names::{
    QUERY_PROPERTIES, RecordKind, applied_sort, applied_sort_message, company_sort_names, field_names,
    nearest, person_sort_names, sort_names,
};

/// Most characters of a text.
pub const MAX_TEXT_CHARS: usize = 2_000;
/// Most terms of a text: its alternatives, or the words of a company's name.
pub const MAX_TERMS: usize = 100;
/// Most items of a list.
pub const MAX_ITEMS: usize = 100;
/// Most characters of an item.
pub const MAX_ITEM_CHARS: usize = 200;
/// Fewest digits of a telephone number.
pub const MIN_PHONE_DIGITS: usize = 4;
/// Records a page where the query does not say.
pub const DEFAULT_LIMIT: i64 = 25;
/// Most records a page.
pub const MAX_LIMIT: i64 = 250;
/// Most places that an explanation tells of one part of a location.
pub const MAX_EXPLAINED_PLACES: usize = 20;
/// How many records of a result can be reached by page numbers.
pub const MAX_PAGED_RECORDS: i64 = 10_000;

/// Every rule that the query breaks, in the order of the message's fields.
#[must_use]
pub fn check(query: &SearchQuery, kind: RecordKind) -> Vec<Violation> {
    let mut found = Vec::new();
    // What the table tells is where a value is put; it is read from there in a copy, which is small.
    let mut copy = query.clone();
    for property in &PROPERTIES {
        let name = property.name;
        match &property.kind {
            Kind::Text(text) => check_text(&mut found, name, (text.slot)(&mut copy), text.rule),
            Kind::Texts(slot) => check_searched_items(&mut found, name, slot(&mut copy)),
            Kind::Choice(slot, words) => check_choice(&mut found, name, *slot(&mut copy), words),
            Kind::Date(slot) => check_day(&mut found, name, slot(&mut copy)),
            // These stand behind the filters, and are checked together.
            Kind::Integer { .. } | Kind::Cursor | Kind::Sort | Kind::Fields => {}
        }
    }
    check_order_of_days(&mut found, query);
    check_page(&mut found, query);
    check_sort(&mut found, query, kind);
    check_fields(&mut found, &query.fields, kind);
    found
}

/// Whether a text says nothing: its filter is left out.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn check_text(found: &mut Vec<Violation>, property: &str, text: &str, rule: TextRule) {
    if is_blank(text) {
        return;
    }
    let before = found.len();
    if text.contains('\0') {
        found.push(Violation::at(property, InvalidValue, "contains a NUL character"));
    }
    let chars = text.chars().count();
    if chars > MAX_TEXT_CHARS {
        let message = format!("has {chars} characters, more than {MAX_TEXT_CHARS}");
        found.push(Violation::at(property, TooLong, message));
    }
    let alternatives = split(text, separator(rule));
    let (terms, unit) = match rule {
        TextRule::CompanyName => (count_words(text), "words"),
        _ => (alternatives.len(), "alternatives"),
    };
    if terms > MAX_TERMS {
        found.push(Violation::at(
            property,
            TooBig,
            format!("has {terms} {unit}, more than {MAX_TERMS}"),
        ));
    }
    if found.len() > before {
        return;
    }
    if !alternatives.iter().any(|alternative| is_searchable(alternative)) {
        found.push(nothing_to_search_for(property));
        return;
    }
    match rule {
        TextRule::Phone => {
            let short = alternatives
                .iter()
                .filter(|number| count_digits(number) < MIN_PHONE_DIGITS);
            found.extend(short.map(|number| {
                let message = format!("{} has fewer than {MIN_PHONE_DIGITS} digits", quoted(number));
                Violation::at(property, InvalidValue, message)
            }));
        }
        TextRule::Keywords | TextRule::Places | TextRule::CompanyName => {}
        TextRule::Website => {
            let parse = |text: &str| WebsiteTerm::parse(text).err();
            let hint = "a website is a URL, a host such as acme.com, or the first letters of a host's label";
            check_hosts(found, property, &alternatives, hint, parse);
        }
        TextRule::Domain => {
            let parse = |text: &str| Domain::parse(text).err();
            check_hosts(
                found,
                property,
                &alternatives,
                "a domain is such as acme.com",
                parse,
            );
        }
        TextRule::Email => {
            let hint = "an e-mail filter is an address such as info@acme.com, or a domain such as acme.com";
            for text in &alternatives {
                let Err(problem) = EmailTerm::parse(text) else {
                    continue;
                };
                let nothing = problem == EmailProblem::Domain(HostProblem::Nothing);
                found.push(malformed(property, text, &problem, nothing, hint));
            }
        }
    }
}

const fn separator(rule: TextRule) -> Separator {
    match rule {
        TextRule::Keywords => Separator::CommaOutsideQuotes,
        TextRule::Places => Separator::Semicolon,
        TextRule::CompanyName | TextRule::Website | TextRule::Domain | TextRule::Email | TextRule::Phone => {
            Separator::Comma
        }
    }
}

fn check_hosts(
    found: &mut Vec<Violation>,
    property: &str,
    alternatives: &[String],
    hint: &str,
    problem: impl Fn(&str) -> Option<HostProblem>,
) {
    for text in alternatives {
        if let Some(problem) = problem(text) {
            found.push(malformed(
                property,
                text,
                &problem,
                problem == HostProblem::Nothing,
                hint,
            ));
        }
    }
}

fn malformed(property: &str, text: &str, problem: &dyn Display, nothing: bool, hint: &str) -> Violation {
    let code = if nothing { InvalidValue } else { InvalidFormat };
    Violation::at(property, code, format!("{} {problem}", quoted(text))).hint(hint)
}

/// Items beyond the bound are not looked into.
fn check_items(found: &mut Vec<Violation>, property: &str, items: &[String]) {
    if items.len() > MAX_ITEMS {
        let message = format!("has {} items, more than {MAX_ITEMS}", items.len());
        found.push(Violation::at(property, TooBig, message));
    }
    for (index, item) in items.iter().enumerate().take(MAX_ITEMS) {
        if item.contains('\0') {
            found.push(Violation::at(property, InvalidValue, "contains a NUL character").item(index));
        }
        let chars = item.chars().count();
        if chars > MAX_ITEM_CHARS {
            let message = format!("has {chars} characters, more than {MAX_ITEM_CHARS}");
            found.push(Violation::at(property, TooLong, message).item(index));
        }
    }
}

fn check_searched_items(found: &mut Vec<Violation>, property: &str, items: &[String]) {
    let before = found.len();
    check_items(found, property, items);
    if found.len() > before || items.iter().any(|item| is_searchable(item)) {
        return;
    }
    let given = items.iter().enumerate().filter(|(_, item)| !is_blank(item));
    found.extend(given.map(|(index, _)| nothing_to_search_for(property).item(index)));
}

/// A number that stands for none of the words; 0 is that none is given.
fn check_choice(found: &mut Vec<Violation>, property: &str, number: i32, words: &[(&str, i32)]) {
    if number != 0 && !words.iter().any(|(_, known)| *known == number) {
        let words = words.iter().map(|(word, _)| *word).collect::<Vec<_>>();
        found.push(unknown_value(property, &words.join(", ")));
    }
}

fn check_day(found: &mut Vec<Violation>, property: &str, text: &str) {
    if !is_blank(text) && day::parse(text).is_none() {
        let (first, last) = day::YEARS;
        let message = format!("{} is no day of the years {first}-{last}", quoted(text));
        found.push(Violation::at(property, InvalidFormat, message).hint("a day is written YYYY-MM-DD"));
    }
}

fn check_order_of_days(found: &mut Vec<Violation>, query: &SearchQuery) {
    let days = (
        day::parse(&query.info_updated_from),
        day::parse(&query.info_updated_to),
    );
    if let (Some(from), Some(to)) = days
        && from > to
    {
        found.push(Violation::at(
            "infoUpdatedFrom",
            Conflict,
            "is after infoUpdatedTo",
        ));
    }
}

fn check_page(found: &mut Vec<Violation>, query: &SearchQuery) {
    let page = query.page.unwrap_or(1);
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    let limit_fits = (1..=MAX_LIMIT).contains(&limit);
    if page < 1 {
        found.push(Violation::at("page", TooSmall, format!("is {page}, less than 1")));
    } else if query.cursor.is_some() {
        if page > 1 {
            let message = "is given together with a cursor";
            found.push(Violation::at("page", Conflict, message).hint("leave one of them out"));
        }
    } else {
        // A limit that is wrong itself does not excuse a page that no limit allows.
        let reached = page.checked_mul(if limit_fits { limit } else { 1 });
        if reached.is_none_or(|reached| reached > MAX_PAGED_RECORDS) {
            let message = format!("times limit is more than {MAX_PAGED_RECORDS}");
            found.push(Violation::at("page", TooBig, message).hint("to go further, use the cursor"));
        }
    }
    if limit < 1 {
        found.push(Violation::at(
            "limit",
            TooSmall,
            format!("is {limit}, less than 1"),
        ));
    } else if !limit_fits {
        found.push(Violation::at(
            "limit",
            TooBig,
            format!("is {limit}, more than {MAX_LIMIT}"),
        ));
    }
    if let Some(text) = query.cursor.as_deref().filter(|text| !text.is_empty())
        && cursor::decode(text).is_none()
    {
        let hint = "send data.nextCursor of the page before as it is, or null to start";
        found.push(Violation::at("cursor", InvalidFormat, "is not a cursor of this service").hint(hint));
    }
}

fn check_sort(found: &mut Vec<Violation>, query: &SearchQuery, kind: RecordKind) {
    let Some(sort) = query.sort else { return };
    let names = || {
        let names = sort_names(kind).iter().map(|(name, _)| *name).collect::<Vec<_>>();
        format!("one of: {}", names.join(", "))
    };
    match SortField::try_from(sort.field) {
        Err(_) => found.push(at_sort("field", InvalidValue, "is none of the allowed values").hint(names())),
        Ok(SortField::Unspecified) => {}
        Ok(field) if sort_names(kind).iter().any(|(_, allowed)| *allowed == field) => {}
        Ok(_) => found.push(at_sort("field", InvalidFormat, "is nothing these records have").hint(names())),
    }
    if SortDirection::try_from(sort.direction).is_err() {
        let violation = at_sort("dir", InvalidValue, "is none of the allowed values");
        found.push(violation.hint("one of: asc, desc"));
    } else if applied_sort(query) == (SortField::Relevance, SortDirection::Asc) {
        let hint = if sort.field() == SortField::Relevance {
            "leave it out, or use desc"
        } else {
            "this query is ordered by relevance unless sort.field says otherwise"
        };
        found.push(at_sort("dir", Conflict, "can't be asc for relevance").hint(hint));
    }
}

fn at_sort(property: &str, code: ViolationCode, message: &str) -> Violation {
    let mut violation = Violation::at("sort", code, message);
    violation.path.push(PathSegment::Name(property.to_owned()));
    violation
}

fn check_fields(found: &mut Vec<Violation>, fields: &[String], kind: RecordKind) {
    let before = found.len();
    check_items(found, "fields", fields);
    if found.len() > before {
        return;
    }
    let known = field_names(kind);
    for (index, name) in fields.iter().enumerate() {
        if is_blank(name) || known.contains(&name.as_str()) {
            continue;
        }
        found.push(unknown_name("fields", name, known.iter().copied()).item(index));
    }
}

/// A name that is none of the known ones: `invalid_format` with the nearest of them, or all of them, as the hint.
#[must_use]
pub fn unknown_name<'a>(
    property: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Violation {
    let hint = match nearest(name, known.clone()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("one of: {}", known.collect::<Vec<_>>().join(", ")),
    };
    Violation::at(property, InvalidFormat, format!("{} is not known", quoted(name))).hint(hint)
}

fn unknown_value(property: &str, allowed: &str) -> Violation {
    Violation::at(property, InvalidValue, "is none of the allowed values").hint(format!("one of: {allowed}"))
}

fn nothing_to_search_for(property: &str) -> Violation {
    Violation::at(
        property,
        InvalidValue,
        "holds nothing to search for: no letter and no digit",
    )
    .hint("leave it out to search without it")
}

/// Digits that a telephone number is written with: ASCII (after Unicode NFKC) and the two Arabic series.
fn count_digits(text: &str) -> usize {
    text.chars()
        .filter(|digit| matches!(digit, '0'..='9' | '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}'))
        .count()
}

/// The first characters of a text, in quotes.
fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    let more = if text.chars().nth(MAX_CHARS).is_some() {
        "..."
    } else {
        ""
    };
    format!("\"{}{more}\"", text.chars().take(MAX_CHARS).collect::<String>())
}

#[cfg(test)]
mod tests;
