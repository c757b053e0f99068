//! How a query is understood, in words that its author knows: each filter with what is compared after normalisation.
//!
//! Made by the same parsers as the plan ([`crate::planner`]): keyword lists, names, places, hosts and numbers are taken
//! apart in one place. What this page adds is only how they are told; a test holds that every term told is one that the
//! plan looks for.
//!
//! Nothing of the index, of the database or of an account is looked at, so that an explanation costs next to nothing and
//! tells of no record. Its size is bounded by the query's own bounds, and by [`MAX_PLACES`] for each part of a location.

use chrono::{Days, NaiveDate};
use proto::alternatives::{Separator, composed, split};
use proto::email::EmailTerm;
use proto::host::{Domain, WebsiteTerm};
use proto::search::v1::{
    AlternativeExplanation, FilterExplanation, NewBusiness, PlaceExplanation, PlaceType, SearchQuery,
    TermExplanation, TermMatch, WebsiteStatus,
};
use proto::search_query::is_blank;

use crate::phone;
use crate::place::gazetteer::{Entity, Gazetteer};
use crate::place::{AskedPart, asked_parts};
use crate::plan::Kind;
use crate::text::company_name::CompanyName;
use crate::text::keywords::Alternative;
use crate::text::stem;
use crate::text::titles::title_words;
use crate::text::words::{Word, runs, words};

/// Most places told of one part of a location.
const MAX_PLACES: usize = 20;

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
    let keywords = |text: &str| list(text, Separator::CommaOutsideQuotes, |text| terms(text, words));
    let of_company = |name: &str| match kind {
        Kind::Company => name.to_owned(),
        Kind::Person => format!("company.{name}"),
    };
    let company = |filter: &'static str, fields: &[&str], any_of: Option<Vec<AlternativeExplanation>>| {
        let fields = fields.iter().map(|field| of_company(field)).collect();
        any_of.map(|any_of| explained(filter, fields, any_of))
    };
    let own = |filter: &'static str, fields: &[&str], any_of: Option<Vec<AlternativeExplanation>>| {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        any_of.map(|any_of| explained(filter, fields, any_of))
    };
    let filters = [
        company(
            "businessType",
            &["businessTypes", "tags"],
            keywords(&query.business_type),
        ),
        own("location", locations(kind), places(&query.location)),
        company(
            "website",
            &["website"],
            list(&query.website, Separator::Comma, website),
        ),
        company("websiteStatus", &["website"], website_status(query))
            .map(|filter| excluding(filter, query.website_status() == WebsiteStatus::No)),
        company("companyName", &["name"], company_name(&query.company_name)),
        company(
            "companyDomain",
            &["domain"],
            list(&query.company_domain, Separator::Comma, domain),
        ),
        business_email(kind, query),
        company(
            "businessPhone",
            &["businessPhone"],
            list(&query.business_phone, Separator::Comma, phone_prefix),
        ),
        company(
            "descriptionKeywords",
            &["description"],
            keywords(&query.description_keywords),
        ),
        own("jobTitles", &[titles(kind)], job_titles(&query.job_titles)),
        excluded(kind, keywords(&query.exclude_keywords)),
        company("searchTags", &["tags"], tags(&query.search_tags)),
        company("newBusiness", &["foundedDate"], new_business(query, context))
            .map(|filter| excluding(filter, query.new_business() == NewBusiness::No)),
        own(
            "infoUpdatedFrom",
            &["infoUpdatedAt"],
            day(&query.info_updated_from, TermMatch::From, "T00:00:00.000Z"),
        ),
        own(
            "infoUpdatedTo",
            &["infoUpdatedAt"],
            day(&query.info_updated_to, TermMatch::To, "T23:59:59.999Z"),
        ),
    ];
    filters.into_iter().flatten().collect()
}

const fn locations(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Company => &["location", "people.location"],
        // A person's own place is the company's where theirs is not known.
        Kind::Person => &["location"],
    }
}

const fn titles(kind: Kind) -> &'static str {
    match kind {
        Kind::Company => "people.jobTitle",
        Kind::Person => "jobTitle",
    }
}

fn explained(filter: &str, fields: Vec<String>, any_of: Vec<AlternativeExplanation>) -> FilterExplanation {
    FilterExplanation {
        filter: filter.to_owned(),
        fields,
        excludes: false,
        any_of,
    }
}

fn excluding(filter: FilterExplanation, excludes: bool) -> FilterExplanation {
    FilterExplanation { excludes, ..filter }
}

/// The alternatives of a text; none if it is blank. One that holds nothing to search for is left out.
fn list(
    text: &str,
    separator: Separator,
    terms: impl Fn(&str) -> Vec<TermExplanation>,
) -> Option<Vec<AlternativeExplanation>> {
    let given = (!is_blank(text)).then(|| split(text, separator));
    given.map(|texts| each(texts, terms))
}

