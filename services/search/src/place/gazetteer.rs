//! The gazetteer: which places there are, and all their names.
//!
//! Made once from the files in `data/` (see `data/LICENSES.md`), which are part of the program. A name is looked up by
//! a hash of its folded words: half a million names of all languages take 8 MB that way.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

use crate::text::words::{Word, joined, words};

const COUNTRIES: &str = include_str!("../../data/countries.tsv");
const COUNTRY_NAMES: &[u8] = include_bytes!("../../data/country_names.tsv.gz");
const REGIONS: &str = include_str!("../../data/regions.tsv");
const REGION_NAMES: &[u8] = include_bytes!("../../data/region_names.tsv.gz");
const CITY_NAMES: &[u8] = include_bytes!("../../data/city_names.tsv.gz");
const PLACES: &[u8] = include_bytes!("../../data/places.tsv.gz");
const SMALL_PLACES: &[u8] = include_bytes!("../../data/small_places.tsv.gz");

/// Countries whose regions are commonly called by their code alone.
const REGION_CODES_KNOWN_EVERYWHERE: [&str; 3] = ["US", "CA", "AU"];
/// Short names of cities that are no airport codes or transliterations: all others of three capitals, or of two
/// Latin characters, are left out.
const SHORT_CITY_NAMES: [&str; 8] = ["NYC", "NY", "LA", "SF", "HK", "KL", "BKK", "HCM"];
/// What a city's name may end with, or not.
const CITY_ENDINGS: [&str; 8] = [
    "city",
    "si",
    "gun",
    "eup",
    "shi",
    "town",
    "township",
    "municipality",
];

/// Number of a country in the gazetteer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountryId(u16);

/// Number of a region in the gazetteer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(u16);

/// Number of a city in the gazetteer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CityId(u32);

/// A place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entity {
    /// A country.
    Country(CountryId),
    /// A region of first order: state, province, prefecture.
    Region(RegionId),
    /// A city, town or village.
    City(CityId),
}

/// A country.
#[derive(Debug)]
pub struct Country {
    /// ISO 3166-1 alpha-2.
    pub code: String,
    /// ISO 3166-1 alpha-3.
    pub iso3: String,
    /// English name.
    pub name: String,
}

/// A region.
#[derive(Debug)]
pub struct Region {
    /// Where it is.
    pub country: CountryId,
    /// Its code in GeoNames, unique in its country.
    pub geonames_code: String,
    /// Its code in ISO 3166-2 without the country's, where it is known.
    pub code: String,
    /// English name.
    pub name: String,
}

/// A city, town or village.
#[derive(Debug)]
pub struct City {
    /// Id in GeoNames; from 4,000,000,001 one of our own.
    pub geonames_id: u32,
    /// Where it is.
    pub country: CountryId,
    /// Its region, where that is known.
    pub region: Option<RegionId>,
    /// English name.
    pub name: Box<str>,
}

/// All places.
#[derive(Debug)]
pub struct Gazetteer {
    countries: Vec<Country>,
    regions: Vec<Region>,
    cities: Vec<City>,
    /// Hash of a name, and what is called so. Sorted.
    names: Vec<(u64, Entity)>,
}

static GAZETTEER: LazyLock<Gazetteer> = LazyLock::new(Gazetteer::read);

