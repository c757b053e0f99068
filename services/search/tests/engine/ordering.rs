//! Words within one value, and cases that random documents are too small for.

use bytes::Bytes;
use search::document::Document;
use search::plan::{
    Condition, Engine, InValue, Kind, NumberField, Order, OrderBy, OrderField, OrderPosition, OrderValue,
    Slot, Stop, TextField,
};
use search::values::MAX_SLOTS;
use uuid::Uuid;

use crate::{document, everything, id, open, put};

fn words(text: &str) -> Vec<Slot> {
    text.split_whitespace()
        .map(|word| word.split('|').map(str::to_owned).collect())
        .collect()
}

fn phrase(text: &str) -> InValue {
    InValue::Phrase(words(text))
}

fn with_text(number: u8, field: TextField, values: &[&str]) -> Document {
    let mut document = document(Kind::Company, number);
    let values = values.iter().map(|value| words(value)).collect();
    document.texts.insert(field, values);
    document
}

/// Numbers of the companies of which `documents` in one value of the field the expression holds.
fn found(documents: Vec<Document>, field: TextField, expression: InValue) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index
        .apply(&documents.into_iter().map(put).collect::<Vec<_>>(), 1)
        .unwrap();
    let mut plan = everything(Kind::Company, 100);
    plan.order = Order {
        by: OrderBy::Number(NumberField::InfoUpdatedAt),
        descending: false,
    };
    plan.filter = Condition::Text {
        fields: vec![field],
        expression,
    };
    index
        .search(&plan, &Stop::never())
        .unwrap()
        .hits
        .iter()
        .map(|hit| hit.row[0])
        .collect()
}

#[test]
fn all_words_have_to_be_in_one_value() {
    let types = TextField::BusinessTypes;
    let documents = vec![
        with_text(1, types, &["software house", "building firm"]),
        with_text(2, types, &["house of building"]),
        with_text(3, types, &["x y z", "building x house"]),
        with_text(4, types, &["house"]),
    ];
    let all = InValue::All(vec![phrase("house"), phrase("building")]);
    assert_eq!(found(documents, types, all), [2, 3]);
}

#[test]
fn a_phrase_does_not_reach_into_the_next_value() {
    let types = TextField::BusinessTypes;
    let long = format!("{} last", "x ".repeat(MAX_SLOTS - 1));
    let documents = vec![
        with_text(1, types, &[&long, "first"]),
        with_text(2, types, &["y", "last first"]),
        with_text(3, types, &["last", "first"]),
    ];
    assert_eq!(found(documents, types, phrase("last first")), [2]);
}

#[test]
fn a_single_value_may_be_longer_than_the_slots_of_one_of_many() {
    let long = format!(
        "{} last first {} end",
        "x ".repeat(MAX_SLOTS - 1),
        "y ".repeat(3 * MAX_SLOTS)
    );
    let documents = vec![with_text(1, TextField::Description, &[&long])];
    let both = InValue::All(vec![phrase("last first"), phrase("y end"), phrase("x last")]);
    assert_eq!(found(documents, TextField::Description, both), [1]);
}

#[test]
fn a_slot_holds_any_of_its_terms_on_both_sides() {
    let types = TextField::Tags;
    let documents = vec![
        with_text(1, types, &["muller|mueller sons"]),
        with_text(2, types, &["muller|mueller|x of sons"]),
        with_text(3, types, &["miller sons"]),
    ];
    assert_eq!(
        found(documents, types, phrase("mueller|miller sons|daughters")),
        [1, 3]
    );
}

