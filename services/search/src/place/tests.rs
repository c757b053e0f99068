use super::*;

fn place(city: &str, region: &str, country: &str) -> PlaceText {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    PlaceText {
        city: text(city),
        region: text(region),
        country: text(country),
    }
}

/// Whether a location filter finds a place.
fn finds(location: &str, city: &str, region: &str, country: &str) -> bool {
    let value = value(&place(city, region, country))
        .iter()
        .next()
        .unwrap_or_default();
    asked_places(location).is_some_and(|asked| holds(&asked, &value))
}

fn holds(asked: &InValue, value: &[Slot]) -> bool {
    match asked {
        InValue::Phrase(phrase) => value.windows(phrase.len()).any(|slots| {
            slots
                .iter()
                .zip(phrase)
                .all(|(slot, asked)| asked.iter().any(|term| slot.contains(term)))
        }),
        InValue::All(all) => all.iter().all(|asked| holds(asked, value)),
        InValue::Any(any) => any.iter().any(|asked| holds(asked, value)),
    }
}

#[test]
fn a_place_is_found_by_all_its_names() {
    for location in [
        "Munich",
        "München",
        "MUENCHEN",
        "munchen",
        "Мюнхен",
        "Bavaria",
        "Bayern",
        "Germany",
        "Deutschland",
        "DE",
        "DEU",
        "Munich, Germany",
        "München, BY",
        "Munich, BY, Germany",
        "München, Bayern, DE",
        "Munich Germany",
        "Paris; Munich",
        "Nowhere; Munich,",
        ",Munich,!",
    ] {
        assert!(finds(location, "München", "", "DE"), "{location}");
        assert!(finds(location, "Munich", "Bavaria", "DE"), "{location}");
    }
    for location in [
        "Berlin",
        "Austria",
        "Munich, Austria",
        "Munich, Berlin",
        "Hesse",
        "Nowhere",
        "Munich, Nowhere",
    ] {
        assert!(!finds(location, "München", "Bayern", "DE"), "{location}");
    }
}

#[test]
fn names_that_everyone_uses_are_known() {
    for (location, city, region, country) in [
        ("Frankfurt", "Frankfurt am Main", "Hesse", "DE"),
        ("Frankfurt, Germany", "Frankfurt", "", "DE"),
        ("Frankfurt/Main", "Frankfurt am Main", "", "DE"),
        ("NRW", "Köln", "Nordrhein-Westfalen", "DE"),
        ("the US", "Chicago", "IL", "US"),
        ("The United States", "Chicago", "", "US"),
        ("Rio", "Rio de Janeiro", "", "BR"),
        ("Mexico DF", "Mexico City", "", "MX"),
        ("Luik", "Liège", "", "BE"),
        ("BVI", "Road Town", "", "VG"),
        ("ประเทศไทย", "Bangkok", "", "TH"),
        ("Washington, DC", "Washington", "DC", "US"),
    ] {
        assert!(finds(location, city, region, country), "{location}");
    }
    assert!(!finds(
        "Frankfurt, Hesse",
        "Frankfurt (Oder)",
        "Brandenburg",
        "DE"
    ));
    assert!(!finds("Washington, DC", "Bellevue", "Washington", "US"));
}

#[test]
fn parts_narrow() {
    assert!(finds("Springfield, IL, USA", "Springfield", "Illinois", "US"));
    assert!(finds("Springfield, IL", "Springfield", "IL", "US"));
    assert!(finds("Springfield, Illinois", "SPRINGFIELD", "IL", "US"));
    assert!(finds("Springfield", "Springfield", "MO", "US"));
    assert!(finds("USA", "Springfield", "", "US"));
    assert!(!finds("Springfield, IL, USA", "Springfield", "MO", "US"));
    assert!(
        !finds("Springfield, IL, USA", "Springfield", "", "US"),
        "which Springfield is not known"
    );
    assert!(finds("London, Ontario", "London", "Ontario", "CA"));
    assert!(!finds("London, UK", "London", "Ontario", "CA"));
    assert!(finds("London, ON", "London", "Ontario", "CA"));
    assert!(finds("São Paulo, SP", "São Paulo", "", "BR"));
    assert!(finds("Mumbai, MH, India", "Mumbai", "Maharashtra", "IN"));
    assert!(finds("Sydney, NSW", "Sydney", "New South Wales", "AU"));
}

