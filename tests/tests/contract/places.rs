//! Section 4: places.

use proto::search::v1::{CompanyRecord, PersonRecord};
use serde_json::{Value, json};
use system_tests::{Set, company, person, world};

fn placed(id: &str, city: &str, region: &str, country: &str) -> CompanyRecord {
    let part = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    CompanyRecord {
        city: part(city),
        region: part(region),
        country: part(country),
        ..company(id, id)
    }
}

fn resident(id: &str, employer: Option<&str>, city: &str, region: &str, country: &str) -> PersonRecord {
    let part = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    PersonRecord {
        company_external_id: employer.map(str::to_owned),
        city: part(city),
        region: part(region),
        country: part(country),
        ..person(id, id)
    }
}

fn companies(set: &Set, location: &str) -> Vec<String> {
    set.companies(json!({"location": location}))
}

fn people(set: &Set, location: &str) -> Vec<String> {
    set.people(json!({"location": location}))
}

const NONE: [&str; 0] = [];

#[test]
fn places_are_known_by_all_their_names() {
    let set = Set::of(
        [
            placed("munich", "München", "Bavaria", "DE"),
            placed("london", "London", "", "GB"),
            placed("nyc", "New York City", "NY", "US"),
            placed("tokyo", "Tokyo", "", "JP"),
            placed("moscow", "Moscow", "", "RU"),
            placed("vienna", "Wien", "", "AT"),
            placed("zurich", "Zürich", "", "CH"),
        ],
        [],
    );
    for (place, found) in [
        ("Munich", "munich"),
        ("München", "munich"),
        ("MUENCHEN", "munich"),
        ("Germany", "munich"),
        ("DE", "munich"),
        ("DEU", "munich"),
        ("Deutschland", "munich"),
        ("Bavaria", "munich"),
        ("UK", "london"),
        ("United Kingdom", "london"),
        ("GB", "london"),
        ("Great Britain", "london"),
        ("NYC", "nyc"),
        ("New York", "nyc"),
        ("USA", "nyc"),
        ("United States", "nyc"),
        ("US", "nyc"),
        ("NY", "nyc"),
        ("東京", "tokyo"),
        ("Japan", "tokyo"),
        ("日本", "tokyo"),
        ("Москва", "moscow"),
        ("Vienna", "vienna"),
        ("Österreich", "vienna"),
        ("Zurich", "zurich"),
        ("Zuerich", "zurich"),
        ("Schweiz", "zurich"),
    ] {
        assert_eq!(companies(&set, place), [found], "{place}");
    }
    assert_eq!(
        companies(&set, "Germany; Japan"),
        ["munich", "tokyo"],
        "semicolons are alternatives"
    );
    assert_eq!(companies(&set, "Germany;;Berlin"), ["munich"]);
}

#[test]
fn comma_parts_narrow() {
    let set = Set::of(
        [
            placed("il", "Springfield", "IL", "US"),
            placed("ma", "Springfield", "Massachusetts", "US"),
            placed("paris", "Paris", "", "FR"),
            placed("texas", "Paris", "Texas", "US"),
            placed("tbilisi", "Tbilisi", "", "GE"),
            placed("atlanta", "Atlanta", "Georgia", "US"),
        ],
        [],
    );
    assert_eq!(
        companies(&set, "Springfield"),
        ["il", "ma"],
        "a name of several places matches them all"
    );
    assert_eq!(companies(&set, "Springfield, IL, USA"), ["il"]);
    assert_eq!(companies(&set, "Springfield, Massachusetts"), ["ma"]);
    assert_eq!(companies(&set, "Springfield, Germany"), NONE);
    assert_eq!(companies(&set, "Paris"), ["paris", "texas"]);
    assert_eq!(companies(&set, "Paris, France"), ["paris"]);
    assert_eq!(companies(&set, "Paris, TX"), ["texas"]);
    assert_eq!(companies(&set, "Georgia"), ["atlanta", "tbilisi"]);
    assert_eq!(companies(&set, "Georgia, USA"), ["atlanta"]);
}

#[test]
fn what_no_gazetteer_knows_is_matched_by_its_words() {
    let (one, two) = (world().word(), world().word());
    let set = Set::of(
        [
            placed("a", &format!("{one} {two}"), "", "DE"),
            placed("b", &one, "", "FR"),
            placed("c", "Berlin", "", "DE"),
        ],
        [],
    );
    assert_eq!(companies(&set, &one), ["a", "b"]);
    assert_eq!(companies(&set, &format!("{two} {one}")), ["a"]);
    assert_eq!(companies(&set, &format!("{one}, Germany")), ["a"]);
    assert_eq!(companies(&set, &world().word()), NONE, "never ignored");
}

#[test]
fn a_company_is_found_by_its_own_place_or_that_of_one_of_its_people() {
    let set = Set::of(
        [
            placed("own", "Berlin", "", "DE"),
            placed("through", "Paris", "", "FR"),
            placed("neither", "Rome", "", "IT"),
            company("nowhere", "nowhere"),
        ],
        [
            resident("p1", Some("through"), "Berlin", "", "DE"),
            resident("p2", Some("own"), "Berlin", "", "DE"),
            resident("p3", Some("neither"), "Springfield", "MA", "US"),
            resident("p4", Some("neither"), "Chicago", "IL", "US"),
            resident("p5", Some("nowhere"), "Berlin", "", "DE"),
        ],
    );
    let answer = set
        .account
        .companies(&json!({"searchTags": [set.tag], "location": "Berlin", "sort": {"field": "name"}}));
    let matches: Vec<(Value, Value)> = answer
        .column("name")
        .into_iter()
        .zip(answer.column("locationMatch"))
        .collect();
    let expected = [("nowhere", "people"), ("own", "company"), ("through", "people")];
    assert_eq!(matches, expected.map(|(name, place)| (json!(name), json!(place))));
    assert_eq!(
        companies(&set, "Springfield, IL"),
        NONE,
        "one person has to be at all of it"
    );
    assert_eq!(companies(&set, "Springfield, MA"), ["neither"]);
    let without = set.account.companies(&json!({"searchTags": [set.tag]}));
    assert!(
        without
            .rows()
            .iter()
            .all(|row| row.get("locationMatch").is_none()),
        "only where a location was asked for"
    );
}

#[test]
fn a_person_is_found_by_their_own_place_or_else_their_companys() {
    let set = Set::of(
        [placed("berlin", "Berlin", "", "DE")],
        [
            resident("here", Some("berlin"), "", "", ""),
            resident("away", Some("berlin"), "Paris", "", "FR"),
            resident("country", Some("berlin"), "", "", "IT"),
        ],
    );
    assert_eq!(people(&set, "Berlin"), ["here"]);
    assert_eq!(people(&set, "Paris"), ["away"]);
    assert_eq!(people(&set, "Germany"), ["here"]);
    assert_eq!(people(&set, "Italy"), ["country"]);
}
