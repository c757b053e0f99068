//! Places: what a record's place is found by, and what a location filter asks for.
//!
//! A place's value begins with a slot of the ids of what it is and lies in (`c:DE`, `r:DE.02`, `g:2867714`), as far as
//! the [`gazetteer`] explains it; behind it stand the words of its city, region and country. A word of a city or region
//! that the gazetteer does not explain stands there with [`UNEXPLAINED`] before it too: such a place can be found by
//! its words alone, also by words that are another place's name.
//!
//! A part of a location filter asks for the ids of everything that is called so; what nothing is called asks for its
//! words.

pub mod gazetteer;
pub mod names;
pub mod naming;

use gazetteer::{CityId, CountryId, Entity, Gazetteer, RegionId, name_key};
use proto::alternatives::{Separator, split};

use crate::plan::{InValue, Slot};
use crate::record::PlaceText;
use crate::text::keywords::one_or_many;
use crate::text::slots::{Comparison, asked};
use crate::text::words::{Word, runs, words};
use crate::values::{MAX_SLOTS, Value, Values};

/// Marks a word of a city or region that no place of the gazetteer explains.
const UNEXPLAINED: char = '?';

/// English name of a country by its ISO 3166-1 alpha-2 code.
#[must_use]
pub fn country_name(code: &str) -> Option<&'static str> {
    let gazetteer = Gazetteer::get();
    gazetteer
        .country_of_code(code)
        .map(|id| gazetteer.country(id).name.as_str())
}

/// What a record's place is found by; empty if nothing is known of it. It ends at [`MAX_SLOTS`].
#[must_use]
pub fn value(place: &PlaceText) -> Values {
    let resolved = Resolved::of(place);
    let mut value = Value::default();
    let mut ids = resolved.entities().map(term).peekable();
    if ids.peek().is_some() {
        value.slot();
        ids.for_each(|id| value.term(&id));
    }
    let mut add = |words: &[Word], unexplained| {
        for word in words {
            if value.slots() < MAX_SLOTS {
                value.slot();
                for term in record_slot(word, unexplained) {
                    value.term(&term);
                }
            }
        }
    };
    add(&resolved.city_words, resolved.cities.is_empty());
    add(&resolved.region_words, !resolved.region_explained);
    // Most records call their places as the gazetteer does, and many a city is called as its region.
    let mut there = vec![resolved.city_words.clone(), resolved.region_words.clone()];
    for name in resolved.names() {
        let name = words(name);
        if !there.contains(&name) {
            add(&name, false);
            there.push(name);
        }
    }
    if resolved.country.is_none() {
        add(&words(place.country.as_deref().unwrap_or_default()), true);
    }
    value.finish()
}

/// Whether the gazetteer explains all that is known of a place.
#[must_use]
pub fn is_explained(place: &PlaceText) -> bool {
    let resolved = Resolved::of(place);
    (resolved.city_words.is_empty() || !resolved.cities.is_empty())
        && (resolved.region_words.is_empty() || resolved.region_explained)
        && (place.country.is_none() || resolved.country.is_some())
}

/// What a location filter asks for of one place; none if it holds no word.
#[must_use]
pub fn asked_places(location: &str) -> Option<InValue> {
    let alternatives = split(location, Separator::Semicolon);
    one_or_many(
        alternatives.iter().filter_map(|text| alternative(text)).collect(),
        InValue::Any,
    )
}

/// Separates city, region and country in [`source_text`]. It separates words as well, so that a name that holds it has the
/// same words with a space in its place.
const SOURCE_PART: char = '\u{1f}';

/// A place as its source has it, as one text; empty if nothing is known of it.
#[must_use]
pub fn source_text(place: &PlaceText) -> String {
    if place.is_empty() {
        return String::new();
    }
    let parts = [&place.city, &place.region, &place.country].map(|part| {
        let part = part.as_deref().unwrap_or_default();
        part.replace(SOURCE_PART, " ")
    });
    parts.join("\u{1f}")
}

/// The place of a [`source_text`].
#[must_use]
pub fn of_source_text(text: &str) -> PlaceText {
    let mut parts = text.split(SOURCE_PART);
    let mut part = || parts.next().filter(|part| !part.is_empty()).map(str::to_owned);
    PlaceText {
        city: part(),
        region: part(),
        country: part(),
    }
}

/// What the gazetteer makes of a record's place: all that it may be, and what that lies in.
#[must_use]
pub fn entities(place: &PlaceText) -> Vec<Entity> {
    Resolved::of(place).entities().collect()
}

/// All parts of one alternative.
fn alternative(text: &str) -> Option<InValue> {
    let parts = asked_parts(text);
    let conditions = parts.iter().map(|asked| part(&asked.words, &asked.entities));
    one_or_many(conditions.collect(), InValue::All)
}

/// A part of an alternative of a location filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedPart {
    /// Its words; there is at least one.
    pub words: Vec<Word>,
    /// Every place that is called so.
    pub entities: Vec<Entity>,
}

