//! Places, from the rows of the gazetteer's files.

use std::collections::{BTreeSet, HashMap};
use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

use crate::text::{Word, occurs, runs, words};

const COUNTRIES: &str = include_str!("../../data/countries.tsv");
const COUNTRY_NAMES: &[u8] = include_bytes!("../../data/country_names.tsv.gz");
const REGIONS: &str = include_str!("../../data/regions.tsv");
const REGION_NAMES: &[u8] = include_bytes!("../../data/region_names.tsv.gz");
const CITY_NAMES: &[u8] = include_bytes!("../../data/city_names.tsv.gz");
const PLACES: &[u8] = include_bytes!("../../data/places.tsv.gz");
const SMALL_PLACES: &[u8] = include_bytes!("../../data/small_places.tsv.gz");

/// Short names of cities that everyone uses; others as short are airports and transliterations.
const SHORT_NAMES: &str = "NYC NY LA SF HK KL BKK HCM";
/// Countries whose regions go by their codes alone.
const COUNTRIES_OF_CODES: &str = "US CA AU";
/// What some write behind the name of a city.
const ENDINGS: &str = "city si gun eup shi town township municipality";

/// A place: its country, the code of a region in it, the GeoNames id of a city.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Spot {
    Country(String),
    Region(String, String),
    City(String),
}

use Spot::{City, Country, Region};

/// What a spot lies in, and is called in English.
struct About {
    country: String,
    /// Of a city, the region's code.
    region: String,
    /// The names that stand for it in a record.
    shown: Vec<String>,
}

#[derive(Default)]
struct Atlas {
    about: HashMap<Spot, About>,
    called: HashMap<String, BTreeSet<Spot>>,
    /// Regions by country and code in ISO 3166-2.
    coded: HashMap<(String, String), Spot>,
}

static ATLAS: LazyLock<Atlas> = LazyLock::new(Atlas::read);

fn unzip(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes)
        .read_to_string(&mut text)
        .expect("a whole file");
    text
}

/// The words of a name, as one text; those that are glued without a space between.
fn key(words: &[Word], form: fn(&Word) -> &str) -> String {
    let mut key = String::new();
    for word in words {
        if !key.is_empty() && !word.glued {
            key.push(' ');
        }
        key.push_str(form(word));
    }
    key
}

fn plain_key(words: &[Word]) -> String {
    key(words, |word| &word.plain)
}

impl Atlas {
    fn call(&mut self, name: &str, spot: &Spot) {
        let words = words(name);
        for key in [plain_key(&words), key(&words, |word| &word.long)] {
            if !key.is_empty() {
                self.called.entry(key).or_default().insert(spot.clone());
            }
        }
    }

