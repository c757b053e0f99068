//! Records found by queries: documents and plans made by the service, compared by an engine that looks at each.

#[path = "../engine/reference.rs"]
mod reference;
mod sample;

use chrono::{DateTime, NaiveDate, Utc};
use proptest::prelude::*;
use proto::alternatives::is_searchable;
use proto::search::v1::{NewBusiness, SearchQuery, Sort, SortField, WebsiteStatus};
use search::document::Change;
use search::documents::Documents;
use search::plan::{Engine as _, Hits, Kind, Stop, Window};
use search::planner::{self, PlanContext};
use search::record::{Company, CompanyNumber, Employee, Founded, Person, PlaceText};
use unicode_normalization::UnicodeNormalization as _;
use uuid::Uuid;

use reference::Reference;

fn company(number: u128, name: &str) -> Company {
    Company {
        number: u64::try_from(number).ok().map(CompanyNumber),
        id: Uuid::from_u128(number),
        external_id: number.to_string(),
        name: name.to_owned(),
        domain: None,
        website: None,
        business_types: Vec::new(),
        description: None,
        tags: Vec::new(),
        business_email: None,
        business_phone: None,
        place: PlaceText::default(),
        employee_count: None,
        founded: None,
        info_updated_at: DateTime::<Utc>::UNIX_EPOCH,
    }
}

fn person(number: u128, title: &str) -> Person {
    Person {
        id: Uuid::from_u128(number),
        external_id: number.to_string(),
        company_external_id: None,
        full_name: "Test Person".to_owned(),
        first_name: None,
        last_name: None,
        job_title: Some(title.to_owned()),
        email: None,
        place: PlaceText::default(),
        info_updated_at: DateTime::<Utc>::UNIX_EPOCH,
    }
}

fn place(city: &str, country: &str) -> PlaceText {
    PlaceText {
        city: Some(city.to_owned()),
        region: None,
        country: Some(country.to_owned()),
    }
}

/// Puts a text into a filter.
type Set = fn(&mut SearchQuery, &str);

/// The records and the engine over them.
#[derive(Default)]
struct World {
    engine: Reference,
    revealed: Vec<Uuid>,
}

impl World {
    fn of(companies: &[Company]) -> Self {
        let mut world = Self::default();
        for company in companies {
            world.put(Documents::default().company(company, &[]));
        }
        world
    }

    fn put(&mut self, document: search::document::Document) {
        self.engine.apply(&[Change::Put(Box::new(document))]);
    }

    fn search(&self, kind: Kind, query: &SearchQuery) -> Hits {
        let context = PlanContext {
            today: NaiveDate::from_ymd_opt(2026, 11, 28).expect("a day"),
            new_business_days: 365,
            revealed: &self.revealed,
            window: Window {
                after: None,
                skip: 0,
                limit: 250,
            },
        };
        self.engine
            .search(&planner::plan(kind, query, &context), &Stop::never())
            .expect("an answer")
    }

    /// Numbers of what is found, in order.
    fn found(&self, kind: Kind, change: impl FnOnce(&mut SearchQuery)) -> Vec<u128> {
        let mut query = SearchQuery::default();
        change(&mut query);
        let hits = self.search(kind, &query);
        assert_eq!(hits.total, hits.hits.len() as u64);
        hits.hits.iter().map(|hit| hit.position.id.as_u128()).collect()
    }

    fn companies(&self, change: impl FnOnce(&mut SearchQuery)) -> Vec<u128> {
        self.found(Kind::Company, change)
    }

    fn people(&self, change: impl FnOnce(&mut SearchQuery)) -> Vec<u128> {
        self.found(Kind::Person, change)
    }

    fn named(&self, name: &str) -> Vec<u128> {
        self.companies(|query| query.company_name = name.into())
    }
}

