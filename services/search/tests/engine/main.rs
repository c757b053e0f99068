//! The Tantivy engine against one that looks at every document, and what is left of it after a crash.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod damage;
mod employers;
mod made;
mod ordering;
mod reference;
mod writing;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use proptest::prelude::*;
use search::document::{Change, Document};
use search::engine::{Index, IndexSettings, Opened};
use search::plan::{
    Condition, Engine, Hits, Kind, NumberField, Order, OrderBy, OrderPosition, OrderValue, Plan, Ranking,
    Stop, Window,
};

use made::{batches, id, pick, plan};
use reference::Reference;

/// The least that the writers accept, since many indexes are open at a time.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        writer_memory_bytes: 15_000_000,
        search_threads: 3,
        shared_from: 0,
        // The random segments are larger or smaller.
        kept_from: 12,
        ..IndexSettings::default()
    }
}

pub(crate) fn open(dir: &Path) -> Index {
    match Index::open(dir, settings()).unwrap() {
        Opened::Ready(index) => index,
        Opened::Unusable(unusable) => panic!("{}", unusable.reason()),
    }
}

pub(crate) fn document(kind: Kind, number: u8) -> Document {
    Document {
        kind,
        id: id(number),
        company: None,
        texts: BTreeMap::new(),
        keys: BTreeMap::new(),
        numbers: BTreeMap::from([(NumberField::InfoUpdatedAt, i64::from(number))]),
        orders: BTreeMap::new(),
        sources: BTreeMap::new(),
        row: Bytes::copy_from_slice(&[number]),
    }
}

pub(crate) fn put(document: Document) -> Change {
    Change::Put(Box::new(document))
}

/// A plan for everything of a kind, by age, the first `limit`.
pub(crate) fn everything(kind: Kind, limit: usize) -> Plan {
    Plan {
        kind,
        filter: Condition::Everything,
        own_place: None,
        ranking: Ranking::default(),
        order: Order {
            by: OrderBy::Number(NumberField::InfoUpdatedAt),
            descending: true,
        },
        window: Window {
            after: None,
            skip: 0,
            limit,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_looking_at_every_document(
        batches in batches(),
        plans in proptest::collection::vec((plan(), pick()), 40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        let mut reference = Reference::default();
        // What was kept before the last batch is right behind it too.
        let before = batches.len().saturating_sub(1);
        let mut positions = 1..;
        for stage in [&batches[..before], &batches[before..]] {
            for (batch, position) in stage.iter().zip(&mut positions) {
                index.apply(batch, position).unwrap();
                reference.apply(batch);
            }
            for (plan, pick) in &plans {
                let mut plan = plan.clone();
                let expected = reference.search(&plan, &Stop::never()).unwrap();
                prop_assert_eq!(&index.search(&plan, &Stop::never()).unwrap(), &expected, "{:#?}", plan);

                // From each hit on, and from a position at which nothing stands.
                plan.window.after = Some(if expected.hits.is_empty() {
                    OrderPosition { value: OrderValue::Missing, id: id(7) }
                } else {
                    expected.hits[pick.index(expected.hits.len())].position.clone()
                });
                if plan.order.by == OrderBy::Relevance && expected.hits.is_empty() {
                    continue;
                }
                let expected = reference.search(&plan, &Stop::never()).unwrap();
                prop_assert_eq!(&index.search(&plan, &Stop::never()).unwrap(), &expected, "{:#?}", plan);
                // What was asked twice is kept by now.
                index.wait_kept();
                prop_assert_eq!(&index.search(&plan, &Stop::never()).unwrap(), &expected, "kept: {:#?}", plan);
            }
        }
    }

    #[test]
    fn walking_by_position_gives_each_record_once(
        batches in batches(),
        mut plan in plan(),
        limit in 1..5_usize,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        for (batch, position) in batches.iter().zip(1..) {
            index.apply(batch, position).unwrap();
        }
        plan.window = Window { after: None, skip: 0, limit: 1000 };
        let all = index.search(&plan, &Stop::never()).unwrap();
        prop_assert_eq!(all.total, all.hits.len() as u64);

        plan.window.limit = limit;
        let mut walked = Vec::new();
        loop {
            let Hits { total, hits, more } = index.search(&plan, &Stop::never()).unwrap();
            prop_assert_eq!(total, all.total);
            plan.window.after = hits.last().map(|hit| hit.position.clone());
            walked.extend(hits);
            if !more {
                break;
            }
        }
        prop_assert_eq!(walked, all.hits);
    }
}