impl Gazetteer {
    /// The gazetteer; made when it is first asked for, which takes some tenths of a second.
    #[must_use]
    pub fn get() -> &'static Self {
        &GAZETTEER
    }

    /// The country of an ISO 3166-1 alpha-2 code, in any case; `UK` is one too.
    #[must_use]
    pub fn country_of_code(&self, code: &str) -> Option<CountryId> {
        let by_code = self
            .countries
            .binary_search_by(|country| country.code.as_str().cmp(code));
        if let Ok(at) = by_code {
            return Some(CountryId(number(at)));
        }
        self.named(&name_key(&words(code)))
            .find_map(|entity| match entity {
                Entity::Country(country) => Some(country),
                _ => None,
            })
    }

    /// A country.
    #[must_use]
    pub fn country(&self, id: CountryId) -> &Country {
        &self.countries[usize::from(id.0)]
    }

    /// A region.
    #[must_use]
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[usize::from(id.0)]
    }

    /// A city.
    #[must_use]
    pub fn city(&self, id: CityId) -> &City {
        &self.cities[id.0 as usize]
    }

    /// The country that a place is or lies in.
    #[must_use]
    pub fn country_of(&self, entity: Entity) -> CountryId {
        match entity {
            Entity::Country(country) => country,
            Entity::Region(region) => self.region(region).country,
            Entity::City(city) => self.city(city).country,
        }
    }

    /// Whether one place is the other or lies in it.
    #[must_use]
    pub fn is_within(&self, place: Entity, other: Entity) -> bool {
        match (place, other) {
            (_, Entity::Country(country)) => self.country_of(place) == country,
            (Entity::City(city), Entity::Region(region)) => self.city(city).region == Some(region),
            _ => place == other,
        }
    }

    /// Every place that is called exactly so.
    pub fn named(&self, key: &str) -> impl Iterator<Item = Entity> + use<'_> {
        let hash = hash(key);
        let start = self.names.partition_point(|(other, _)| *other < hash);
        self.names[start..]
            .iter()
            .take_while(move |(other, _)| *other == hash)
            .map(|(_, entity)| *entity)
    }

    /// Every place that the words name; where there is none, the cities whose names differ by an ending such as
    /// `City`.
    #[must_use]
    pub fn all_named(&self, words: &[Word]) -> Vec<Entity> {
        let key = name_key(words);
        let exact = self.named(&key).collect::<Vec<_>>();
        if exact.is_empty() {
            self.cities_by_ending(&key).map(Entity::City).collect()
        } else {
            exact
        }
    }

    /// The cities that the words name.
    #[must_use]
    pub fn cities_named(&self, words: &[Word]) -> Vec<CityId> {
        let key = name_key(words);
        self.named(&key)
            .filter_map(city)
            .chain(self.cities_by_ending(&key))
            .collect()
    }

    /// The regions that the words name, in the country if it is known: there also those with such a code.
    #[must_use]
    pub fn regions_named(&self, words: &[Word], country: Option<CountryId>) -> Vec<RegionId> {
        let key = name_key(words);
        let mut regions = self
            .named(&key)
            .filter_map(region)
            .filter(|id| country.is_none_or(|country| self.region(*id).country == country))
            .collect::<Vec<_>>();
        regions.extend(
            country
                .into_iter()
                .flat_map(|country| self.regions_of_code(&key, country)),
        );
        regions.sort_unstable();
        regions.dedup();
        regions
    }

    /// The region of a country with a code.
    pub fn regions_of_code(&self, key: &str, country: CountryId) -> impl Iterator<Item = RegionId> + use<'_> {
        self.named(&code_key(&self.country(country).code, key))
            .filter_map(region)
    }

    fn cities_by_ending(&self, key: &str) -> impl Iterator<Item = CityId> + use<'_> {
        let without = key
            .rsplit_once(' ')
            .filter(|(_, ending)| CITY_ENDINGS.contains(ending))
            .map(|(rest, _)| rest.to_owned());
        let other = without.unwrap_or_else(|| format!("{key} city"));
        self.named(&other).filter_map(city)
    }

    /// Shows all names of all places. They are not kept: the files are read anew, which takes some tenths of a second.
    pub fn each_name(mut show: impl FnMut(Entity, &str)) {
        let texts = Texts::unzip();
        for (name, entity) in Reader::read(&texts).called {
            show(entity, name);
        }
    }

    fn read() -> Self {
        let texts = Texts::unzip();
        let Reader {
            mut gazetteer,
            called,
            ..
        } = Reader::read(&texts);
        gazetteer.names.extend(hash_names(&called));
        gazetteer.names.sort_unstable();
        gazetteer.names.dedup();
        gazetteer.names.shrink_to_fit();
        gazetteer
    }
}