/// The parts of one alternative, without those that have no word.
#[must_use]
pub fn asked_parts(text: &str) -> Vec<AskedPart> {
    let gazetteer = Gazetteer::get();
    let named = text
        .split(',')
        .map(words)
        .filter(|words| !words.is_empty())
        .map(|words| {
            let entities = gazetteer.all_named(&words);
            (words, entities)
        })
        .collect::<Vec<_>>();
    let parts = named.iter().enumerate().map(|(at, (words, entities))| {
        // A code of a region is understood where another part says in which country: `Munich, BY`.
        let others = named.iter().enumerate().filter(|(other, _)| *other != at);
        let mut countries = others
            .flat_map(|(_, (_, entities))| entities)
            .map(|entity| gazetteer.country_of(*entity))
            .collect::<Vec<_>>();
        countries.sort_unstable();
        countries.dedup();
        let key = name_key(words);
        let by_code = countries
            .into_iter()
            .flat_map(|country| gazetteer.regions_of_code(&key, country));
        let mut entities = entities
            .iter()
            .copied()
            .chain(by_code.map(Entity::Region))
            .collect::<Vec<_>>();
        entities.sort_unstable();
        entities.dedup();
        AskedPart {
            words: words.clone(),
            entities,
        }
    });
    parts.collect()
}

fn part(words: &[Word], entities: &[Entity]) -> InValue {
    let unexplained = !entities.is_empty();
    let phrases = runs(words)
        .map(|run| InValue::Phrase(run.iter().map(|word| asked_slot(word, unexplained)).collect()))
        .collect::<Vec<_>>();
    // Never empty, since the words are not.
    let by_words = one_or_many(phrases, InValue::All).unwrap_or(InValue::All(Vec::new()));
    if entities.is_empty() {
        return by_words;
    }
    let ids = entities.iter().copied().map(term).collect();
    InValue::Any(vec![InValue::Phrase(vec![ids]), by_words])
}

fn asked_slot(word: &Word, unexplained: bool) -> Slot {
    let slot = asked(word, Comparison::Exact);
    if unexplained {
        slot.iter().map(|form| format!("{UNEXPLAINED}{form}")).collect()
    } else {
        slot
    }
}

fn record_slot(word: &Word, unexplained: bool) -> Slot {
    let mut slot = asked_slot(word, false);
    if unexplained {
        slot.append(&mut asked_slot(word, true));
    }
    slot
}

/// The id of a place, as a term.
fn term(entity: Entity) -> String {
    let gazetteer = Gazetteer::get();
    match entity {
        Entity::Country(id) => format!("c:{}", gazetteer.country(id).code),
        Entity::Region(id) => {
            let region = gazetteer.region(id);
            format!(
                "r:{}.{}",
                gazetteer.country(region.country).code,
                region.geonames_code
            )
        }
        Entity::City(id) => format!("g:{}", gazetteer.city(id).geonames_id),
    }
}

/// What the gazetteer makes of a record's place.
struct Resolved {
    country: Option<CountryId>,
    /// The regions it may be in: those that its region names, else the one that all its cities lie in.
    regions: Vec<RegionId>,
    /// The cities it may be: those of its name within its region and country.
    cities: Vec<CityId>,
    city_words: Vec<Word>,
    region_words: Vec<Word>,
    region_explained: bool,
}

impl Resolved {
    fn of(place: &PlaceText) -> Self {
        let gazetteer = Gazetteer::get();
        let text = |text: &Option<String>| words(text.as_deref().unwrap_or_default());
        let (city_words, region_words) = (text(&place.city), text(&place.region));
        let mut country = place
            .country
            .as_deref()
            .and_then(|code| gazetteer.country_of_code(code));

        let mut regions = Vec::new();
        if !region_words.is_empty() {
            regions = gazetteer.regions_named(&region_words, country);
        }
        let region_explained = !regions.is_empty();

        let mut cities = Vec::new();
        if !city_words.is_empty() {
            cities = gazetteer.cities_named(&city_words);
            cities.retain(|id| country.is_none_or(|country| gazetteer.city(*id).country == country));
            if region_explained {
                let in_regions =
                    |id: &CityId| gazetteer.city(*id).region.is_some_and(|id| regions.contains(&id));
                cities.retain(in_regions);
                if !cities.is_empty() {
                    regions.retain(|id| {
                        cities
                            .iter()
                            .any(|city| gazetteer.city(*city).region == Some(*id))
                    });
                }
            }
            cities.sort_unstable();
            cities.dedup();
        }
        if !region_explained {
            regions.extend(unanimous(cities.iter().map(|id| gazetteer.city(*id).region)));
        }
        if country.is_none() {
            let of_cities = unanimous(cities.iter().map(|id| Some(gazetteer.city(*id).country)));
            let of_regions = || unanimous(regions.iter().map(|id| Some(gazetteer.region(*id).country)));
            country = of_cities.or_else(of_regions);
        }
        Self {
            country,
            regions,
            cities,
            city_words,
            region_words,
            region_explained,
        }
    }

    fn entities(&self) -> impl Iterator<Item = Entity> {
        let country = self.country.into_iter().map(Entity::Country);
        let regions = self.regions.iter().copied().map(Entity::Region);
        country
            .chain(regions)
            .chain(self.cities.iter().copied().map(Entity::City))
    }

    /// The names that the gazetteer knows it by, where it is sure: those the record itself does not show.
    fn names(&self) -> Vec<&'static str> {
        let gazetteer = Gazetteer::get();
        let mut names = Vec::new();
        if let [city] = self.cities[..] {
            names.push(&*gazetteer.city(city).name);
        }
        if let [region] = self.regions[..] {
            let region = gazetteer.region(region);
            names.extend([region.name.as_str(), region.code.as_str()]);
        }
        if let Some(country) = self.country {
            let country = gazetteer.country(country);
            names.extend([
                country.name.as_str(),
                country.code.as_str(),
                country.iso3.as_str(),
            ]);
        }
        names
    }
}

/// What all have in common; none if there are none, or two differ.
fn unanimous<T: PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values
        .all(|value| value.as_ref() == Some(&first))
        .then_some(first)
}

#[cfg(test)]
mod tests;