    fn read() -> Self {
        let mut atlas = Self::default();
        let [country_names, region_names, city_names, places, small_places] =
            [COUNTRY_NAMES, REGION_NAMES, CITY_NAMES, PLACES, SMALL_PLACES].map(unzip);
        let rows = |text: &'static str| {
            text.lines()
                .skip(1)
                .map(|line| line.split('\t').collect::<Vec<_>>())
        };
        for row in rows(COUNTRIES) {
            let spot = Country(row[0].to_owned());
            let shown = [row[2], row[0], row[1]].map(str::to_owned).to_vec();
            for name in &shown {
                atlas.call(name, &spot);
            }
            let about = About {
                country: row[0].to_owned(),
                region: String::new(),
                shown,
            };
            atlas.about.insert(spot, about);
        }
        for line in country_names.lines().skip(1) {
            let (code, names) = line.split_once('\t').expect("two columns");
            let spot = Country(code.to_owned());
            if atlas.about.contains_key(&spot) {
                names.split('|').for_each(|name| atlas.call(name, &spot));
            }
        }
        for row in rows(REGIONS) {
            let spot = Region(row[0].to_owned(), row[1].to_owned());
            atlas.call(row[2], &spot);
            atlas.call(row[3], &spot);
            let about = About {
                country: row[0].to_owned(),
                region: String::new(),
                shown: vec![row[2].to_owned()],
            };
            atlas.about.insert(spot, about);
        }
        for line in region_names.lines().skip(1) {
            let row = line.split('\t').collect::<Vec<_>>();
            let spot = Region(row[0].to_owned(), row[1].to_owned());
            let Some(about) = atlas.about.get_mut(&spot) else {
                continue;
            };
            let code = row[2];
            let is_code = code.starts_with(|first: char| first.is_ascii_alphabetic());
            if is_code {
                about.shown.push(code.to_owned());
                let key = plain_key(&words(code));
                atlas.coded.insert((row[0].to_owned(), key), spot.clone());
            }
            row[3].split('|').for_each(|name| atlas.call(name, &spot));
            if is_code && COUNTRIES_OF_CODES.split(' ').any(|country| country == row[0]) {
                atlas.call(code, &spot);
            }
        }
        for line in places.lines().skip(1) {
            let row = line.split('\t').collect::<Vec<_>>();
            let names = row
                .get(10)
                .copied()
                .unwrap_or_default()
                .split('|')
                .filter(|name| is_name(name));
            atlas.city(
                row[0],
                row[1],
                row[3],
                row[5],
                std::iter::once(row[2]).chain(names),
            );
        }
        for line in city_names.lines().skip(1) {
            let (id, names) = line.split_once('\t').expect("two columns");
            let spot = City(id.to_owned());
            if atlas.about.contains_key(&spot) {
                names.split('|').for_each(|name| atlas.call(name, &spot));
            }
        }
        for line in small_places.lines().skip(1) {
            let row = line.split('\t').collect::<Vec<_>>();
            atlas.city(row[0], row[1], row[2], row[3], std::iter::empty());
        }
        atlas
    }

    fn city<'a>(
        &mut self,
        id: &str,
        name: &str,
        region: &str,
        country: &str,
        names: impl Iterator<Item = &'a str>,
    ) {
        let spot = City(id.to_owned());
        self.call(name, &spot);
        names.for_each(|name| self.call(name, &spot));
        let about = About {
            country: country.to_owned(),
            region: region.to_owned(),
            shown: vec![name.to_owned()],
        };
        self.about.insert(spot, about);
    }

    fn named(&self, key: &str) -> Vec<Spot> {
        self.called.get(key).into_iter().flatten().cloned().collect()
    }

    /// Cities that are called so with or without an ending.
    fn by_ending(&self, key: &str) -> Vec<Spot> {
        let bare = key
            .rsplit_once(' ')
            .filter(|(_, last)| ENDINGS.split(' ').any(|ending| ending == *last))
            .map(|(rest, _)| rest.to_owned());
        let mut found = self.named(&bare.unwrap_or_else(|| format!("{key} city")));
        found.retain(|spot| matches!(spot, City(_)));
        found
    }

    fn region_of_code(&self, country: &str, key: &str) -> Option<Spot> {
        self.coded.get(&(country.to_owned(), key.to_owned())).cloned()
    }
}

fn is_name(name: &str) -> bool {
    let airport = name.len() == 3 && name.chars().all(|letter| letter.is_ascii_uppercase());
    let short = name.is_ascii() && (name.len() < 3 || airport);
    !short || SHORT_NAMES.split(' ').any(|known| known == name)
}

/// The English name of the country of a code.
pub(crate) fn country_name(code: &str) -> Option<String> {
    let country = country_of(code)?;
    ATLAS
        .about
        .get(&Country(country))
        .map(|about| about.shown[0].clone())
}

fn country_of(code: &str) -> Option<String> {
    let exact = Country(code.to_owned());
    if ATLAS.about.contains_key(&exact) {
        return Some(code.to_owned());
    }
    ATLAS
        .named(&plain_key(&words(code)))
        .into_iter()
        .find_map(|spot| match spot {
            Country(code) => Some(code),
            _ => None,
        })
}

/// What all have in common; none if there are none, or two differ.
fn common<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// A record's place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// What it may be, and lies in.
    spots: BTreeSet<Spot>,
    /// The texts that it is told and known by.
    texts: Vec<Vec<Word>>,
    /// Those of them that name nothing the gazetteer knows.
    unknown: Vec<Vec<Word>>,
}

