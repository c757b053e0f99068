//! Made-up companies and people, any number of them, each made from its number alone: nothing is kept in memory.
//!
//! There are three people to a company. The n-th person works at a company the lower in number the lower theirs is, and
//! companies of low numbers have more people: the largest has some thousands, most have one or two, one person in
//! twelve has no company.

use std::ops::Range;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use proto::search::v1::{CompanyRecord, PersonRecord};

use super::chance::{Chance, index};
use super::phones::PHONES;
use super::places::other_spelling;
use super::sample::{Place, Sample};
use super::text;

/// People for each company.
pub(super) const PEOPLE_EACH: u64 = 3;

const LEGAL_FORMS: [&str; 16] = [
    "Inc.",
    "Inc.",
    "Ltd.",
    "Limited",
    "Limited",
    "PLC",
    "LLC",
    "GmbH",
    "AG",
    "S.A.",
    "AB",
    "S.p.A.",
    "B.V.",
    "Co., Ltd.",
    "Pty Ltd",
    "",
];

const FIRST_NAMES: [&str; 48] = [
    "James",
    "Mary",
    "Robert",
    "Patricia",
    "John",
    "Jennifer",
    "Michael",
    "Linda",
    "David",
    "Elizabeth",
    "Anna",
    "Lukas",
    "Sofia",
    "Jürgen",
    "François",
    "Élodie",
    "José",
    "María",
    "Søren",
    "Åsa",
    "Łukasz",
    "Zoë",
    "Ayşe",
    "Mehmet",
    "Wei",
    "Li",
    "Hiroshi",
    "Yuki",
    "Priya",
    "Rahul",
    "Amit",
    "Fatima",
    "Omar",
    "Chen",
    "Mei",
    "Jin",
    "Olga",
    "Ivan",
    "Giulia",
    "Marco",
    "Pedro",
    "Ana",
    "Kofi",
    "Amara",
    "Noah",
    "Emma",
    "Liam",
    "Olivia",
];

const NAME_HEADS: [&str; 60] = [
    "Ander", "Berg", "Bern", "Brand", "Carl", "Christen", "Dahl", "Dier", "Ecker", "Ells", "Fern", "Fisch",
    "Gold", "Grün", "Hall", "Hart", "Her", "Holm", "Jack", "Jens", "Karl", "Kess", "Kling", "Lang", "Lind",
    "Lund", "Mar", "Mitter", "Moor", "Nel", "Nord", "Nuss", "Öst", "Palm", "Pell", "Peter", "Rich", "Robin",
    "Rosen", "Sand", "Schön", "Silver", "Sorg", "Stein", "Strand", "Sund", "Thom", "Tor", "Ull", "Vester",
    "Vog", "Wald", "Wein", "West", "Wick", "Wild", "Will", "Winter", "Wolf", "Zell",
];

const NAME_TAILS: [&str; 40] = [
    "son", "sen", "mann", "berg", "feld", "stein", "er", "ler", "ström", "gren", "qvist", "dahl", "land",
    "man", "ton", "ham", "wood", "ford", "well", "ley", "by", "sky", "ov", "ova", "ić", "ez", "es", "i",
    "ini", "elli", "eau", "ier", "aert", "ma", "stra", "kamp", "hof", "bach", "thal", "wick",
];

const OFFICERS: [&str; 20] = [
    "Chief Executive Officer",
    "CEO",
    "Managing Director",
    "Chief Financial Officer",
    "CFO",
    "Chief Technology Officer",
    "CTO",
    "Chief Operating Officer",
    "COO",
    "VP Sales",
    "VP Engineering",
    "Vice President, Marketing",
    "VP Marketing",
    "Chief Marketing Officer",
    "Head of HR",
    "Head of Marketing",
    "General Counsel",
    "SVP Operations",
    "Sales Manager",
    "Software Engineer",
];

/// What all records of a run are made from.
pub(super) struct Data {
    sample: Sample,
    seed: u64,
    /// Before all external ids, so that several sets can stand side by side.
    prefix: &'static str,
    companies: u64,
    /// Nothing was updated on this day or later.
    as_of: NaiveDate,
}

impl Data {
    /// So many companies and [`PEOPLE_EACH`] times as many people.
    pub(super) fn new(
        sample: Sample,
        prefix: &'static str,
        companies: u64,
        seed: u64,
        as_of: NaiveDate,
    ) -> Self {
        Self {
            sample,
            seed,
            prefix,
            companies,
            as_of,
        }
    }

    pub(super) const fn sample(&self) -> &Sample {
        &self.sample
    }

    pub(super) const fn companies(&self) -> u64 {
        self.companies
    }

    pub(super) const fn people(&self) -> u64 {
        self.companies * PEOPLE_EACH
    }

    fn chance(&self, fact: &str, record: u64) -> Chance {
        Chance::of(self.seed, fact, record)
    }

