//! Documents and plans made up by proptest. There are few different terms, values and numbers, so that they meet.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use search::document::{Change, Document};
use search::plan::{
    Condition, InValue, KeyField, Kind, NumberField, Order, OrderBy, OrderField, Plan, RankAlternative,
    RankGroup, Ranking, Slot, Subject, TextField, Weight, Window,
};
use search::record::CompanyNumber;
use uuid::Uuid;

const TERMS: [&str; 5] = ["a", "b", "c", "d", "^"];
const KEYS: [&str; 6] = ["x", "xy", "xyz", "y", "yé", "z"];
const NAMES: [&str; 6] = ["", "alpha", "alphabet", "beta", "é", "漢"];

const MANY: [TextField; 4] = [
    TextField::BusinessTypes,
    TextField::Tags,
    TextField::JobTitles,
    TextField::PeoplePlaces,
];
const ONE: [TextField; 3] = [TextField::CompanyName, TextField::Description, TextField::Place];
const ALL_KEYS: [KeyField; 3] = [KeyField::Website, KeyField::Phone, KeyField::Flag];
const NUMBERS: [NumberField; 3] = [
    NumberField::InfoUpdatedAt,
    NumberField::FoundedDate,
    NumberField::EmployeeCount,
];
const ORDERS: [OrderField; 3] = [OrderField::Name, OrderField::JobTitle, OrderField::CompanyName];
const KINDS: [Kind; 2] = [Kind::Company, Kind::Person];

/// Ids that compare otherwise by halves, signs or text than by bytes; many end alike.
pub(crate) fn id(number: u8) -> Uuid {
    let number = u128::from(number);
    Uuid::from_u128((number << 121) | (((number / 4) ^ 0x55) << 60) | (number % 4))
}

/// The number of the company with this id.
fn company_number(id: u8) -> CompanyNumber {
    CompanyNumber(1 + u64::from(id) * 7)
}

fn slot() -> impl Strategy<Value = Slot> {
    prop_oneof![
        6 => select(&TERMS[..]).prop_map(|term| vec![term.to_owned()]),
        1 => subsequence(&TERMS[..], 2..=3).prop_map(|terms| terms.into_iter().map(str::to_owned).collect()),
        1 => Just(Vec::new()),
    ]
}

fn values(most: usize) -> impl Strategy<Value = Vec<Vec<Slot>>> {
    vec(vec(slot(), 0..5), 0..=most)
}

fn document() -> impl Strategy<Value = Document> {
    let texts = (
        btree_map(select(&MANY[..]), values(3), 0..=MANY.len()),
        btree_map(select(&ONE[..]), values(1), 0..=ONE.len()),
    );
    let keys = btree_map(
        select(&ALL_KEYS[..]),
        vec(select(&KEYS[..]).prop_map(str::to_owned), 0..3),
        0..3,
    );
    let numbers = btree_map(select(&NUMBERS[1..]), number(), 0..3);
    let orders = btree_map(
        select(&ORDERS[..]),
        select(&NAMES[..]).prop_map(str::to_owned),
        0..=3,
    );
    (
        select(&KINDS[..]),
        0..40_u8,
        option::weighted(0.8, 0..45_u8),
        texts,
        keys,
        numbers,
        number(),
        orders,
        any::<u16>(),
    )
        .prop_map(
            |(kind, number, employer, (many, one), keys, mut numbers, updated, orders, row)| {
                numbers.insert(NumberField::InfoUpdatedAt, updated);
                let mut texts: BTreeMap<_, _> = many.into_iter().chain(one).collect();
                if kind == Kind::Person
                    && let Some(titles) = texts.get_mut(&TextField::JobTitles)
                {
                    titles.truncate(1);
                }
                let texts = texts
                    .into_iter()
                    .map(|(field, values)| (field, values.into_iter().collect()));
                let row = Bytes::from(row.to_be_bytes().repeat(usize::from(row % 50)));
                Document {
                    kind,
                    id: id(number),
                    company: match kind {
                        Kind::Company => Some(company_number(number)),
                        Kind::Person => employer.map(company_number),
                    },
                    texts: texts.collect(),
                    keys,
                    numbers,
                    orders,
                    sources: BTreeMap::new(),
                    row,
                }
            },
        )
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -2..4_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => document().prop_map(|document| Change::Put(Box::new(document))),
        1 => (select(&KINDS[..]), 0..40_u8).prop_map(|(kind, number)| Change::Delete(kind, id(number))),
    ]
}