#[test]
fn a_name_is_found_by_every_spelling_of_its_words() {
    let names = [
        "Müller & Söhne GmbH",
        "A.S. Création Tapeten AG",
        "トヨタ自動車株式会社",
        "Ørsted A/S",
        "C++ Tools, Inc.",
    ];
    let companies = (1..)
        .zip(names)
        .map(|(number, name)| company(number, name))
        .collect::<Vec<_>>();
    let world = World::of(&companies);
    for (number, spellings) in [
        (
            1,
            &[
                "Müller",
                "MULLER",
                "mueller soehne",
                "Söhne Müller",
                "Muller GmbH",
                "\"Müller & Söhne\"",
                "\"mueller soehne gmbh\"",
            ][..],
        ),
        (
            2,
            &["Creation Tapeten", "tapeten création ag", "\"Création Tapeten\""],
        ),
        (
            3,
            &[
                "トヨタ",
                "自動車",
                "株式会社トヨタ自動車",
                "ﾄﾖﾀ",
                "\"トヨタ自動車\"",
            ],
        ),
        (4, &["Orsted", "OERSTED", "ørsted as", "A/S Ørsted"]),
        (5, &["C++", "c++ tools", "Tools Inc"]),
    ] {
        for spelling in spellings {
            assert_eq!(world.named(spelling), [number], "{spelling}");
        }
    }
    for nothing in [
        "Mull",
        "\"Müller\"",
        "トタ",
        "車動自",
        "C",
        "C#",
        "Müller Tapeten",
    ] {
        assert_eq!(world.named(nothing), [], "{nothing}");
    }
}

#[test]
fn a_whole_name_ranks_before_adjacent_words_before_all_words() {
    let names = [
        "Green Valley Energy",
        "Energy of the Green",
        "Green Energy Inc",
        "The Green Energy Group",
    ];
    let companies = (1..)
        .zip(names)
        .map(|(number, name)| company(number, name))
        .collect::<Vec<_>>();
    assert_eq!(World::of(&companies).named("green energy"), [3, 4, 1, 2]);
}

#[test]
fn names_that_differ_late_are_in_order() {
    let long = |number: u128, end: &str| company(number, &format!("{}{end}", "東京 ".repeat(160)));
    let world = World::of(&[long(1, "c"), long(2, "a"), long(3, "b")]);
    let sort = Sort {
        field: SortField::Name.into(),
        ..Sort::default()
    };
    assert_eq!(world.companies(|query| query.sort = Some(sort)), [2, 3, 1]);
}

#[test]
fn each_word_of_a_whole_value_has_its_own_spelling() {
    let mut one = company(1, "Müller Köln GmbH");
    one.tags = vec!["Küchen & Möbel".into()];
    let world = World::of(&[one]);
    for name in [
        "\"Mueller Koln\"",
        "\"Muller Koeln\"",
        "\"Mueller Köln\"",
        "\"Müller Koln\"",
    ] {
        assert_eq!(world.named(name), [1], "{name}");
    }
    for tag in ["Kuechen Mobel", "kuchen moebel", "Küchen Mobel"] {
        assert_eq!(
            world.companies(|query| query.search_tags = vec![tag.into()]),
            [1],
            "{tag}"
        );
    }
}

#[test]
fn a_whole_value_in_another_number_is_not_what_quotes_ask_for() {
    let mut one = company(1, "One");
    one.business_types = vec!["Used cars".into(), "Sale of used car".into()];
    let mut two = company(2, "Two");
    two.business_types = vec!["Used car".into()];
    let world = World::of(&[one, two]);
    // The first one's whole value is of other words; it holds the quoted ones in another value.
    assert_eq!(
        world.companies(|query| query.business_type = "\"used car\"".into()),
        [2, 1]
    );
}

