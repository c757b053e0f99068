use std::collections::HashSet;

use proptest::prelude::*;
use proto::search::v1::{NewBusiness, WebsiteStatus};
use proto::search_query::is_blank;

use super::*;
use crate::plan::InValue;
use crate::planner::tests::ask;

fn today() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, 29).unwrap()
}

fn of(kind: Kind, query: &SearchQuery) -> Vec<FilterExplanation> {
    let context = ExplanationContext {
        today: today(),
        new_business_days: 365,
    };
    filters(kind, query, context)
}

/// The one filter of a query, as `text: match value (other forms) & ... | ...`.
fn told(kind: Kind, change: impl FnOnce(&mut SearchQuery)) -> String {
    let mut query = SearchQuery::default();
    change(&mut query);
    let [filter] = &of(kind, &query)[..] else {
        panic!("one filter")
    };
    let term = |term: &TermExplanation| {
        let compared = term.r#match().as_str_name().trim_start_matches("TERM_MATCH_");
        let told = format!("{} {}", compared.to_lowercase(), term.value);
        if term.other_forms.is_empty() {
            return told;
        }
        format!("{told} ({})", term.other_forms.join(", "))
    };
    let alternative = |alternative: &AlternativeExplanation| {
        let terms: Vec<_> = alternative.all_of.iter().map(term).collect();
        format!("{}: {}", alternative.text, terms.join(" & "))
    };
    let alternatives: Vec<_> = filter.any_of.iter().map(alternative).collect();
    let excludes = if filter.excludes { "not " } else { "" };
    format!("{excludes}{}", alternatives.join(" | "))
}

#[test]
fn words_are_told_as_they_are_compared() {
    let types = |text: &str| told(Kind::Company, |query| query.business_type = text.into());
    assert_eq!(
        types("Gyms, \"Yoga Studios\" Berlin,, Müller"),
        "Gyms: word gym | \"Yoga Studios\" Berlin: phrase yoga studios & word berlin | Müller: word muller (mueller)"
    );
    assert_eq!(types("東京, C++"), "東京: phrase 東京 | C++: word c++");
    let titles = |titles: &[&str]| {
        told(Kind::Person, |query| {
            query.job_titles = titles.iter().map(|title| (*title).to_owned()).collect();
        })
    };
    assert_eq!(
        titles(&["VP Sales", " ", "owner, founder"]),
        "VP Sales: phrase vice president & word sale | owner, founder: word owner & word founder"
    );
    let names = |text: &str| told(Kind::Company, |query| query.company_name = text.into());
    assert_eq!(
        names("Acme Tools GmbH"),
        "Acme Tools GmbH: exact_word acme & exact_word tools"
    );
    assert_eq!(
        names("\"Acme, Inc.\" x"),
        "\"Acme, Inc.\" x: exact_word x & whole_value acme"
    );
    let tags = told(Kind::Company, |query| {
        query.search_tags = vec!["B2B  SaaS".into()];
    });
    assert_eq!(tags, "B2B  SaaS: whole_value b2b saas");
    let excluded = told(Kind::Person, |query| query.exclude_keywords = "Interns".into());
    assert_eq!(excluded, "not Interns: word intern");
    let excluded = |kind| told(kind, |query| query.exclude_keywords = "CEO".into());
    assert_eq!(
        excluded(Kind::Person),
        "not CEO: word ceo | CEO: phrase chief executive officer"
    );
    assert_eq!(excluded(Kind::Company), "not CEO: word ceo");
}

#[test]
fn addresses_and_numbers_are_told_as_they_are_compared() {
    let website = |text: &str| told(Kind::Company, |query| query.website = text.into());
    assert_eq!(
        website("https://www.Example.com:80/Shop/, acme, bücher.de"),
        "https://www.Example.com:80/Shop/: host_and_path example.com/shop | acme: host_label acme | \
         bücher.de: host xn--bcher-kva.de"
    );
    let domain = |text: &str| told(Kind::Company, |query| query.company_domain = text.into());
    assert_eq!(
        domain("http://shop.Example.co.uk/x"),
        "http://shop.Example.co.uk/x: domain example.co.uk"
    );
    let email = |text: &str| told(Kind::Company, |query| query.business_email = text.into());
    assert_eq!(
        email("Info@Example.com, @acme.com"),
        "Info@Example.com: email_address info@example.com | @acme.com: email_domain acme.com"
    );
    let phone = |text: &str| told(Kind::Company, |query| query.business_phone = text.into());
    assert_eq!(
        phone("0049 30 1234, (030) 1234"),
        "0049 30 1234: phone_prefix +49301234 | (030) 1234: phone_prefix 0301234"
    );
}