/// Batches of changes, each committed on its own.
pub(crate) fn batches() -> impl Strategy<Value = Vec<Vec<Change>>> {
    vec(vec(change(), 0..40), 1..6)
}

fn in_value() -> impl Strategy<Value = InValue> {
    let phrase = vec(slot(), 1..4).prop_map(InValue::Phrase);
    phrase.prop_recursive(3, 12, 3, |part| {
        prop_oneof![
            vec(part.clone(), 1..4).prop_map(InValue::All),
            vec(part, 1..4).prop_map(InValue::Any),
        ]
    })
}

fn fields() -> impl Strategy<Value = Vec<TextField>> {
    let all: Vec<TextField> = MANY.into_iter().chain(ONE).collect();
    subsequence(all, 1..4)
}

fn condition() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        1 => Just(Condition::Everything),
        6 => (fields(), in_value()).prop_map(|(fields, expression)| Condition::Text { fields, expression }),
        2 => (select(&ALL_KEYS[..]), vec(select(&KEYS[..]).prop_map(str::to_owned), 1..3))
            .prop_map(|(field, any)| Condition::Key { field, any }),
        2 => (select(&ALL_KEYS[..]), select(&["x", "xy", "y", "é", "zz"][..]))
            .prop_map(|(field, prefix)| Condition::KeyPrefix { field, prefix: prefix.to_owned() }),
        2 => (select(&NUMBERS[..]), option::of(number()), option::of(number()))
            .prop_map(|(field, from, to)| Condition::Range { field, from, to }),
        1 => vec((0..45_u8).prop_map(id), 0..20).prop_map(Condition::Ids),
    ];
    leaf.prop_recursive(3, 12, 3, |part| {
        prop_oneof![
            vec(part.clone(), 0..4).prop_map(Condition::All),
            vec(part.clone(), 0..4).prop_map(Condition::Any),
            part.clone().prop_map(|part| Condition::Not(Box::new(part))),
            part.prop_map(|part| Condition::Employer(Box::new(part))),
        ]
    })
}

fn ranking() -> impl Strategy<Value = Ranking> {
    let alternative =
        (in_value(), option::of(in_value()), option::of(in_value())).prop_map(|(holds, adjacent, whole)| {
            RankAlternative {
                holds,
                adjacent,
                whole,
            }
        });
    let weights = [Weight::Description, Weight::Types, Weight::NameOrTitle];
    let subjects = [Subject::Record, Subject::Employer];
    let group = (
        select(subjects.to_vec()),
        select(weights.to_vec()),
        fields(),
        vec(alternative, 1..4),
    )
        .prop_map(|(of, weight, fields, alternatives)| RankGroup {
            of,
            weight,
            fields,
            alternatives,
        });
    vec(group, 0..3).prop_map(|groups| Ranking { groups })
}

fn order() -> impl Strategy<Value = Order> {
    let by = prop_oneof![
        Just(OrderBy::Relevance),
        select(&NUMBERS[..]).prop_map(OrderBy::Number),
        select(&ORDERS[..]).prop_map(OrderBy::Text),
    ];
    (by, any::<bool>()).prop_map(|(by, descending)| Order {
        by,
        descending: descending || by == OrderBy::Relevance,
    })
}

/// A plan, and whether its filter is that of the first alternative it ranks by, as a planner would make it.
pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let window = (0..8_usize, 0..8_usize).prop_map(|(skip, limit)| Window {
        after: None,
        skip,
        limit,
    });
    let parts = (
        select(&KINDS[..]),
        condition(),
        option::of(condition()),
        ranking(),
        order(),
        window,
    );
    (parts, any::<bool>()).prop_map(|((kind, filter, own_place, ranking, order, window), follow)| {
        let ranked = ranking
            .groups
            .first()
            .filter(|_| follow)
            .map(|group| Condition::Text {
                fields: group.fields.clone(),
                expression: InValue::Any(
                    group
                        .alternatives
                        .iter()
                        .map(|alternative| alternative.holds.clone())
                        .collect(),
                ),
            });
        let filter = match ranked {
            Some(ranked) => Condition::All(vec![ranked, filter]),
            None => filter,
        };
        Plan {
            kind,
            filter,
            own_place,
            ranking,
            order,
            window,
        }
    })
}

/// Picks one of what a test finds while it runs.
pub(crate) fn pick() -> impl Strategy<Value = Index> {
    any::<Index>()
}