#[test]
fn keyword_lists_look_at_one_value_at_a_time() {
    let mut one = company(1, "One");
    one.business_types = vec!["Software Companies".into(), "Used Cars".into()];
    let mut two = company(2, "Two");
    two.tags = vec!["software, used in cars".into(), "e-commerce".into()];
    let world = World::of(&[one, two]);
    let types = |text: &str| world.companies(|query| query.business_type = text.into());
    assert_eq!(types("software company"), [1]);
    assert_eq!(types("software car"), [2], "words of two values don't add up");
    assert_eq!(
        types("used cars, e-commerce"),
        [2, 1],
        "more alternatives rank first"
    );
    assert_eq!(types("\"used cars\""), [1]);
    assert_eq!(types("\"used car\""), [], "in quotes plurals count");
    assert_eq!(types("car used"), [1, 2]);
    assert_eq!(types("commerce"), [2]);
    let tags = |tag: &str| world.companies(|query| query.search_tags = vec![tag.into()]);
    assert_eq!(tags("E-Commerce"), [2]);
    assert_eq!(tags("commerce"), []);
}

#[test]
fn what_is_excluded_is_dropped_wherever_it_occurs() {
    let mut by_type = company(1, "One");
    by_type.business_types = vec!["Retailers".into()];
    let mut by_description = company(2, "Two");
    by_description.description = Some("Serves retailers.".into());
    let world = World::of(&[
        by_type,
        by_description,
        company(3, "Retailer Ltd"),
        company(4, "Four"),
    ]);
    assert_eq!(
        world.companies(|query| query.exclude_keywords = "retailer".into()),
        [4]
    );
    assert_eq!(
        world.companies(|query| query.exclude_keywords = "ltd, four".into()),
        [1, 2]
    );
    assert_eq!(
        world.companies(|query| query.exclude_keywords = "\"serves retailers\"".into()),
        [1, 3, 4]
    );
}

#[test]
fn short_forms_of_titles_find_each_other() {
    let mut world = World::default();
    for (number, title) in (1..).zip([
        "VP of Sales",
        "Vice President, Marketing",
        "Chief Executive Officer",
        "Sr. HR Manager",
    ]) {
        world.put(Documents::default().person(&person(number, title), None));
    }
    for (title, expected) in [
        ("vice president", &[1, 2][..]),
        ("V.P.", &[1, 2]),
        ("VP Marketing", &[2]),
        ("\"vp of sales\"", &[1]),
        ("CEO", &[3]),
        ("C.E.O.", &[3]),
        ("chief executive officers", &[3]),
        ("senior human resources", &[4]),
        ("senior manager, HR", &[4]),
        ("CFO", &[]),
    ] {
        assert_eq!(
            world.people(|query| query.job_titles = vec![title.into()]),
            expected,
            "{title}"
        );
    }
    assert_eq!(
        world.people(|query| query.exclude_keywords = "VP, CEO".into()),
        [4]
    );
    assert_eq!(
        world
            .people(|query| query.job_titles = vec!["CEO".into(), "sales".into()])
            .len(),
        2
    );
}

#[test]
fn a_company_is_found_through_its_people() {
    let mut world = World::default();
    let mut own = company(1, "Own");
    own.place = place("Paris", "FR");
    let employee = Employee {
        job_title: Some("CTO".into()),
        place: place("Paris", "FR"),
    };
    let other = Employee {
        job_title: None,
        place: place("Munich", "DE"),
    };
    world.put(Documents::default().company(&own, &[]));
    world.put(Documents::default().company(&company(2, "Through"), &[employee, other]));
    assert_eq!(
        world.companies(|query| query.job_titles = vec!["chief technology officer".into()]),
        [2]
    );
    let query = SearchQuery {
        location: "Paris".into(),
        ..SearchQuery::default()
    };
    let hits = world.search(Kind::Company, &query).hits;
    assert_eq!(
        hits.iter().map(|hit| hit.own_place).collect::<Vec<_>>(),
        [true, false]
    );
    assert_eq!(
        world.companies(|query| query.location = "Munich, France".into()),
        [],
        "places of two people don't mix"
    );
}