/// Hundreds of slots and alternatives, as much as a caller can make up, and then some.
#[test]
fn large_expressions_are_answered() {
    let types = TextField::BusinessTypes;
    let value = "a b ".repeat(MAX_SLOTS / 2);
    let documents = vec![
        with_text(1, types, &[&value, "b a"]),
        with_text(2, types, &["a b a"]),
    ];
    assert_eq!(
        found(documents.clone(), types, phrase(&"a b ".repeat(MAX_SLOTS / 2))),
        [1]
    );
    assert_eq!(
        found(documents.clone(), types, phrase(&"a b ".repeat(MAX_SLOTS))),
        [0_u8; 0]
    );
    let alternatives = (0..500).map(|number| {
        InValue::All(vec![
            phrase(&format!("a b {number}|a")),
            phrase("b a"),
            phrase("a|b"),
        ])
    });
    assert_eq!(
        found(documents, types, InValue::Any(alternatives.collect())),
        [1, 2]
    );
}

/// More documents than fit a window, in several segments, with ties.
#[test]
fn many_documents_come_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let mut all = Vec::new();
    for batch in 0..3_u32 {
        let documents = (0..6_000_u32).map(|number| {
            let mut document = document(Kind::Person, 0);
            let mixed = (number * 3 + batch).wrapping_mul(2_654_435_761);
            document.id = Uuid::from_u128(u128::from(mixed) << 70 | u128::from(number * 3 + batch));
            document
                .numbers
                .insert(NumberField::InfoUpdatedAt, i64::from(mixed % 7));
            document
                .numbers
                .insert(NumberField::FoundedDate, i64::from(mixed % 1_000));
            if mixed % 5 != 0 {
                document
                    .orders
                    .insert(OrderField::Name, format!("name {:04}", mixed % 3_000));
            }
            document.row = Bytes::copy_from_slice(document.id.as_bytes());
            document
        });
        let documents: Vec<Document> = documents.collect();
        all.extend(documents.clone());
        index
            .apply(
                &documents.into_iter().map(put).collect::<Vec<_>>(),
                i64::from(batch),
            )
            .unwrap();
    }
    let by = |index: usize| match index {
        0 => OrderBy::Number(NumberField::InfoUpdatedAt),
        1 => OrderBy::Number(NumberField::FoundedDate),
        _ => OrderBy::Text(OrderField::Name),
    };
    for (order, descending) in (0..3).flat_map(|order| [(order, false), (order, true)]) {
        let mut expected = all.clone();
        expected.sort_by_key(|document| {
            let number = |field| document.numbers[&field] * if descending { -1 } else { 1 };
            let name = document.orders.get(&OrderField::Name);
            // Names of one length turn around by their digits' complement.
            let turned = name.map(|name| {
                if descending {
                    name.bytes().map(|byte| u8::MAX - byte).collect()
                } else {
                    name.clone().into_bytes()
                }
            });
            match order {
                0 => (number(NumberField::InfoUpdatedAt), None, document.id),
                1 => (number(NumberField::FoundedDate), None, document.id),
                _ => (i64::from(turned.is_none()), turned, document.id),
            }
        });
        let mut plan = everything(Kind::Person, 250);
        plan.order = Order {
            by: by(order),
            descending,
        };
        for skip in [0, 4_000, 17_900] {
            plan.window.skip = skip;
            let hits = index.search(&plan, &Stop::never()).unwrap();
            assert_eq!(hits.total, 18_000);
            assert_eq!(hits.more, skip < 17_000);
            let rows: Vec<&[u8]> = hits.hits.iter().map(|hit| &hit.row[..]).collect();
            let wanted: Vec<&[u8]> = expected
                .iter()
                .skip(skip)
                .take(250)
                .map(|document| &document.row[..])
                .collect();
            assert_eq!(rows, wanted, "{order} {descending} {skip}");
        }
    }
}

#[test]
fn a_position_of_another_order_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(&[put(document(Kind::Company, 1))], 1).unwrap();
    let mut plan = everything(Kind::Company, 1);
    plan.window.after = Some(OrderPosition {
        value: OrderValue::Text("x".to_owned()),
        id: id(1),
    });
    assert!(index.search(&plan, &Stop::never()).is_err());
}
