//! Places that are asked for, and the other spellings that the data has of them.

/// A city as it is asked for (`Munich, Germany`), and how the baseline's tables name it.
pub(super) struct City {
    /// Folded, in English.
    pub(super) key: &'static str,
    /// ISO alpha-2.
    pub(super) country: &'static str,
    /// What a caller writes.
    pub(super) asked: &'static str,
}

const fn city(key: &'static str, country: &'static str, asked: &'static str) -> City {
    City { key, country, asked }
}

/// Large cities whose names are not those of their regions too.
pub(super) const CITIES: [City; 44] = [
    city("munich", "DE", "Munich, Germany"),
    city("philadelphia", "US", "Philadelphia, USA"),
    city("minneapolis", "US", "Minneapolis, USA"),
    city("cologne", "DE", "Köln, Germany"),
    city("stuttgart", "DE", "Stuttgart, Germany"),
    city("vancouver", "CA", "Vancouver, Canada"),
    city("toronto", "CA", "Toronto, Canada"),
    city("calgary", "CA", "Calgary, Canada"),
    city("montreal", "CA", "Montréal, Canada"),
    city("sydney", "AU", "Sydney, Australia"),
    city("melbourne", "AU", "Melbourne, Australia"),
    city("perth", "AU", "Perth, Australia"),
    city("brisbane", "AU", "Brisbane, Australia"),
    city("mumbai", "IN", "Mumbai, India"),
    city("chennai", "IN", "Chennai, India"),
    city("hyderabad", "IN", "Hyderabad, India"),
    city("kolkata", "IN", "Kolkata, India"),
    city("ahmedabad", "IN", "Ahmedabad, India"),
    city("shenzhen", "CN", "Shenzhen, China"),
    city("guangzhou", "CN", "Guangzhou, China"),
    city("hangzhou", "CN", "Hangzhou, China"),
    city("nanjing", "CN", "Nanjing, China"),
    city("houston", "US", "Houston, USA"),
    city("dallas", "US", "Dallas, USA"),
    city("chicago", "US", "Chicago, USA"),
    city("boston", "US", "Boston, USA"),
    city("san diego", "US", "San Diego, USA"),
    city("san francisco", "US", "San Francisco, USA"),
    city("los angeles", "US", "Los Angeles, USA"),
    city("atlanta", "US", "Atlanta, USA"),
    city("denver", "US", "Denver, USA"),
    city("seattle", "US", "Seattle, USA"),
    city("austin", "US", "Austin, USA"),
    city("las vegas", "US", "Las Vegas, USA"),
    city("milan", "IT", "Milano, Italy"),
    city("rome", "IT", "Rome, Italy"),
    city("turin", "IT", "Torino, Italy"),
    city("london", "GB", "London, United Kingdom"),
    city("manchester", "GB", "Manchester, UK"),
    city("helsinki", "FI", "Helsinki, Finland"),
    city("rotterdam", "NL", "Rotterdam, Netherlands"),
    city("johannesburg", "ZA", "Johannesburg, South Africa"),
    city("cape town", "ZA", "Cape Town, South Africa"),
    city("paris", "FR", "Paris, France"),
];

/// Other spellings in the data: the English name, and what some records write instead.
const SPELLINGS: [(&str, &str); 8] = [
    ("Munich", "München"),
    ("Cologne", "Köln"),
    ("Milan", "Milano"),
    ("Turin", "Torino"),
    ("Rome", "Roma"),
    ("Mumbai", "Bombay"),
    ("Kolkata", "Calcutta"),
    ("Montreal", "Montréal"),
];

/// Another spelling of a city, if there is one in use.
pub(super) fn other_spelling(city: &str) -> Option<&'static str> {
    let found = SPELLINGS.iter().find(|(english, _)| *english == city);
    found.map(|(_, other)| *other)
}

/// How the baseline's tables name a city: folded, in English, with its country.
pub(super) fn key(city: &str, country: &str) -> String {
    let english = SPELLINGS
        .iter()
        .find(|(_, other)| super::text::fold(other) == super::text::fold(city));
    let name = super::text::words(english.map_or(city, |(english, _)| english)).join(" ");
    format!("{name}|{country}")
}

/// Countries as they are asked for, and their codes, from those with many companies to those with few.
pub(super) const COUNTRIES: [(&str, &str); 24] = [
    ("USA", "US"),
    ("China", "CN"),
    ("Taiwan", "TW"),
    ("United Kingdom", "GB"),
    ("Hong Kong", "HK"),
    ("India", "IN"),
    ("Japan", "JP"),
    ("Canada", "CA"),
    ("Sweden", "SE"),
    ("Thailand", "TH"),
    ("France", "FR"),
    ("Germany", "DE"),
    ("Indonesia", "ID"),
    ("Australia", "AU"),
    ("Israel", "IL"),
    ("South Korea", "KR"),
    ("Italy", "IT"),
    ("Brazil", "BR"),
    ("Turkey", "TR"),
    ("Switzerland", "CH"),
    ("Norway", "NO"),
    ("Denmark", "DK"),
    ("Spain", "ES"),
    ("Netherlands", "NL"),
];
