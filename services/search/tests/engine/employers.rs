//! People and what is asked of their companies, of more records than random ones are: whether the companies are asked
//! first or those of the people who are left, and however these are found, the answer is the same.

use bytes::Bytes;
use search::document::{Change, Document};
use search::engine::Index;
use search::plan::{
    Condition, Engine, InValue, Kind, NumberField, Order, OrderBy, RankAlternative, RankGroup, Ranking, Stop,
    Subject, TextField, Weight,
};
use search::record::CompanyNumber;
use uuid::Uuid;

use crate::reference::Reference;
use crate::{document, everything, open, put};

const COMPANIES: u32 = 3_000;
const PEOPLE: u32 = 6_000;

/// Each record has the terms `every1`, `every7`, `every60` and so on whose number divides what is made of its own.
const EVERY: [u32; 4] = [1, 7, 60, 2_000];

fn made(kind: Kind, number: u32) -> Document {
    let mut document = document(kind, 0);
    let mixed = number.wrapping_mul(2_654_435_761) >> 4;
    document.id = Uuid::from_u128(u128::from(mixed) << 70 | u128::from(number) << 8 | kind as u128);
    document.row = Bytes::copy_from_slice(document.id.as_bytes());
    document
        .numbers
        .insert(NumberField::InfoUpdatedAt, i64::from(mixed % 1_000));
    let every = EVERY.iter().filter(|every| number.is_multiple_of(**every));
    let words = every.map(|every| vec![format!("every{every}")]);
    let (field, values) = match kind {
        Kind::Company => (TextField::BusinessTypes, words.map(|word| vec![word]).collect()),
        // A title is one value.
        Kind::Person => (TextField::JobTitles, std::iter::once(words.collect()).collect()),
    };
    document.texts.insert(field, values);
    document.company = match kind {
        Kind::Company => Some(CompanyNumber(u64::from(number) + 1)),
        // Every eleventh has none; some have one that is not there.
        Kind::Person if number.is_multiple_of(11) => None,
        Kind::Person => Some(CompanyNumber(u64::from(mixed % (COMPANIES + 500)) + 1)),
    };
    document
}

fn term(every: u32) -> InValue {
    InValue::Phrase(vec![vec![format!("every{every}")]])
}

fn has(field: TextField, every: u32) -> Condition {
    Condition::Text {
        fields: vec![field],
        expression: term(every),
    }
}

/// The condition that hits are told apart by may be about companies too.
#[test]
fn whether_a_hit_is_of_its_own_place_may_depend_on_its_company() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let mut reference = Reference::default();
    let companies = (0..COMPANIES).map(|number| made(Kind::Company, number));
    let people = (0..60).map(|number| made(Kind::Person, number));
    let changes: Vec<_> = companies.chain(people).map(put).collect();
    index.apply(&changes, 1).unwrap();
    reference.apply(&changes);
    let mut plan = everything(Kind::Person, 60);
    plan.own_place = Some(Condition::Employer(Box::new(Condition::Everything)));
    let found = index.search(&plan, &Stop::never()).unwrap();
    assert!(found.hits.iter().any(|hit| hit.own_place) && found.hits.iter().any(|hit| !hit.own_place));
    assert_eq!(found, reference.search(&plan, &Stop::never()).unwrap());
}

/// Postings come in blocks of 128.
#[test]
fn all_people_of_a_few_large_companies_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let companies = (0..COMPANIES).map(|number| made(Kind::Company, number));
    let people = (0..PEOPLE).map(|number| {
        let company = if number < 1_000 { 0 } else { 1 + number % 2_500 };
        let mut person = made(Kind::Person, number);
        person.company = Some(CompanyNumber(u64::from(company) + 1));
        person
    });
    let changes: Vec<_> = companies.chain(people).map(put).collect();
    index.apply(&changes, 1).unwrap();
    let mut plan = everything(Kind::Person, 1);
    // The first company, and one of three or four people.
    plan.filter = Condition::Employer(Box::new(has(TextField::BusinessTypes, 2_000)));
    let mut reference = Reference::default();
    reference.apply(&changes);
    let found = index.search(&plan, &Stop::never()).unwrap();
    assert!(found.total > 1_000, "{}", found.total);
    assert_eq!(found, reference.search(&plan, &Stop::never()).unwrap());
}

#[test]
fn people_are_found_by_what_their_companies_are() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let mut reference = Reference::default();
    for batch in 0..3 {
        let companies = (0..COMPANIES).filter(|number| number % 3 == batch);
        let people = (0..PEOPLE).filter(|number| number % 3 == batch);
        let documents = companies.map(|number| made(Kind::Company, number));
        let documents = documents.chain(people.map(|number| made(Kind::Person, number)));
        let changes: Vec<_> = documents.map(put).collect();
        index.apply(&changes, i64::from(batch)).unwrap();
        reference.apply(&changes);
    }
    agrees(&index, &reference);

    // What is kept of a segment has companies that are no longer there, or elsewhere.
    let companies = (0..COMPANIES).filter(|number| number % 5 == 0);
    let changes: Vec<_> = companies
        .map(|number| {
            let document = made(Kind::Company, number);
            if number % 25 == 0 {
                Change::Delete(document.kind, document.id)
            } else {
                put(document)
            }
        })
        .collect();
    index.apply(&changes, 3).unwrap();
    reference.apply(&changes);
    agrees(&index, &reference);
}

/// Searches by what people's own conditions and their companies' are, answered as by looking at all of them, before what is
/// asked again and again is kept and behind that.
fn agrees(index: &Index, reference: &Reference) {
    let ranking = Ranking {
        groups: vec![RankGroup {
            of: Subject::Employer,
            weight: Weight::Types,
            fields: vec![TextField::BusinessTypes],
            alternatives: [7, 60]
                .map(|every| RankAlternative {
                    holds: term(every),
                    adjacent: None,
                    whole: None,
                })
                .into(),
        }],
    };
    let mut asked_again = Vec::new();
    for (own, asked) in EVERY.into_iter().flat_map(|own| EVERY.map(|asked| (own, asked))) {
        let at = |every| Condition::Employer(Box::new(has(TextField::BusinessTypes, every)));
        let employer = || at(asked);
        let own = || has(TextField::JobTitles, own);
        let filters = [
            Condition::All(vec![own(), employer()]),
            Condition::All(vec![own(), employer(), at(7)]),
            Condition::All(vec![own(), Condition::Not(Box::new(employer()))]),
            Condition::All(vec![own(), Condition::Any(vec![employer(), own()])]),
            employer(),
        ];
        for (filter, ranked) in filters
            .into_iter()
            .flat_map(|filter| [(filter.clone(), false), (filter, true)])
        {
            let mut plan = everything(Kind::Person, 40);
            plan.filter = filter;
            if ranked {
                plan.ranking = ranking.clone();
                plan.order = Order {
                    by: OrderBy::Relevance,
                    descending: true,
                };
            }
            let expected = reference.search(&plan, &Stop::never()).unwrap();
            assert_eq!(
                index.search(&plan, &Stop::never()).unwrap(),
                expected,
                "{plan:#?}"
            );
            asked_again.push((plan, expected));
        }
    }
    index.wait_kept();
    for (plan, expected) in asked_again {
        let found = index.search(&plan, &Stop::never()).unwrap();
        assert_eq!(found, expected, "kept: {plan:#?}");
    }
}