/// The hashes of names, by all processors there are: folding half a million names is the work.
fn hash_names(called: &[(&str, Entity)]) -> Vec<(u64, Entity)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = called.len().div_ceil(threads).max(1);
    let hash_share = |share: &[(&str, Entity)]| {
        let mut names = Vec::with_capacity(share.len());
        for (name, entity) in share {
            let words = words(name);
            if words.is_empty() {
                continue;
            }
            names.push((hash(&name_key(&words)), *entity));
            if words.iter().any(|word| word.expanded.is_some()) {
                names.push((hash(&joined(&words, Word::expanded_or_plain)), *entity));
            }
        }
        names
    };
    std::thread::scope(|scope| {
        let shares = called
            .chunks(share)
            .map(|share| scope.spawn(move || hash_share(share)));
        // All are started before the first is waited for.
        let shares = shares.collect::<Vec<_>>();
        let finished = shares.into_iter().map(|share| {
            share
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        finished.flatten().collect()
    })
}

/// What a name is looked up by.
#[must_use]
pub fn name_key(words: &[Word]) -> String {
    joined(words, |word| &word.plain)
}

/// What a region's code is looked up by: it counts only in its country. No name begins with a dot.
fn code_key(country: &str, code: &str) -> String {
    format!(".{country}.{code}")
}

fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

const fn city(entity: Entity) -> Option<CityId> {
    match entity {
        Entity::City(city) => Some(city),
        _ => None,
    }
}

const fn region(entity: Entity) -> Option<RegionId> {
    match entity {
        Entity::Region(region) => Some(region),
        _ => None,
    }
}

/// The files are part of the program: a number that does not fit, or a file that does not read, is found by the first
/// test that runs.
fn number<T: TryFrom<usize>>(at: usize) -> T {
    T::try_from(at)
        .unwrap_or_else(|_| panic!("the gazetteer has more places than its numbers can tell apart"))
}

fn unzip(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes)
        .read_to_string(&mut text)
        .expect("the gazetteer's files are whole");
    text
}

/// Rows of a file, without the line of column names.
fn rows<const COLUMNS: usize>(text: &str) -> impl Iterator<Item = [&str; COLUMNS]> {
    text.lines().skip(1).map(|line| {
        let mut columns = line.split('\t');
        std::array::from_fn(|_| columns.next().unwrap_or_default())
    })
}

/// The packed files.
struct Texts {
    country_names: String,
    region_names: String,
    city_names: String,
    places: String,
    small_places: String,
}

impl Texts {
    fn unzip() -> Self {
        Self {
            country_names: unzip(COUNTRY_NAMES),
            region_names: unzip(REGION_NAMES),
            city_names: unzip(CITY_NAMES),
            places: unzip(PLACES),
            small_places: unzip(SMALL_PLACES),
        }
    }
}

/// A gazetteer in the making.
struct Reader<'a> {
    gazetteer: Gazetteer,
    /// What is called how.
    called: Vec<(&'a str, Entity)>,
    country_ids: HashMap<&'a str, CountryId>,
    region_ids: HashMap<(CountryId, &'a str), RegionId>,
}

impl Default for Reader<'_> {
    fn default() -> Self {
        let gazetteer = Gazetteer {
            countries: Vec::new(),
            regions: Vec::new(),
            cities: Vec::new(),
            names: Vec::new(),
        };
        Self {
            gazetteer,
            called: Vec::new(),
            country_ids: HashMap::new(),
            region_ids: HashMap::new(),
        }
    }
}

impl<'a> Reader<'a> {
    fn read(texts: &'a Texts) -> Self {
        let mut reader = Self::default();
        reader.countries(&texts.country_names);
        reader.regions(&texts.region_names);
        reader.places(&texts.places, &texts.city_names);
        reader.small_places(&texts.small_places);
        reader
    }

    fn name(&mut self, name: &'a str, entity: Entity) {
        self.called.push((name, entity));
    }