fn each(texts: Vec<String>, terms: impl Fn(&str) -> Vec<TermExplanation>) -> Vec<AlternativeExplanation> {
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

fn company_name(text: &str) -> Option<Vec<AlternativeExplanation>> {
    if is_blank(text) {
        return None;
    }
    let Some(name) = CompanyName::parse(text) else {
        return Some(Vec::new());
    };
    let words = runs(&name.words).map(|words| run(words, TermMatch::ExactWord));
    let whole = name
        .whole
        .iter()
        .map(|words| phrase(TermMatch::WholeValue, words));
    Some(one(&composed(text), words.chain(whole).collect()))
}

/// Each item is one alternative.
fn job_titles(titles: &[String]) -> Option<Vec<AlternativeExplanation>> {
    items(titles, |title| terms(title, title_words))
}

fn tags(tags: &[String]) -> Option<Vec<AlternativeExplanation>> {
    items(tags, |tag| {
        let words = words(tag);
        let whole = (!words.is_empty()).then(|| phrase(TermMatch::WholeValue, &words));
        whole.into_iter().collect()
    })
}

fn items(
    items: &[String],
    terms: impl Fn(&str) -> Vec<TermExplanation>,
) -> Option<Vec<AlternativeExplanation>> {
    let given: Vec<_> = items.iter().filter(|item| !is_blank(item)).collect();
    (!given.is_empty()).then(|| each(given.into_iter().map(|item| composed(item)).collect(), terms))
}

/// What is excluded is looked for in the company, and in a person's own title.
fn excluded(kind: Kind, keywords: Option<Vec<AlternativeExplanation>>) -> Option<FilterExplanation> {
    let fields: &[&str] = match kind {
        Kind::Company => &["name", "businessTypes", "tags", "description"],
        Kind::Person => &[
            "company.name",
            "company.businessTypes",
            "company.tags",
            "company.description",
            "jobTitle",
        ],
    };
    let fields = fields.iter().map(|field| (*field).to_owned()).collect();
    keywords.map(|any_of| excluding(explained("excludeKeywords", fields, any_of), true))
}

fn website(text: &str) -> Vec<TermExplanation> {
    let told = WebsiteTerm::parse(text).map(|asked| match asked {
        WebsiteTerm::Label(label) => term(TermMatch::HostLabel, label),
        WebsiteTerm::Address(address) if address.path().is_empty() => {
            term(TermMatch::Host, address.host().to_string())
        }
        WebsiteTerm::Address(address) => {
            let path = address.path().to_lowercase();
            term(TermMatch::HostAndPath, format!("{}{path}", address.host()))
        }
    });
    told.into_iter().collect()
}

fn website_status(query: &SearchQuery) -> Option<Vec<AlternativeExplanation>> {
    let word = match query.website_status() {
        WebsiteStatus::Unspecified | WebsiteStatus::Any => return None,
        WebsiteStatus::Has => "has",
        WebsiteStatus::No => "no",
    };
    Some(one(word, vec![term(TermMatch::Present, "")]))
}

fn domain(text: &str) -> Vec<TermExplanation> {
    let domain = Domain::parse(text).map(|domain| term(TermMatch::Domain, domain.registrable()));
    domain.into_iter().collect()
}

fn business_email(kind: Kind, query: &SearchQuery) -> Option<FilterExplanation> {
    let any_of = list(&query.business_email, Separator::Comma, |text| {
        let told = EmailTerm::parse(text).map(|asked| match asked {
            EmailTerm::Address(address) => term(TermMatch::EmailAddress, address.folded()),
            EmailTerm::Domain(host) => term(TermMatch::EmailDomain, host.to_string()),
        });
        told.into_iter().collect()
    });
    let fields: &[&str] = match kind {
        Kind::Company => &["businessEmail"],
        // Their own only where the account has revealed it.
        Kind::Person => &["company.businessEmail", "email"],
    };
    let fields = fields.iter().map(|field| (*field).to_owned()).collect();
    any_of.map(|any_of| explained("businessEmail", fields, any_of))
}

fn phone_prefix(text: &str) -> Vec<TermExplanation> {
    let prefix = phone::asked_prefix(text).map(|prefix| term(TermMatch::PhonePrefix, prefix));
    prefix.into_iter().collect()
}

/// The days of founding that count as new: both ends have to hold.
fn new_business(query: &SearchQuery, context: ExplanationContext) -> Option<Vec<AlternativeExplanation>> {
    let word = match query.new_business() {
        NewBusiness::Unspecified | NewBusiness::Any => return None,
        NewBusiness::Yes => "yes",
        NewBusiness::No => "no",
    };
    let from = context
        .today
        .checked_sub_days(Days::new(context.new_business_days.into()))
        .unwrap_or(NaiveDate::MIN);
    let days = vec![
        term(TermMatch::From, from.to_string()),
        term(TermMatch::To, context.today.to_string()),
    ];
    Some(one(word, days))
}

fn day(text: &str, compared: TermMatch, time: &str) -> Option<Vec<AlternativeExplanation>> {
    let day = text.trim();
    (!is_blank(text)).then(|| one(day, vec![term(compared, format!("{day}{time}"))]))
}

fn places(text: &str) -> Option<Vec<AlternativeExplanation>> {
    list(text, Separator::Semicolon, |text| {
        let parts = asked_parts(text);
        (0..parts.len()).map(|at| part(&parts, at)).collect()
    })
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
    let more = places.len().saturating_sub(MAX_PLACES);
    places.truncate(MAX_PLACES);
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
