//! Places that records are in: their names, their filters, and which places of records the filters find.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::vocabulary::Keys;
use crate::place::gazetteer::Entity;
use crate::place::names::names;
use crate::place::naming::{Naming, naming};
use crate::place::{asked_places, entities, of_source_text, value};
use crate::plan::{InValue, Slot};
use crate::text::words::words;

/// Places of the gazetteer that records have been in.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<Entity, Option<Arc<Place>>>);

/// A place that can be suggested.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) naming: Naming,
    pub(super) keys: Arc<Keys>,
    asked: InValue,
}

/// The places of some texts.
#[derive(Debug)]
pub(super) struct Found {
    /// Each with another filter.
    pub(super) places: Vec<Arc<Place>>,
    /// For each text, the places whose filter finds it, by their numbers in [`Found::places`].
    pub(super) of_text: Vec<Vec<u32>>,
}

impl Places {
    /// Finds the places of texts of [`crate::plan::SourceField::Places`]; of those that are none there is no place.
    pub(super) fn find(&mut self, texts: &[Option<&str>]) -> Found {
        let records = texts
            .iter()
            .map(|text| text.map(of_source_text).unwrap_or_default());
        let records = records.collect::<Vec<_>>();
        let all = records.iter().flat_map(entities).collect::<BTreeSet<_>>();
        self.learn(&all);
        let mut filters = HashSet::new();
        let places = all.iter().filter_map(|place| self.0.get(place)?.clone());
        let places = places
            .filter(|place| filters.insert(place.naming.filter.clone()))
            .collect::<Vec<_>>();
        let mut with_term = HashMap::<&str, Vec<u32>>::new();
        for (number, place) in (0..).zip(&places) {
            for term in needed(&place.asked) {
                with_term.entry(term).or_default().push(number);
            }
        }
        let of_text = records.iter().map(|record| {
            let slots: Vec<Slot> = value(record).iter().next().unwrap_or_default();
            let terms = slots.iter().flatten();
            let maybe = terms.filter_map(|term| with_term.get(term.as_str())).flatten();
            let maybe = maybe.copied().collect::<BTreeSet<_>>();
            let holds = |number: &u32| places[*number as usize].asked.holds_in(&slots);
            maybe.into_iter().filter(holds).collect()
        });
        Found {
            of_text: of_text.collect(),
            places,
        }
    }

    /// Learns how those are called that are new.
    fn learn(&mut self, places: &BTreeSet<Entity>) {
        for place in places {
            self.0.entry(*place).or_insert_with(|| {
                let naming = naming(*place)?;
                let mut keys = Keys::default();
                for name in names(*place) {
                    keys.add(&words(name));
                }
                Some(Arc::new(Place {
                    asked: asked_places(&naming.filter)?,
                    naming,
                    keys: Arc::new(keys),
                }))
            });
        }
    }
}

/// Terms of which a value in which the expression holds has at least one.
fn needed(asked: &InValue) -> Vec<&str> {
    match asked {
        InValue::Phrase(phrase) => phrase.first().into_iter().flatten().map(String::as_str).collect(),
        // Of all parts one will do: the first of a location is the narrowest.
        InValue::All(parts) => parts.first().map(needed).unwrap_or_default(),
        InValue::Any(parts) => parts.iter().flat_map(needed).collect(),
    }
}