#[test]
fn a_person_without_a_company_meets_no_company_filter() {
    let mut employer = company(10, "Acme");
    employer.place = place("Rome", "IT");
    employer.website = Some("https://acme.example".into());
    employer.founded = Some(Founded::Year(2026));
    let mut plain = company(11, "Plain");
    plain.founded = None;
    let mut abroad = person(3, "Buyer");
    abroad.place = place("Lisbon", "PT");
    let mut world = World::of(&[employer.clone(), plain.clone()]);
    world.put(Documents::default().person(&person(1, "Buyer"), None));
    world.put(Documents::default().person(
        &person(2, "Buyer"),
        Some(&Documents::default().employer(&employer)),
    ));
    world.put(Documents::default().person(&abroad, Some(&Documents::default().employer(&employer))));
    world.put(Documents::default().person(&person(4, "Buyer"), Some(&Documents::default().employer(&plain))));
    assert_eq!(world.people(|query| query.company_name = "acme".into()), [2, 3]);
    assert_eq!(
        world.people(|query| query.set_website_status(WebsiteStatus::No)),
        [4]
    );
    assert_eq!(
        world.people(|query| query.set_website_status(WebsiteStatus::Has)),
        [2, 3]
    );
    assert_eq!(world.people(|query| query.set_new_business(NewBusiness::No)), [4]);
    assert_eq!(
        world.people(|query| query.set_new_business(NewBusiness::Yes)),
        [2, 3]
    );
    assert_eq!(
        world.people(|query| query.set_new_business(NewBusiness::Any)),
        [1, 2, 3, 4]
    );
    assert_eq!(
        world.people(|query| query.location = "Italy".into()),
        [2],
        "a person's own place comes first"
    );
    assert_eq!(
        world.people(|query| query.exclude_keywords = "acme".into()),
        [1, 4]
    );
}

#[test]
fn a_locked_address_can_not_be_probed() {
    let mut known = person(1, "Buyer");
    known.email = Some("ada@people.example".into());
    let mut world = World::default();
    world.put(Documents::default().person(&known, None));
    let by = |world: &World| world.people(|query| query.business_email = "ada@people.example".into());
    assert_eq!(by(&world), []);
    world.revealed = vec![Uuid::from_u128(1)];
    assert_eq!(by(&world), [1]);
    let row = Documents::default().person(&known, None).row;
    assert!(!row.windows(4).any(|bytes| bytes == b"ada@"));
}

#[test]
fn websites_domains_addresses_and_numbers_are_found() {
    let mut acme = company(1, "Acme");
    acme.website = Some("https://www.shop.acme.co.uk/en/start".into());
    acme.domain = Some("ACME.co.uk".into());
    acme.business_email = Some("Info@Acme.co.uk".into());
    acme.business_phone = Some("020 7946 0958".into());
    acme.place.country = Some("GB".into());
    let world = World::of(&[acme, company(2, "Other")]);
    let filters: [(Set, &[&str], &[&str]); 4] = [
        (
            |query, text| query.website = text.into(),
            &[
                "acme.co.uk",
                "http://shop.acme.co.uk:80/en",
                "other.example, acme",
                "sho",
            ],
            &["acme.com", "acme.co.uk/de", "cme"],
        ),
        (
            |query, text| query.company_domain = text.into(),
            &["acme.co.uk", "https://www.acme.co.uk/x", "x.example, ACME.CO.UK."],
            &["acme.com", "co.uk"],
        ),
        (
            |query, text| query.business_email = text.into(),
            &["INFO@acme.co.uk", "@acme.co.uk", "acme.co.uk"],
            &["sales@acme.co.uk", "uk.example"],
        ),
        (
            |query, text| query.business_phone = text.into(),
            &[
                "+44 20 7946 0958",
                "0044 20 7946 0958",
                "+44 (0)20 7946-0958",
                "020 7946 0958",
                "0207",
            ],
            &["+49 20 7946", "7946"],
        ),
    ];
    for (set, right, wrong) in filters {
        for text in right {
            assert_eq!(world.companies(|query| set(query, text)), [1], "{text}");
        }
        for text in wrong {
            assert_eq!(world.companies(|query| set(query, text)), [], "{text}");
        }
    }
    assert_eq!(
        world.companies(|query| query.set_website_status(WebsiteStatus::Has)),
        [1]
    );
    assert_eq!(
        world.companies(|query| query.set_website_status(WebsiteStatus::No)),
        [2]
    );
}

