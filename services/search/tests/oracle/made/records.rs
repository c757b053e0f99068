//! Records: those of the sample, with what is wrong in real ones and rare in these.

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, DeleteCompany, DeletePerson, PersonRecord};
use serde_json::Value;

const COMPANIES: &[u8] = include_bytes!("../../../../../sample/companies.jsonl.gz");
const TITLES: &str = include_str!("../../../../../sample/job_titles.txt");

/// The sample's companies, a line of JSON each.
pub(crate) static SAMPLE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut text = String::new();
    GzDecoder::new(COMPANIES)
        .read_to_string(&mut text)
        .expect("a whole file");
    text.lines().map(str::to_owned).collect()
});

/// The sample's titles.
pub(crate) static SAMPLE_TITLES: LazyLock<Vec<&str>> = LazyLock::new(|| TITLES.lines().collect());

/// Companies there are at most, and people.
const MOST_COMPANIES: usize = 90;
const MOST_PEOPLE: usize = 160;

/// Names with what the sample has too little of.
pub(super) const NAMES: &[&str] = &[
    "Müller & Söhne GmbH",
    "Mueller Söhne AG",
    "Muller Sohne",
    "Größenwahn Österreich",
    "Ørsted A/S",
    "Aarhus Ærø Åse",
    "Łódź Żółw Sp. z o.o.",
    "İstanbul Çelik Anonim Şirketi",
    "ISTANBUL CELIK",
    "Straße 7",
    "STRASSE Nr. 7",
    "C++ Tools, Inc.",
    "C# & F# Partners LLC",
    "C",
    "AT&T (UK)",
    "16\" Pipe Co.",
    "-x-",
    "foo:bar",
    "100% Natural Ltd",
    "トヨタ自動車株式会社",
    "㈱日立製作所",
    "ﾄﾖﾀ",
    "東京電力",
    "腾讯控股有限公司",
    "北京百度网讯科技有限公司",
    "주식회사 카카오",
    "(주)삼성전자",
    "บริษัท ปูนซิเมนต์ไทย จำกัด",
    "ПАО Газпром",
    "ООО «Ёлка»",
    "Ελληνικά Πετρέλαια Α.Ε.",
    "شركة الاتصالات السعودية",
    "הבנק הלאומי בע\"מ",
    "टाटा मोटर्स लिमिटेड",
    "O'Brien’s",
    "Acme™ Widgets®",
    "Acme Inc",
    "ACME, INC.",
    "Acme Ltd. (UK)",
    "Acme",
    "The Acme Acme",
    "Inc.",
    "Ａｃｍｅ　Ｇｒｏｕｐ",
    "Café Zoë",
    "Cafe\u{301} Zoe\u{308}",
    "S.A. D'Ieteren N.V.",
    "Grupo Bimbo, S.A.B. de C.V.",
    "Acme GmbH & Co. KG",
    "ﬁn ﬂow",
    "½ Price",
    "co\u{ad}operate",
    "!!!",
];

pub(super) const TEXTS: &[&str] = &[
    "Software Companies",
    "Software",
    "software company",
    "Used Cars",
    "used car",
    "Cars, used",
    "Café & Restaurants",
    "Banks",
    "Women’s Clothing",
    "E-Commerce",
    "e commerce",
    "ecommerce",
    "Bäckereien",
    "Baeckereien",
    "C++",
    "Glass",
    "Glasses",
    "Analyses",
    "Analysis",
    "Industries",
    "Industry",
    "自動車",
    "自動車部品",
    "Страхование",
    "טכנולוגיה",
    "تقنية",
    "Movies and a cookie",
    "24/7",
    "--",
    "R&D",
    "news",
    "new",
];

pub(super) const OFFICERS: &[&str] = &[
    "CEO",
    "Chief Executive Officer",
    "C.E.O. & Founder",
    "VP Sales",
    "VP of Sales",
    "Vice President, Sales",
    "Sr. HR Manager",
    "Senior Human Resources Manager",
    "Jr. Engineer",
    "Salespeople",
    "Salesperson",
    "CTO/COO",
    "Head of Marketing",
    "Director",
    "Geschäftsführer",
    "Geschaeftsfuehrer",
    "代表取締役社長",
    "Директор",
    "Owner",
];