    /// People with a company: those below this number.
    const fn employed(&self) -> u64 {
        self.people() * 11 / 12
    }

    /// The number of a person's company.
    pub(super) fn company_of(&self, person: u64) -> Option<u64> {
        if person >= self.employed() {
            return None;
        }
        let share = (u128::from(person) << 32) / u128::from(self.employed());
        u64::try_from((u128::from(self.companies) * share * share) >> 64).ok()
    }

    /// The numbers of a company's people.
    pub(super) fn people_of(&self, company: u64) -> Range<u64> {
        let first = |company: u64| {
            let (mut low, mut high) = (0, self.employed());
            while low < high {
                let middle = u64::midpoint(low, high);
                if self.company_of(middle).is_some_and(|of| of < company) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        first(company)..first(company + 1)
    }

    pub(super) fn company_id(&self, company: u64) -> String {
        format!("{}c:{company:08}", self.prefix)
    }

    pub(super) fn person_id(&self, person: u64) -> String {
        format!("{}p:{person:08}", self.prefix)
    }

    /// The number in an external id that was made here.
    pub(super) fn number(external_id: &str) -> Option<u64> {
        external_id.rsplit(':').next()?.parse().ok()
    }

    /// A company's name without its legal form.
    pub(super) fn core_name(&self, company: u64) -> String {
        let mut chance = self.chance("name", company);
        let mut name = chance.pick(&self.sample.first_words).clone();
        for _ in 0..=chance.below(2) {
            name.push(' ');
            name.push_str(chance.pick(&self.sample.later_words).as_str());
        }
        if chance.percent(2) {
            name.to_uppercase()
        } else {
            name
        }
    }

    /// A company's domain, as one would type it.
    pub(super) fn domain(&self, company: u64) -> Option<String> {
        let mut chance = self.chance("domain", company);
        let top = match self
            .company_place(company)
            .as_ref()
            .map(|place| place.country.as_str())
        {
            _ if chance.percent(60) => "com",
            Some("DE") => "de",
            Some("GB") => "co.uk",
            Some("FR") => "fr",
            Some("SE") => "se",
            Some("JP") => "co.jp",
            Some("AU") => "com.au",
            Some("IN") => "in",
            Some("BR") => "com.br",
            _ => "net",
        };
        let name: String = text::fold(&self.core_name(company))
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(24)
            .collect();
        chance
            .percent(75)
            .then(|| format!("{name}{}{company}.{top}", self.prefix))
    }

    /// A company's place.
    pub(super) fn company_place(&self, company: u64) -> Option<Place> {
        let mut chance = self.chance("place", company);
        if chance.percent(4) {
            return None;
        }
        Some(self.place(&mut chance))
    }

    fn place(&self, chance: &mut Chance) -> Place {
        let mut place = chance.pick(&self.sample.places).clone();
        if let Some(city) = &mut place.city {
            if chance.percent(15)
                && let Some(other) = other_spelling(city)
            {
                other.clone_into(city);
            } else if chance.percent(3) {
                *city = city.to_uppercase();
            }
        }
        place
    }

    /// A company in the import's form.
    pub(super) fn company(&self, company: u64) -> CompanyRecord {
        let mut chance = self.chance("company", company);
        let pattern = chance.pick(&self.sample.patterns);
        let place = self.company_place(company);
        let domain = self.domain(company);
        let website = domain
            .as_ref()
            .filter(|_| chance.percent(88))
            .map(|domain| match chance.below(10) {
                0 => format!("https://{domain}/"),
                1 => format!("HTTP://WWW.{}", domain.to_uppercase()),
                2 => domain.clone(),
                _ => format!("http://www.{domain}"),
            });
        let mut name = format!("{} {}", self.core_name(company), chance.pick(&LEGAL_FORMS));
        if chance.percent(1) {
            name.push_str("  ");
        }
        let country = place.as_ref().map(|place| place.country.as_str());
        let phone = PHONES.iter().find(|(of, _)| Some(*of) == country);
        CompanyRecord {
            external_id: self.company_id(company),
            name,
            website,
            business_types: pattern.business_types.clone(),
            description: self.description(&mut chance, &pattern.sentences),
            tags: self.tags(&mut chance, &pattern.tags),
            business_email: domain
                .as_ref()
                .filter(|_| chance.percent(80))
                .map(|domain| format!("info@{domain}")),
            domain,
            business_phone: phone
                .filter(|_| chance.percent(85))
                .map(|(_, number)| format!("{number}{:04}", chance.below(10_000))),
            city: place.as_ref().and_then(|place| place.city.clone()),
            region: place.as_ref().and_then(|place| place.region.clone()),
            country: place.map(|place| place.country),
            employee_count: chance
                .percent(92)
                .then(|| i64::try_from(chance.doubling(1, 200_000)).unwrap_or(1)),
            founded_date: self.founded(&mut chance),
            info_updated_at: Some(self.updated(&mut chance)),
        }
    }

    /// Two or three sentences: of a company of the same types, and of any.
    fn description(&self, chance: &mut Chance, sentences: &[String]) -> Option<String> {
        if chance.percent(3) {
            return None;
        }
        let mut all: Vec<&str> = sentences
            .iter()
            .take(index(1 + chance.below(2)))
            .map(String::as_str)
            .collect();
        let other = &chance.pick(&self.sample.patterns).sentences;
        if !other.is_empty() {
            all.push(chance.pick(other).as_str());
        }
        let description = all.join(" ");
        (!description.trim().is_empty()).then_some(description)
    }

    fn tags(&self, chance: &mut Chance, of_pattern: &[String]) -> Vec<String> {
        let mut tags: Vec<String> = of_pattern
            .iter()
            .filter(|_| chance.percent(75))
            .cloned()
            .collect();
        tags.extend(chance.pick(&self.sample.patterns).tags.first().cloned());
        tags.dedup();
        for tag in &mut tags {
            if chance.percent(3) {
                *tag = tag.to_uppercase();
            }
        }
        tags
    }

    /// A day, a year, nothing; a tenth are of the last year.
    fn founded(&self, chance: &mut Chance) -> Option<String> {
        let days = match chance.below(100) {
            0..45 => return None,
            45..55 => 1 + chance.below(364),
            _ => chance.doubling(400, 40_000),
        };
        let day = self.as_of - TimeDelta::days(i64::try_from(days).unwrap_or(1));
        Some(if days > 800 && chance.percent(40) {
            day.format("%Y").to_string()
        } else {
            day.to_string()
        })
    }

    /// A moment of the last six years, lately more often than long ago.
    fn updated(&self, chance: &mut Chance) -> prost_types::Timestamp {
        let end = self.as_of.and_time(chrono::NaiveTime::MIN).and_utc();
        let before = chance.low_below(2_000 * 86_400);
        prost_types::Timestamp {
            seconds: end.timestamp() - 1 - i64::try_from(before).unwrap_or(0),
            nanos: 0,
        }
    }

    /// A person's own place.
    pub(super) fn person_place(&self, person: u64) -> Option<Place> {
        let mut chance = self.chance("home", person);
        match chance.below(100) {
            0..10 => None,
            10..80 => self
                .company_of(person)
                .and_then(|company| self.company_place(company)),
            _ => Some(self.place(&mut chance)),
        }
    }

    /// A person's job title.
    pub(super) fn title(&self, person: u64) -> Option<String> {
        let mut chance = self.chance("title", person);
        let rank = match chance.below(100) {
            0..6 => return None,
            6..22 => return Some((*chance.pick(&OFFICERS)).to_owned()),
            22..30 => "Senior ",
            30..33 => "Sr. ",
            33..36 => "Junior ",
            _ => "",
        };
        Some(format!("{rank}{}", chance.pick_low(&self.sample.titles)))
    }

    /// A person in the import's form.
    pub(super) fn person(&self, person: u64) -> PersonRecord {
        let mut chance = self.chance("person", person);
        let first = *chance.pick_low(&FIRST_NAMES);
        let last = format!("{}{}", chance.pick(&NAME_HEADS), chance.pick(&NAME_TAILS));
        let company = self.company_of(person);
        let place = self.person_place(person);
        let full = if chance.percent(30) {
            let initial = char::from(b'A' + u8::try_from(chance.below(26)).unwrap_or(0));
            format!("{first} {initial}. {last}")
        } else {
            format!("{first} {last}")
        };
        let domain = company.and_then(|company| self.domain(company));
        let address = |text: &str| text::fold(text).replace(|other: char| !other.is_ascii_alphanumeric(), "");
        PersonRecord {
            external_id: self.person_id(person),
            company_external_id: company.map(|company| self.company_id(company)),
            email: domain
                .filter(|_| chance.percent(80))
                .map(|domain| format!("{}.{}@{domain}", address(first), address(&last))),
            full_name: Some(if chance.percent(2) {
                full.to_uppercase()
            } else {
                full
            }),
            first_name: Some(first.to_owned()),
            last_name: Some(last),
            job_title: self.title(person),
            city: place.as_ref().and_then(|place| place.city.clone()),
            region: place.as_ref().and_then(|place| place.region.clone()),
            country: place.map(|place| place.country),
            info_updated_at: Some(self.updated(&mut chance)),
        }
    }
}

/// A time of the import's form.
pub(super) fn time(time: Option<prost_types::Timestamp>) -> DateTime<Utc> {
    time.and_then(|time| DateTime::from_timestamp(time.seconds, u32::try_from(time.nanos).ok()?))
        .unwrap_or_default()
}