proptest! {
    #[test]
    fn a_name_finds_itself(name in "[\\p{L}\\p{N}][\\p{L}\\p{N}\\p{P}\\p{S}\\p{M} ]{0,24}") {
        let name = name.replace(['"', '＂'], "'");
        let world = World::of(&[company(1, &name)]);
        prop_assert_eq!(world.named(&name), [1]);
        prop_assert_eq!(world.named(&name.nfd().collect::<String>()), [1]);
        prop_assert_eq!(world.named(&format!("\"{name}\"")), [1]);
    }

    // Some of its letters are none once they are composed.
    #[test]
    fn signs_of_trade_marks_are_no_letters_in_any_filter(value in "([\\p{L}\\p{N}]{1,4}|[\u{fe70}\u{fe72}\u{37a}]{1,2})[™℠]{1,2}( ?[\\p{L}\\p{N}]{1,4}[™℠]?){0,2}") {
        let bare = value.replace(['™', '℠'], " ");
        prop_assume!(is_searchable(&bare));
        let mut acme = company(1, "Acme");
        acme.business_types = vec![value.clone()];
        acme.tags = vec![value.clone()];
        acme.description = Some(value.clone());
        let mut world = World::of(&[acme]);
        world.put(Documents::default().person(&person(2, &value), None));
        for asked in [&value, &bare, &format!("\"{value}\"")] {
            prop_assert_eq!(world.companies(|query| query.business_type = asked.clone()), [1]);
            prop_assert_eq!(world.companies(|query| query.description_keywords = asked.clone()), [1]);
            prop_assert_eq!(world.people(|query| query.job_titles = vec![asked.clone()]), [2]);
            prop_assert_eq!(world.people(|query| query.exclude_keywords = asked.clone()), []);
        }
        for tag in [value.clone(), bare] {
            prop_assert_eq!(world.companies(|query| query.search_tags = vec![tag.clone()]), [1]);
        }
    }

    #[test]
    fn a_value_finds_itself_in_any_case_and_order(value in "[\\p{L}\\p{N}]{1,6}( [\\p{L}\\p{N}]{1,6}){0,3}") {
        let mut acme = company(1, "Acme");
        acme.business_types = vec![value.clone()];
        acme.tags = vec![value.clone()];
        let world = World::of(&[acme]);
        let types = |text: &str| world.companies(|query| query.business_type = text.into());
        prop_assert_eq!(types(&value), [1]);
        prop_assert_eq!(types(&value.nfd().collect::<String>()), [1]);
        prop_assert_eq!(types(&value.split(' ').rev().collect::<Vec<_>>().join(" ")), [1]);
        prop_assert_eq!(types(&format!("\"{value}\"")), [1]);
        prop_assert_eq!(world.companies(|query| query.search_tags = vec![value.clone()]), [1]);
        let title = Documents::default().person(&person(2, &value), None);
        let mut world = World::default();
        world.put(title);
        prop_assert_eq!(world.people(|query| query.job_titles = vec![value.clone()]), [2]);
    }

    #[test]
    fn upper_case_finds_the_same(value in "[a-zäöüßéèñçøåæœłđ ]{1,20}") {
        prop_assume!(!value.trim().is_empty());
        let world = World::of(&[company(1, &value)]);
        prop_assert_eq!(world.named(&value.to_uppercase()), [1]);
    }
}