#[test]
fn usual_short_names_are_known() {
    for (location, city, region, country) in [
        ("NYC", "New York", "New York", "US"),
        ("NYC", "New York", "NY", "US"),
        ("NYC", "New York City", "", "US"),
        ("New York, NY", "New York", "New York", "US"),
        ("New York", "New York City", "", "US"),
        ("UK", "London", "", "GB"),
        ("U.K.", "Leeds", "England", "GB"),
        ("England", "London", "", "GB"),
        ("U.S.", "Austin", "TX", "US"),
        ("America", "Austin", "Texas", "US"),
        ("Holland", "Amsterdam", "", "NL"),
        ("Washington, D.C.", "Washington", "DC", "US"),
        ("Washington DC", "Washington", "District of Columbia", "US"),
        ("Tokyo", "Shinjuku", "Tokyo", "JP"),
        ("東京", "Tokyo", "", "JP"),
        ("Köln", "Cologne", "", "DE"),
        ("Hsinchu", "Hsinchu City", "Taiwan", "TW"),
        ("Yongin", "Yongin-Si", "", "KR"),
        ("Luxembourg", "Luxembourg City", "", "LU"),
        ("St. Gallen", "Sankt Gallen", "", "CH"),
        ("Londres", "London", "", "GB"),
    ] {
        assert!(
            finds(location, city, region, country),
            "{location}: {city}, {region}, {country}"
        );
    }
}

#[test]
fn what_no_place_is_called_is_found_by_its_words() {
    assert!(finds("Xyzzyville", "Xyzzyville", "", "US"));
    assert!(finds("xyzzyville, usa", "Xyzzyville", "", "US"));
    assert!(finds("Xyzzyville North", "North Xyzzyville", "", "US"));
    assert!(!finds("Xyzzyville", "Austin", "TX", "US"));
    // A known name finds an unknown place that is called so, but no known one.
    assert!(finds("Jakarta", "Jakarta Selatan", "", "ID"));
    assert!(finds("Paris", "Paris Industrial Estate", "", "US"));
    assert!(
        !finds("York", "New York", "New York", "US"),
        "New York is known, and is not York"
    );
    assert!(finds("Middle Earth", "Hobbiton", "Middle-earth", "NZ"));
    assert!(
        finds("Atlantis", "", "", "Atlantis"),
        "an unknown country has its words"
    );
}

#[test]
fn a_city_that_does_not_lie_in_its_region_is_unexplained() {
    assert!(!is_explained(&place("Munich", "Hesse", "DE")));
    assert!(finds("Munich", "Munich", "Hesse", "DE"), "by its words");
    assert!(finds("Hesse", "Munich", "Hesse", "DE"));
    assert!(!finds("Bavaria", "Munich", "Hesse", "DE"));
}

#[test]
fn nothing_is_no_place() {
    for location in ["", " ; ,", "!!!", ";"] {
        assert_eq!(asked_places(location), None, "{location}");
    }
    assert!(value(&place("", "", "")).is_empty());
    assert!(value(&place("--", "", "")).is_empty());
    assert!(is_explained(&place("", "", "")));
}

#[test]
fn what_is_missing_is_derived_where_it_is_certain() {
    let ids = |city: &str, region: &str, country: &str| {
        let value = value(&place(city, region, country))
            .iter()
            .next()
            .expect("a place");
        let mut ids = value[0].clone();
        ids.retain(|term| !term.starts_with("g:"));
        ids
    };
    assert_eq!(ids("Reykjavík", "", ""), ["c:IS", "r:IS.39"]);
    assert_eq!(ids("", "Bavaria", ""), ["c:DE", "r:DE.02"]);
    assert_eq!(ids("Springfield", "", "US"), ["c:US"]);
    assert_eq!(ids("", "", "FR"), ["c:FR"]);
    assert_eq!(ids("", "", "uk"), ["c:GB"]);
}

#[test]
fn countries_have_english_names() {
    assert_eq!(country_name("DE"), Some("Germany"));
    assert_eq!(country_name("de"), Some("Germany"));
    assert_eq!(country_name("QQ"), None);
}