const GIVEN: &[&str] = &[
    "Ada",
    "Zoë",
    "Jürgen",
    "Juergen",
    "Søren",
    "Łukasz",
    "İpek",
    "太郎",
    "Анна",
    "محمد",
    "José",
    "O'Neil",
    "Ann-Marie",
    "ada",
];
const FAMILY: &[&str] = &[
    "Lovelace",
    "Müller",
    "Muller",
    "Mueller",
    "Åberg",
    "山田",
    "Ёлкина",
    "العربي",
    "Núñez",
    "d'Arc",
    "lovelace",
    "Çelik",
];

/// City, region, country, with what is wrong in real records.
const PLACES: &[(&str, &str, &str)] = &[
    ("Munich", "Bavaria", "DE"),
    ("München", "", "DE"),
    ("MUENCHEN", "BY", "DE"),
    ("Munich", "Hesse", "DE"),
    ("Springfield", "IL", "US"),
    ("Springfield", "Illinois", "US"),
    ("Springfield", "", "US"),
    ("Springfield", "", ""),
    ("New York", "NY", "US"),
    ("New York City", "", "US"),
    ("York", "England", "GB"),
    ("London", "", "GB"),
    ("London", "Ontario", "CA"),
    ("", "Ontario", "CA"),
    ("", "", "GB"),
    ("", "", "UK"),
    ("Paris", "", "FR"),
    ("Paris", "TX", "US"),
    ("東京", "", "JP"),
    ("Shinjuku", "Tokyo", "JP"),
    ("Kyoto", "", "JP"),
    ("京都", "", ""),
    ("Jakarta Selatan", "", "ID"),
    ("Xyzzyville", "", "US"),
    ("Hobbiton", "Middle-earth", "NZ"),
    ("--", "", ""),
    ("São Paulo", "SP", "BR"),
    ("Córdoba", "", ""),
    ("Cordoba", "", "AR"),
    ("Москва", "", "RU"),
    ("Moscow", "Idaho", "US"),
    ("Georgia", "", "US"),
    ("Tbilisi", "", "GE"),
    ("St. Gallen", "", "CH"),
    ("Luxembourg City", "", "LU"),
    ("", "", "QQ"),
    ("Washington", "DC", "US"),
    ("Reykjavík", "", ""),
    ("Mumbai", "Maharashtra", "IN"),
    ("Mumbai", "MH", "IN"),
    ("Munich", "BY", ""),
    ("Sydney", "NSW", "AU"),
    ("القاهرة", "", "EG"),
];

/// More that is asked for than the records' own places.
pub(super) const ASKED_PLACES: &[&str] = &[
    "Germany",
    "Deutschland",
    "Bavaria",
    "Bayern",
    "NYC",
    "UK",
    "U.K.",
    "USA",
    "United States",
    "England",
    "Munich, Germany",
    "München, BY",
    "Springfield, IL, USA",
    "London, UK",
    "London, Ontario",
    "Paris; Munich",
    "Georgia",
    "Georgia, US",
    "Cordoba",
    "Мюнхен",
    "東京",
    "京都",
    "Japan",
    "Tokyo",
    "NSW, Australia",
    "Nowhere",
    "Middle Earth",
    "York",
    "Paris, France; Tokyo, JP",
    "Munich Germany",
    "QQ",
    "Moscow",
    "Russia",
    "Egypt",
    "Brasil",
    "São Paulo, SP",
    "CA",
    "California",
    "Washington, D.C.",
    "Singapore",
    "Hong Kong",
    "Taiwan",
    "China",
    "Jakarta",
    "Luxembourg",
    "India",
    "IN",
    "DE",
];

pub(super) const HOSTS: &[&str] = &[
    "acme.com",
    "www.acme.com",
    "shop.acme.com",
    "shop.eu.acme.co.uk",
    "ACME.co.uk",
    "notacme.com",
    "bücher.example",
    "xn--bcher-kva.example",
    "münchen.de",
    "例え.jp",
    "acme.com.au",
    "b.co.jp",
    "www.com",
    "acme.uk.com",
    "a.b.c.example",
];
const PATHS: &[&str] = &["", "/", "/en", "/EN/about/", "/de?x=1", "/en#top"];
const SCHEMES: &[&str] = &["", "http://", "https://www.", "HTTPS://", "//"];
const MAILBOXES: &[&str] = &["info", "Info", "sales", "o'hara+x", "ada.lovelace"];

