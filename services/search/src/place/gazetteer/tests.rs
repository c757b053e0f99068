use super::*;

impl Gazetteer {
    /// All countries.
    pub fn countries(&self) -> impl Iterator<Item = CountryId> + use<> {
        (0..number(self.countries.len())).map(CountryId)
    }
}

fn named(name: &str) -> Vec<String> {
    let gazetteer = Gazetteer::get();
    let mut found = gazetteer
        .all_named(&words(name))
        .into_iter()
        .map(|entity| match entity {
            Entity::Country(id) => gazetteer.country(id).code.clone(),
            Entity::Region(id) => {
                let region = gazetteer.region(id);
                format!("{}/{}", gazetteer.country(region.country).code, region.name)
            }
            Entity::City(id) => {
                let city = gazetteer.city(id);
                format!("{}:{}", gazetteer.country(city.country).code, city.name)
            }
        })
        .collect::<Vec<_>>();
    found.sort_unstable();
    found
}

#[test]
fn countries_go_by_many_names() {
    for (code, names) in [
        (
            "GB",
            &[
                "United Kingdom",
                "UK",
                "U.K.",
                "gb",
                "GBR",
                "Great Britain",
                "Royaume-Uni",
                "英国",
            ][..],
        ),
        (
            "US",
            &[
                "USA",
                "U.S.",
                "U.S.A.",
                "America",
                "Vereinigte Staaten",
                "États-Unis",
                "アメリカ合衆国",
            ],
        ),
        ("NL", &["Holland", "The Netherlands", "Nederland", "Pays-Bas"]),
        ("KR", &["South Korea", "Korea", "대한민국", "韩国"]),
        ("CZ", &["Czech Republic", "Czechia", "Česko", "Tschechien"]),
        (
            "DE",
            &["Germany", "Deutschland", "DEU", "Германия", "ドイツ", "Allemagne"],
        ),
        ("CI", &["Côte d'Ivoire", "Ivory Coast"]),
        ("AE", &["UAE", "United Arab Emirates"]),
        ("TR", &["Türkiye", "Turkey", "Turkiye"]),
    ] {
        for name in names {
            assert!(
                named(name).contains(&code.to_owned()),
                "{name}: {:?}",
                named(name)
            );
        }
    }
    assert_eq!(named("FR"), ["FR"]);
    assert_eq!(named("ES"), ["ES"]);
}

#[test]
fn regions_go_by_name_and_code() {
    for (region, names) in [
        (
            "US/California",
            &["California", "CA", "Kalifornien", "カリフォルニア州"][..],
        ),
        ("US/Illinois", &["IL", "Illinois"]),
        ("US/New York", &["NY", "New York"]),
        ("CA/Ontario", &["ON", "Ontario"]),
        ("CA/Quebec", &["QC", "Québec"]),
        ("AU/New South Wales", &["NSW", "New South Wales"]),
        ("DE/Bavaria", &["Bayern", "Bavaria", "Bavière"]),
        (
            "DE/Baden-Wurttemberg",
            &["Baden-Württemberg", "Baden-Wuerttemberg", "baden wurttemberg"],
        ),
        ("JP/Aichi", &["Aichi", "愛知県", "愛知"]),
        ("ES/Catalonia", &["Catalonia", "Cataluña", "Catalunya"]),
    ] {
        for name in names {
            assert!(
                named(name).contains(&region.to_owned()),
                "{name}: {:?}",
                named(name)
            );
        }
    }
}

#[test]
fn cities_go_by_local_and_other_names() {
    for (city, names) in [
        (
            "DE:Munich",
            &[
                "Munich",
                "München",
                "Muenchen",
                "Munchen",
                "MÜNCHEN",
                "Мюнхен",
                "ミュンヘン",
                "慕尼黑",
            ][..],
        ),
        ("US:New York City", &["NYC", "New York City"]),
        ("GB:London", &["London", "Londres", "Лондон", "ロンドン"]),
        ("DE:Köln", &["Cologne", "Köln", "Koeln"]),
        ("IT:Rome", &["Roma", "Rome", "Rom"]),
        ("JP:Tokyo", &["東京", "Tōkyō", "tokyo"]),
        ("CN:Beijing", &["北京", "Peking"]),
        ("AU:Subiaco", &["Subiaco"]),
        ("LU:Luxembourg", &["Luxembourg City"]),
    ] {
        for name in names {
            assert!(
                named(name).contains(&city.to_owned()),
                "{name}: {:?}",
                named(name)
            );
        }
    }
}

#[test]
fn airport_codes_are_no_names() {
    assert!(!named("CAN").contains(&"CN:Guangzhou".to_owned()));
    assert!(named("CAN").contains(&"CA".to_owned()));
    assert!(!named("MUC").contains(&"DE:Munich".to_owned()));
}

#[test]
fn a_regions_code_counts_in_its_country() {
    let gazetteer = Gazetteer::get();
    let germany = gazetteer.country_of_code("DE").unwrap();
    let bavaria = gazetteer.regions_named(&words("BY"), Some(germany));
    assert_eq!(
        bavaria
            .iter()
            .map(|id| gazetteer.region(*id).name.as_str())
            .collect::<Vec<_>>(),
        ["Bavaria"]
    );
    assert_eq!(named("BY"), ["BY"]);
}

/// What nobody is called by: shorter than a name of a city may be, see [`SHORT_CITY_NAMES`].
fn is_short(name: &str) -> bool {
    name.chars().filter(|letter| letter.is_alphanumeric()).count() < 4
}

#[test]
fn every_country_goes_by_its_codes_and_all_its_names() {
    let gazetteer = Gazetteer::get();
    let more = unzip(COUNTRY_NAMES);
    let names = rows::<3>(COUNTRIES)
        .flat_map(|[code, iso3, name]| [(code, code), (code, iso3), (code, name)])
        .chain(rows::<2>(&more).flat_map(|[code, names]| names.split('|').map(move |name| (code, name))));
    let (mut asked, mut lost) = (0, Vec::new());
    for (code, name) in names {
        asked += 1;
        let is_it = |entity: &Entity| match entity {
            Entity::Country(id) => gazetteer.country(*id).code == code,
            _ => false,
        };
        let is_country = gazetteer.country_of_code(code).is_some() && !name.is_empty();
        if is_country && !gazetteer.all_named(&words(name)).iter().any(is_it) {
            lost.push(format!("{code} {name}"));
        }
    }
    assert!(asked > 10_000, "{asked}");
    assert_eq!(lost, [""; 0]);
}

#[test]
fn every_large_city_goes_by_all_its_names() {
    let gazetteer = Gazetteer::get();
    let places = unzip(PLACES);
    let (mut cities, mut lost) = (0, Vec::new());
    for row in rows::<11>(&places) {
        let [id, name, ascii, .., population, others] = row;
        if population.parse::<u64>().unwrap() < 100_000 {
            continue;
        }
        cities += 1;
        let others = others.split('|').filter(|other| !is_short(other));
        for name in [name, ascii].into_iter().chain(others) {
            let is_it = |entity: &Entity| match entity {
                Entity::City(city) => gazetteer.city(*city).geonames_id.to_string() == id,
                _ => false,
            };
            if !gazetteer.all_named(&words(name)).iter().any(is_it) {
                lost.push(format!("{id} {name}"));
            }
        }
    }
    assert!(cities > 4_000, "{cities}");
    assert_eq!(lost, [""; 0]);
}