#[test]
fn choices_and_days_are_told_with_their_bounds() {
    let new = |choice: NewBusiness| told(Kind::Company, |query| query.new_business = choice.into());
    assert_eq!(new(NewBusiness::Yes), "yes: from 2025-11-29 & to 2026-11-29");
    assert_eq!(new(NewBusiness::No), "not no: from 2025-11-29 & to 2026-11-29");
    let website = told(Kind::Company, |query| {
        query.website_status = WebsiteStatus::No.into();
    });
    assert_eq!(website, "not no: present ");
    let from = told(Kind::Person, |query| {
        query.info_updated_from = "2026-01-31".into();
    });
    assert_eq!(from, "2026-01-31: from 2026-01-31T00:00:00.000Z");
    let to = told(Kind::Person, |query| query.info_updated_to = "2026-01-31".into());
    assert_eq!(to, "2026-01-31: to 2026-01-31T23:59:59.999Z");
}

fn parts_of(location: &str) -> Vec<TermExplanation> {
    let query = SearchQuery {
        location: location.into(),
        ..SearchQuery::default()
    };
    of(Kind::Person, &query).remove(0).any_of.remove(0).all_of
}

#[test]
fn a_place_is_told_with_all_that_it_may_mean() {
    let name = |place: &PlaceExplanation| {
        let region = place.region.as_deref().unwrap_or("-");
        format!("{}, {region}, {}", place.name, place.country_code)
    };
    let [paris] = &parts_of("Paris")[..] else {
        panic!("one part")
    };
    assert_eq!(paris.r#match(), TermMatch::Place);
    let names: Vec<_> = paris.places.iter().map(name).collect();
    assert!(
        names.contains(&"Paris, Île-de-France, FR".to_owned()),
        "{names:?}"
    );
    assert!(names.contains(&"Paris, Texas, US".to_owned()), "{names:?}");
    assert!(paris.places.iter().all(|place| place.is_left));

    let [springfield, illinois] = &parts_of("Springfield, IL")[..] else {
        panic!("two parts")
    };
    let left: Vec<_> = springfield
        .places
        .iter()
        .filter(|place| place.is_left)
        .map(name)
        .collect();
    assert_eq!(left, ["Springfield, Illinois, US"]);
    assert!(springfield.places[0].is_left, "those that are left come first");
    assert!(springfield.places.len() <= MAX_EXPLAINED_PLACES);
    let regions: Vec<_> = illinois.places.iter().filter(|place| place.is_left).collect();
    assert!(
        regions
            .iter()
            .any(|place| place.name == "Illinois" && place.r#type() == PlaceType::Region)
    );

    let [unknown] = &parts_of("Nowhereville Heights")[..] else {
        panic!("one part")
    };
    assert_eq!(
        (unknown.r#match(), unknown.value.as_str()),
        (TermMatch::Phrase, "nowhereville heights")
    );
    // Places that have nothing in common: none is left, and none is hidden.
    let [city, country] = &parts_of("Munich, Japan")[..] else {
        panic!("two parts")
    };
    for part in [city, country] {
        assert!(!part.places.is_empty() && part.places.iter().all(|place| !place.is_left));
    }
}

/// All that a plan looks for, without the marks of the index.
fn sought(condition: &Condition, found: &mut HashSet<String>) {
    let mut add = |term: &str| {
        let plain = term.trim_start_matches(['!', '~', '=', '?', '@']);
        let plain = ["h:", "u:", "l:"]
            .iter()
            .find_map(|mark| plain.strip_prefix(mark))
            .unwrap_or(plain);
        found.insert(plain.to_owned());
        // A whole value is told with its words apart, those of scripts without spaces too.
        found.insert(plain.replace(' ', ""));
    };
    match condition {
        Condition::Text { expression, .. } => in_value(expression, &mut add),
        Condition::Key { any, .. } => any.iter().for_each(|term| add(term)),
        Condition::KeyPrefix { prefix, .. } => add(prefix),
        Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| sought(part, found)),
        Condition::Not(part) | Condition::Employer(part) => sought(part, found),
        Condition::Everything | Condition::Range { .. } | Condition::Ids(_) => {}
    }
}

fn in_value(expression: &InValue, add: &mut impl FnMut(&str)) {
    match expression {
        InValue::Phrase(slots) => slots.iter().flatten().for_each(|term| add(term)),
        InValue::All(parts) | InValue::Any(parts) => parts.iter().for_each(|part| in_value(part, add)),
    }
}

/// Whether the words told are words sought; those of scripts without spaces by their characters.
fn is_sought(text: &str, sought: &HashSet<String>) -> bool {
    sought.contains(&text.replace(' ', ""))
        || text.split(' ').all(|word| {
            sought.contains(word) || {
                // Letters and what is written on them, as one.
                let mut rest = word;
                while !rest.is_empty() {
                    let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8());
                    let Some(end) = ends.into_iter().find(|end| sought.contains(&rest[..*end])) else {
                        return false;
                    };
                    rest = &rest[end..];
                }
                true
            }
        })
}

fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "Gyms",
        "yoga studios",
        "\"Acme Tools\"",
        "Müller",
        "東京 支店",
        "VP",
        "C.E.O.",
        "GmbH",
        ",",
        ";",
        ", ",
        "\"",
        "Springfield",
        "IL",
        "München",
        "USA",
        "example.com",
        "https://www.a-b.co.uk/Path",
        "info@acme.com",
        "+49 30 123456",
        "(212) 555-0100",
        "Åse",
        "ไทย",
        "ß",
        "c++",
        "16\" M3",
        "*",
        " ",
        "São Paulo",
    ]);
    prop::collection::vec(pieces, 1..5).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #[test]
    fn every_term_told_is_one_that_the_plan_looks_for(
        text in texts(), which in 0..11_usize, person in any::<bool>(),
    ) {
        let kind = if person { Kind::Person } else { Kind::Company };
        let mut query = SearchQuery::default();
        let slot = match which {
            0 => &mut query.business_type,
            1 => &mut query.location,
            2 => &mut query.website,
            3 => &mut query.company_name,
            4 => &mut query.company_domain,
            5 => &mut query.business_email,
            6 => &mut query.business_phone,
            7 => &mut query.description_keywords,
            8 => &mut query.exclude_keywords,
            9 => { query.job_titles.push(String::new()); &mut query.job_titles[0] }
            _ => { query.search_tags.push(String::new()); &mut query.search_tags[0] }
        };
        *slot = text.clone();
        let context = PlanContext {
            today: today(),
            new_business_days: 365,
            revealed: &[],
            window: Window { after: None, skip: 0, limit: 25 },
        };
        let plan = planner::plan(kind, &query, &context);
        let mut found = HashSet::new();
        sought(&plan.filter, &mut found);
        let filters = of(kind, &query);
        prop_assert_eq!(filters.len(), usize::from(!is_blank(&text)));
        let mut terms = 0;
        for alternative in filters.iter().flat_map(|filter| &filter.any_of) {
            prop_assert!(!alternative.all_of.is_empty());
            for term in &alternative.all_of {
                terms += 1;
                for form in std::iter::once(&term.value).chain(&term.other_forms) {
                    // A long whole value is looked for by its hash.
                    let is_hashed = term.r#match() == TermMatch::WholeValue && form.len() >= 64;
                    prop_assert!(is_hashed || is_sought(form, &found), "{form:?} of {text:?} is not in {found:?}");
                }
            }
        }
        // What the plan looks for is told.
        prop_assert_eq!(terms == 0, found.is_empty(), "{:?} {:?}", text, found);
    }
}

#[test]
fn every_filter_is_told_under_its_name() {
    let mut query = SearchQuery::default();
    let mut expected = Vec::new();
    for filter in PROPERTIES.iter().filter(|property| property.is_filter()) {
        ask(filter, &mut query);
        expected.push(filter.name);
    }
    for kind in [Kind::Company, Kind::Person] {
        let filters = of(kind, &query);
        assert_eq!(
            filters
                .iter()
                .map(|filter| filter.filter.as_str())
                .collect::<Vec<_>>(),
            expected
        );
        assert!(
            filters
                .iter()
                .all(|filter| !filter.fields.is_empty() && !filter.any_of.is_empty())
        );
        assert_eq!(of(kind, &SearchQuery::default()), []);
    }
}
