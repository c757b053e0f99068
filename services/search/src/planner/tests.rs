use proptest::prelude::*;
use proto::search::v1::Sort;
use proto::search_properties::{Kind as Form, PROPERTIES, Property, TextRule};

use super::*;

fn context() -> PlanContext<'static> {
    PlanContext {
        today: NaiveDate::from_ymd_opt(2026, 11, 28).unwrap(),
        new_business_days: 365,
        revealed: &[],
        window: Window {
            after: None,
            skip: 0,
            limit: 25,
        },
    }
}

fn planned(kind: Kind, change: impl FnOnce(&mut SearchQuery)) -> Plan {
    let mut query = SearchQuery::default();
    change(&mut query);
    plan(kind, &query, &context())
}

type Set = fn(&mut SearchQuery, &str);

const TEXTS: [Set; 11] = [
    |query, text| query.business_type = text.into(),
    |query, text| query.location = text.into(),
    |query, text| query.website = text.into(),
    |query, text| query.company_name = text.into(),
    |query, text| query.company_domain = text.into(),
    |query, text| query.business_email = text.into(),
    |query, text| query.business_phone = text.into(),
    |query, text| query.description_keywords = text.into(),
    |query, text| query.exclude_keywords = text.into(),
    |query, text| query.job_titles = vec![text.into()],
    |query, text| query.search_tags = vec![text.into()],
];

#[test]
fn what_is_blank_is_left_out_and_what_is_empty_is_nothing() {
    for kind in [Kind::Company, Kind::Person] {
        assert_eq!(planned(kind, |_| {}).filter, Condition::Everything);
        for set in TEXTS {
            assert_eq!(
                planned(kind, |query| set(query, " \t")).filter,
                Condition::Everything
            );
            for empty in ["*", "!!!", ",", "\"\"", ";"] {
                let filter = planned(kind, |query| set(query, empty)).filter;
                let nothing = [NOTHING, Condition::Any(vec![NOTHING, NOTHING])];
                assert!(nothing.contains(&filter), "{empty}: {filter:?}");
            }
        }
        let day = planned(kind, |query| query.info_updated_from = "yesterday".into()).filter;
        assert_eq!(day, NOTHING);
    }
}

#[test]
fn any_is_no_filter() {
    for kind in [Kind::Company, Kind::Person] {
        let filter = planned(kind, |query| {
            query.set_website_status(WebsiteStatus::Any);
            query.set_new_business(NewBusiness::Any);
        });
        assert_eq!(filter.filter, Condition::Everything);
    }
}

#[test]
fn days_are_whole_and_both_count() {
    let filter = planned(Kind::Company, |query| {
        query.info_updated_from = "2024-02-29".into();
        query.info_updated_to = "2024-02-29".into();
    });
    let micros = |text: &str| {
        chrono::DateTime::parse_from_rfc3339(text)
            .unwrap()
            .timestamp_micros()
    };
    let expected = Condition::Range {
        field: NumberField::InfoUpdatedAt,
        from: Some(micros("2024-02-29T00:00:00Z")),
        to: Some(micros("2024-02-29T23:59:59.999999Z")),
    };
    assert_eq!(filter.filter, expected);
}

#[test]
fn a_business_is_new_for_365_days() {
    let today = context().today;
    for (founded, new) in [
        ("2026-11-28", true),
        ("2025-11-28", true),
        ("2025-11-27", false),
        ("2026-11-29", false),
        ("2026", true),
        ("2025", false),
        ("soon", false),
    ] {
        assert_eq!(is_new_business(Some(founded), today, 365), new, "{founded}");
    }
    assert!(!is_new_business(None, today, 365));
}