/// Numbers by where they are dialled from; each line is one number.
pub(super) const PHONES: &[(&str, &[&str])] = &[
    (
        "GB",
        &[
            "+44 20 7946 0958",
            "0044 20 7946 0958",
            "+44 (0)20 7946-0958",
            "020 7946 0958",
            "(020) 7946 0958",
        ],
    ),
    ("GB", &["0161 496 0123", "+441614960123"]),
    (
        "US",
        &[
            "+1 202 555 0123",
            "(202) 555-0123",
            "1-202-555-0123",
            "202.555.0123 ext. 5",
        ],
    ),
    ("US", &["202-555-0199", "001 202 555 0199"]),
    (
        "DE",
        &[
            "+49 30 23125123",
            "030 23125 123",
            "0049 (0)30 23125123",
            "030/23125123",
        ],
    ),
    (
        "FR",
        &["+33 1 99 00 12 34", "01 99 00 12 34", "+33 (0)1 99 00 12 34"],
    ),
    ("IT", &["+39 06 6982 1234", "06 6982 1234"]),
    (
        "JP",
        &["+81 3-3224-5000", "03-3224-5000", "０３−３２２４−５０００"],
    ),
    ("", &["12-34-56", "call us", "+999 123456", "٠٢٠٧٩٤٦٠٩٥٨"]),
];

/// Two days before the tests' day, to the second and beyond.
const TIMES: &[(i64, i32)] = &[
    (1_795_737_600, 0),
    (1_795_737_599, 999_999_000),
    (1_795_823_999, 999_999_000),
    (1_795_824_000, 0),
    (1_700_000_000, 0),
    (1_700_000_000, 1_000),
    (1_600_000_000, 123_456_000),
    (0, 0),
];
pub(super) const DAYS: &[&str] = &[
    "2026-11-26",
    "2026-11-27",
    "2026-11-28",
    "2023-11-14",
    "2020-09-13",
    "1970-01-01",
    "1900-01-01",
    "2100-12-31",
];
const FOUNDED: &[&str] = &[
    "2026-11-28",
    "2025-11-28",
    "2025-11-27",
    "2026-11-29",
    "2026",
    "2025",
    "1999",
    "1999-01-01",
    "1000",
];

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn sample() -> impl Strategy<Value = Value> {
    (0..SAMPLE.len()).prop_map(|at| serde_json::from_str(&SAMPLE[at]).expect("a line of JSON"))
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(string)
        .collect()
}

fn time() -> impl Strategy<Value = Option<prost_types::Timestamp>> {
    let known = select(TIMES).prop_map(|(seconds, nanos)| prost_types::Timestamp { seconds, nanos });
    weighted(0.95, known)
}

fn place() -> impl Strategy<Value = (Option<String>, Option<String>, Option<String>)> {
    let own = select(PLACES).prop_map(|(city, region, country)| (some(city), some(region), some(country)));
    let real = sample().prop_map(|company| {
        (
            string(&company["city"]),
            string(&company["region"]),
            string(&company["country"]),
        )
    });
    prop_oneof![3 => own, 2 => real, 1 => Just((None, None, None))]
}

/// A text out of a list, or one of the characters that tests of Unicode are made of.
fn text(list: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![
        12 => select(list).prop_map(str::to_owned),
        1 => "[a-zA-Zäöüßéñøåłæœ0-9 &.,'+#-]{1,16}",
        1 => "\\PC{1,12}",
        1 => "[a-zéüø]{1,5}[\u{300}-\u{30b}]{0,2} [ァ-ヺ一-丐ก-ฮ]{1,4}[a-z]{0,3}",
    ]
}

/// One of few names that are the same for long.
fn long_name() -> impl Strategy<Value = String> {
    (0..9).prop_map(|number| format!("{} {number}", "Very Long Name".repeat(30)))
}

fn url() -> impl Strategy<Value = String> {
    (select(SCHEMES), select(HOSTS), select(PATHS))
        .prop_map(|(scheme, host, path)| format!("{scheme}{host}{path}"))
}

fn email() -> impl Strategy<Value = String> {
    let formed = (select(MAILBOXES), select(HOSTS)).prop_map(|(name, host)| format!("{name}@{host}"));
    prop_oneof![9 => formed, 1 => Just("no address".to_owned())]
}