    fn countries(&mut self, more: &'a str) {
        let mut sorted = rows::<3>(COUNTRIES).collect::<Vec<_>>();
        sorted.sort_unstable();
        for [code, iso3, name] in sorted {
            let id = CountryId(number(self.gazetteer.countries.len()));
            self.country_ids.insert(code, id);
            for name in [code, iso3, name] {
                self.name(name, Entity::Country(id));
            }
            let [code, iso3, name] = [code, iso3, name].map(str::to_owned);
            self.gazetteer.countries.push(Country { code, iso3, name });
        }
        for [code, names] in rows::<2>(more) {
            if let Some(id) = self.country_ids.get(code).copied() {
                names
                    .split('|')
                    .for_each(|name| self.name(name, Entity::Country(id)));
            }
        }
    }

    fn regions(&mut self, more: &'a str) {
        for [country, code, name, ascii] in rows::<4>(REGIONS) {
            let Some(country) = self.country_ids.get(country).copied() else {
                continue;
            };
            let id = RegionId(number(self.gazetteer.regions.len()));
            self.region_ids.insert((country, code), id);
            self.name(name, Entity::Region(id));
            self.name(ascii, Entity::Region(id));
            let [geonames_code, name] = [code, name].map(str::to_owned);
            self.gazetteer.regions.push(Region {
                country,
                geonames_code,
                code: String::new(),
                name,
            });
        }
        for [country_code, geonames_code, code, names] in rows::<4>(more) {
            let Some(country) = self.country_ids.get(country_code).copied() else {
                continue;
            };
            let Some(id) = self.region_ids.get(&(country, geonames_code)).copied() else {
                continue;
            };
            names
                .split('|')
                .for_each(|name| self.name(name, Entity::Region(id)));
            if code.starts_with(|first: char| first.is_ascii_alphabetic()) {
                let key = name_key(&words(code));
                self.gazetteer
                    .names
                    .push((hash(&code_key(country_code, &key)), Entity::Region(id)));
                if REGION_CODES_KNOWN_EVERYWHERE.contains(&country_code) {
                    self.name(code, Entity::Region(id));
                }
                code.clone_into(&mut self.gazetteer.regions[usize::from(id.0)].code);
            }
        }
    }

    fn places(&mut self, text: &'a str, more: &'a str) {
        let more = rows::<2>(more)
            .map(|[id, names]| (id, names))
            .collect::<HashMap<_, _>>();
        for [id, name, ascii, region, _, country, _, _, _, _, alternates] in rows::<11>(text) {
            let Some(city) = self.city(id, name, region, country) else {
                continue;
            };
            if ascii != name {
                self.name(ascii, city);
            }
            for alternate in alternates.split('|').filter(|alternate| is_name(alternate)) {
                self.name(alternate, city);
            }
            for name in more.get(id).into_iter().flat_map(|names| names.split('|')) {
                self.name(name, city);
            }
        }
    }

    fn small_places(&mut self, text: &'a str) {
        for [id, name, region, country] in rows::<4>(text) {
            self.city(id, name, region, country);
        }
    }

    fn city(&mut self, geonames_id: &str, name: &'a str, region: &'a str, country: &str) -> Option<Entity> {
        let country = self.country_ids.get(country).copied()?;
        let id = CityId(number(self.gazetteer.cities.len()));
        self.name(name, Entity::City(id));
        self.gazetteer.cities.push(City {
            geonames_id: geonames_id.parse().ok()?,
            country,
            region: self.region_ids.get(&(country, region)).copied(),
            name: name.into(),
        });
        Some(Entity::City(id))
    }
}

/// Whether an alternative name is one: not an airport's code, nor a character or two of a transliteration.
fn is_name(alternate: &str) -> bool {
    let short = alternate.is_ascii()
        && (alternate.len() < 3
            || alternate.len() == 3 && alternate.bytes().all(|byte| byte.is_ascii_uppercase()));
    !short || SHORT_CITY_NAMES.contains(&alternate)
}

#[cfg(test)]
mod tests;