#[test]
fn relevance_is_the_order_where_words_rank() {
    let by = |change: fn(&mut SearchQuery)| {
        let plan = planned(Kind::Company, change);
        assert!(plan.order.descending);
        assert_eq!(
            plan.order.by == OrderBy::Relevance,
            !plan.ranking.groups.is_empty()
        );
        plan.order.by
    };
    assert_eq!(by(|query| query.company_name = "acme".into()), OrderBy::Relevance);
    assert_eq!(
        by(|query| query.job_titles = vec!["CEO".into()]),
        OrderBy::Relevance
    );
    assert_eq!(
        by(|query| query.location = "Paris".into()),
        OrderBy::Number(NumberField::InfoUpdatedAt)
    );
    let by_name = planned(Kind::Person, |query| {
        query.company_name = "acme".into();
        query.sort = Some(Sort {
            field: SortField::FullName.into(),
            direction: 0,
        });
    });
    assert_eq!(
        by_name.order,
        Order {
            by: OrderBy::Text(OrderField::Name),
            descending: false
        }
    );
    assert_eq!(by_name.ranking, Ranking::default());
}

#[test]
fn the_canonical_form_is_that_of_the_search_not_of_the_page() {
    let of = |kind, change: fn(&mut SearchQuery)| {
        let mut query = SearchQuery {
            company_name: "acme".into(),
            ..SearchQuery::default()
        };
        change(&mut query);
        canonical(kind, &query)
    };
    let plain = of(Kind::Company, |_| {});
    let same: [fn(&mut SearchQuery); 6] = [
        |query| query.page = Some(3),
        |query| query.limit = Some(100),
        |query| query.cursor = Some("x".into()),
        |query| query.fields = vec!["id".into()],
        |query| query.location = " ".into(),
        |query| query.set_website_status(WebsiteStatus::Any),
    ];
    for change in same {
        assert_eq!(of(Kind::Company, change), plain);
    }
    let explicit = of(Kind::Company, |query| {
        query.sort = Some(Sort {
            field: SortField::Relevance.into(),
            direction: SortDirection::Desc.into(),
        });
    });
    assert_eq!(explicit, plain, "the default order said aloud");
    let other: [fn(&mut SearchQuery); 3] = [
        |query| query.location = "Paris".into(),
        |query| {
            query.sort = Some(Sort {
                field: SortField::Name.into(),
                direction: 0,
            });
        },
        |query| query.set_website_status(WebsiteStatus::No),
    ];
    for change in other {
        assert_ne!(of(Kind::Company, change), plain);
    }
    assert_ne!(of(Kind::Person, |_| {}), plain);
}

/// Asks for something by a filter.
pub(crate) fn ask(filter: &Property, query: &mut SearchQuery) {
    match &filter.kind {
        Form::Text(text) if text.rule == TextRule::Phone => *(text.slot)(query) = "+49 30 1234".into(),
        Form::Text(text) => *(text.slot)(query) = "acme.com".into(),
        Form::Date(slot) => *slot(query) = "2026-01-01".into(),
        Form::Texts(slot) => *slot(query) = vec!["acme.com".into()],
        // The first asks for nothing.
        Form::Choice(slot, words) => *slot(query) = words[1].1,
        Form::Integer { .. } | Form::Cursor | Form::Sort | Form::Fields => {}
    }
}

/// Else a cursor of one search would be taken by another.
#[test]
fn every_filter_is_in_the_canonical_form() {
    for property in PROPERTIES.iter().filter(|property| property.is_filter()) {
        let mut query = SearchQuery::default();
        ask(property, &mut query);
        for kind in [Kind::Company, Kind::Person] {
            assert_ne!(
                canonical(kind, &query),
                canonical(kind, &SearchQuery::default()),
                "{}",
                property.name
            );
        }
    }
}

proptest! {
    #[test]
    fn nothing_that_is_said_becomes_everything(text in "\\PC{1,30}|[*\",;.@+() a0]{1,8}", at in 0..TEXTS.len()) {
        prop_assume!(!is_blank(&text));
        for kind in [Kind::Company, Kind::Person] {
            let plan = planned(kind, |query| TEXTS[at](query, &text));
            prop_assert_ne!(&plan.filter, &Condition::Everything);
            prop_assert_ne!(&plan.filter, &Condition::All(Vec::new()));
        }
    }
}