fn company() -> impl Strategy<Value = CompanyRecord> {
    let own = (
        of(prop_oneof![20 => text(NAMES), 1 => long_name()]),
        weighted(0.3, vec(text(TEXTS), 0..4)),
        weighted(0.3, vec(text(TEXTS), 0..4)),
        weighted(0.3, vec(text(TEXTS), 0..12)),
        weighted(0.4, url()),
        weighted(0.4, url()),
        weighted(0.5, email()),
        weighted(0.5, (select(PHONES), any::<Index>())),
        of(place()),
    );
    let numbers = (
        of(prop_oneof![0..4_i64, 0..100_000_i64]),
        weighted(0.4, select(FOUNDED)),
        time(),
    );
    let blank = subsequence((0..8).collect::<Vec<u8>>(), 0..3);
    (0..MOST_COMPANIES, sample(), own, numbers, blank).prop_map(|(number, real, own, numbers, blank)| {
        let (name, types, tags, description, website, domain, business_email, phone, place) = own;
        let (employee_count, founded, info_updated_at) = numbers;
        let (mut city, mut region, mut country) = place.unwrap_or_else(|| {
            (
                string(&real["city"]),
                string(&real["region"]),
                string(&real["country"]),
            )
        });
        let business_phone = phone.map(|((dialled_from, numbers), at)| {
            country = country
                .take()
                .filter(|_| dialled_from.is_empty())
                .or_else(|| some(dialled_from));
            if !dialled_from.is_empty() {
                (city, region) = (None, None);
            }
            (*at.get(numbers)).to_owned()
        });
        // What no plan of numbers knows is dialled from nowhere.
        if business_phone
            .as_deref()
            .is_some_and(|number| PHONES.last().is_some_and(|(_, odd)| odd.contains(&number)))
        {
            country = None;
        }
        let mut company = CompanyRecord {
            external_id: format!("c{number}"),
            name: name
                .filter(|name| !name.trim().is_empty())
                .or_else(|| string(&real["name"]))
                .unwrap_or_default(),
            domain: domain.or_else(|| string(&real["domain"])),
            website: website.or_else(|| string(&real["website"])),
            business_types: types.unwrap_or_else(|| strings(&real["businessTypes"])),
            description: description
                .map(|words| words.join(". "))
                .or_else(|| string(&real["description"])),
            tags: tags.unwrap_or_else(|| strings(&real["tags"])),
            business_email,
            business_phone,
            city,
            region,
            country,
            employee_count: employee_count.or_else(|| real["employeeCount"].as_i64()),
            founded_date: founded
                .map(str::to_owned)
                .or_else(|| string(&real["foundedDate"])),
            info_updated_at,
        };
        for field in blank {
            match field {
                0 => company.domain = None,
                1 => company.website = Some("  ".to_owned()),
                2 => company.business_types.clear(),
                3 => company.description = None,
                4 => company.tags.clear(),
                5 => company.employee_count = None,
                6 => company.founded_date = None,
                _ => company.name = format!(" {} ", company.name),
            }
        }
        company
    })
}

fn person() -> impl Strategy<Value = PersonRecord> {
    let title = prop_oneof![
        2 => text(OFFICERS),
        2 => (0..SAMPLE_TITLES.len()).prop_map(|at| SAMPLE_TITLES[at].to_owned()),
    ];
    let firm = prop_oneof![
        8 => (0..MOST_COMPANIES + 10).prop_map(|number| Some(format!("c{number}"))),
        1 => Just(None),
    ];
    let parts = (
        weighted(0.9, title),
        firm,
        weighted(0.8, email()),
        place(),
        time(),
    );
    (
        0..MOST_PEOPLE,
        select(GIVEN),
        select(FAMILY),
        any::<bool>(),
        parts,
    )
        .prop_map(
            |(
                number,
                given,
                family,
                whole,
                (job_title, company_external_id, email, place, info_updated_at),
            )| {
                let (city, region, country) = place;
                PersonRecord {
                    external_id: format!("p{number}"),
                    company_external_id,
                    first_name: some(given),
                    last_name: some(family),
                    full_name: whole.then(|| format!("{family} {given} ")),
                    job_title,
                    email,
                    city,
                    region,
                    country,
                    info_updated_at,
                }
            },
        )
}

/// Changes of the records, some of them of the same one.
pub(crate) fn changes(count: usize) -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        8 => company().prop_map(Change::Company),
        11 => person().prop_map(Change::Person),
        1 => (0..MOST_COMPANIES).prop_map(|number| Change::DeleteCompany(DeleteCompany { external_id: format!("c{number}") })),
        1 => (0..MOST_PEOPLE).prop_map(|number| Change::DeletePerson(DeletePerson { external_id: format!("p{number}") })),
    ];
    vec(change, count)
}