impl Place {
    pub(crate) fn of(city: Option<&str>, region: Option<&str>, country: Option<&str>) -> Self {
        let cut = |text: Option<&str>| words(text.unwrap_or_default());
        let (city_words, region_words) = (cut(city), cut(region));
        let mut in_country = country.and_then(country_of);
        let is_in_country = |found: &Spot, country: &Option<String>| match country {
            Some(country) => ATLAS.about[found].country == *country,
            None => true,
        };

        let region_key = plain_key(&region_words);
        let mut regions = ATLAS.named(&region_key).into_iter().collect::<BTreeSet<_>>();
        regions.retain(|spot| matches!(spot, Region(..)) && is_in_country(spot, &in_country));
        regions.extend(
            in_country
                .iter()
                .filter_map(|country| ATLAS.region_of_code(country, &region_key)),
        );
        let region_known = !regions.is_empty();

        let city_key = plain_key(&city_words);
        let mut cities = BTreeSet::new();
        if !city_words.is_empty() {
            cities.extend(ATLAS.named(&city_key));
            cities.extend(ATLAS.by_ending(&city_key));
        }
        cities.retain(|spot| matches!(spot, City(_)) && is_in_country(spot, &in_country));
        let region_of = |city: &Spot| {
            let about = &ATLAS.about[city];
            let region = Region(about.country.clone(), about.region.clone());
            ATLAS.about.contains_key(&region).then_some(region)
        };
        if region_known {
            cities.retain(|city| region_of(city).is_some_and(|region| regions.contains(&region)));
            if !cities.is_empty() {
                regions.retain(|region| cities.iter().any(|city| region_of(city).as_ref() == Some(region)));
            }
        } else {
            regions.extend(common(cities.iter().map(region_of)).flatten());
        }
        if in_country.is_none() {
            let country_of = |spot: &Spot| ATLAS.about[spot].country.clone();
            in_country =
                common(cities.iter().map(country_of)).or_else(|| common(regions.iter().map(country_of)));
        }

        let mut place = Self::default();
        place.tell(&city_words, cities.is_empty());
        place.tell(&region_words, !region_known);
        if in_country.is_none() {
            place.tell(&cut(country), true);
        }
        let single = |spots: &BTreeSet<Spot>| spots.iter().next().filter(|_| spots.len() == 1).cloned();
        let sure = [single(&cities), single(&regions), in_country.clone().map(Country)];
        for spot in sure.into_iter().flatten() {
            for name in &ATLAS.about[&spot].shown {
                place.tell(&words(name), false);
            }
        }
        place.spots.extend(cities);
        place.spots.extend(regions);
        place.spots.extend(in_country.map(Country));
        place
    }

    fn tell(&mut self, text: &[Word], unknown: bool) {
        if text.is_empty() {
            return;
        }
        self.texts.push(text.to_vec());
        if unknown {
            self.unknown.push(text.to_vec());
        }
    }

    /// What it may be and lies in, as texts.
    pub(crate) fn ids(&self) -> BTreeSet<String> {
        let id = |spot: &Spot| match spot {
            Country(code) => format!("c:{code}"),
            Region(country, code) => format!("r:{country}.{code}"),
            City(id) => format!("g:{id}"),
        };
        self.spots.iter().map(id).collect()
    }

    /// Whether nothing is known of it.
    pub(crate) const fn is_nowhere(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether one of the alternatives is here.
    pub(crate) fn meets(&self, asked: &[Asked]) -> bool {
        asked
            .iter()
            .any(|asked| asked.parts.iter().all(|part| self.meets_part(part)))
    }

    fn meets_part(&self, (words, spots): &(Vec<Word>, BTreeSet<Spot>)) -> bool {
        let occurs_in =
            |texts: &[Vec<Word>]| runs(words).all(|run| texts.iter().any(|text| occurs(text, run, Word::is)));
        if spots.is_empty() {
            return occurs_in(&self.texts);
        }
        !self.spots.is_disjoint(spots) || occurs_in(&self.unknown)
    }
}

/// One alternative of a location filter: its comma parts, and what each may mean.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    parts: Vec<(Vec<Word>, BTreeSet<Spot>)>,
}

/// The alternatives of a location filter.
pub(crate) fn asked(location: &str) -> Vec<Asked> {
    let alternatives = crate::text::composed(location);
    alternatives
        .split(';')
        .map(one_asked)
        .filter(|asked| !asked.parts.is_empty())
        .collect()
}

fn one_asked(text: &str) -> Asked {
    let texts = text
        .split(',')
        .map(words)
        .filter(|words| !words.is_empty())
        .collect::<Vec<_>>();
    let named = texts
        .iter()
        .map(|words| {
            let key = plain_key(words);
            let exact = ATLAS.named(&key);
            if exact.is_empty() {
                ATLAS.by_ending(&key)
            } else {
                exact
            }
        })
        .collect::<Vec<_>>();
    let meaning = |at: usize| {
        // A region's code counts beside a part that tells the country.
        let others = named.iter().enumerate().filter(|(other, _)| *other != at);
        let countries = others
            .flat_map(|(_, spots)| spots)
            .map(|spot| &ATLAS.about[spot].country);
        let key = plain_key(&texts[at]);
        let coded = countries.filter_map(|country| ATLAS.region_of_code(country, &key));
        named[at].iter().cloned().chain(coded).collect()
    };
    let parts = texts
        .iter()
        .enumerate()
        .map(|(at, words)| (words.clone(), meaning(at)))
        .collect();
    Asked { parts }
}
