//! An engine that looks at every document, written from what `plan` and `document` say.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use search::document::{Change, Document};
use search::plan::{
    Condition, Engine, EngineError, Hit, Hits, InValue, Kind, Order, OrderBy, OrderPosition, OrderValue,
    Phrase, Plan, RankGroup, Slot, Stop, TextField,
};
use uuid::Uuid;

/// All documents, by kind and id.
#[derive(Default)]
pub(crate) struct Reference {
    companies: BTreeMap<Uuid, Document>,
    people: BTreeMap<Uuid, Document>,
}

impl Reference {
    pub(crate) fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put(document) => {
                    self.of_mut(document.kind)
                        .insert(document.id, Document::clone(document));
                }
                Change::Delete(kind, id) => {
                    self.of_mut(*kind).remove(id);
                }
            }
        }
    }

    fn of(&self, kind: Kind) -> &BTreeMap<Uuid, Document> {
        match kind {
            Kind::Company => &self.companies,
            Kind::Person => &self.people,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut BTreeMap<Uuid, Document> {
        match kind {
            Kind::Company => &mut self.companies,
            Kind::Person => &mut self.people,
        }
    }
}

impl Engine for Reference {
    fn search(&self, plan: &Plan, _: &Stop) -> Result<Hits, EngineError> {
        let mut matching: Vec<Hit> = self
            .of(plan.kind)
            .values()
            .filter(|document| meets(document, &plan.filter))
            .map(|document| Hit {
                position: position(document, plan),
                row: document.row.clone(),
                own_place: plan.own_place.as_ref().is_none_or(|place| meets(document, place)),
            })
            .collect();
        matching.sort_by(|left, right| compare(plan.order, &left.position, &right.position));
        let total = matching.len() as u64;
        if let Some(after) = &plan.window.after {
            matching.retain(|hit| compare(plan.order, &hit.position, after).is_gt());
        }
        let mut rest = matching.into_iter().skip(plan.window.skip);
        let hits = rest.by_ref().take(plan.window.limit).collect();
        Ok(Hits {
            total,
            hits,
            more: rest.next().is_some(),
        })
    }
}

fn position(document: &Document, plan: &Plan) -> OrderPosition {
    let value = match plan.order.by {
        OrderBy::Relevance => OrderValue::Score(
            plan.ranking
                .groups
                .iter()
                .map(|group| worth(document, group))
                .sum(),
        ),
        OrderBy::Text(field) => document
            .orders
            .get(&field)
            .map_or(OrderValue::Missing, |text| OrderValue::Text(text.clone())),
        OrderBy::Number(field) => document
            .numbers
            .get(&field)
            .map_or(OrderValue::Missing, |number| OrderValue::Number(*number)),
    };
    OrderPosition {
        value,
        id: document.id,
    }
}

fn compare(order: Order, left: &OrderPosition, right: &OrderPosition) -> Ordering {
    let values = match (&left.value, &right.value) {
        (OrderValue::Missing, OrderValue::Missing) => Ordering::Equal,
        (OrderValue::Missing, _) => Ordering::Greater,
        (_, OrderValue::Missing) => Ordering::Less,
        (OrderValue::Score(left), OrderValue::Score(right)) => right.cmp(left),
        (OrderValue::Text(left), OrderValue::Text(right)) if order.descending => {
            right.as_bytes().cmp(left.as_bytes())
        }
        (OrderValue::Text(left), OrderValue::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (OrderValue::Number(left), OrderValue::Number(right)) if order.descending => right.cmp(left),
        (OrderValue::Number(left), OrderValue::Number(right)) => left.cmp(right),
        (left, right) => panic!("{left:?} and {right:?} are not of one order"),
    };
    values.then(left.id.cmp(&right.id))
}

fn worth(document: &Document, group: &RankGroup) -> u64 {
    let has = |expression| in_fields(document, &group.fields, expression);
    let mut best = 0;
    let mut holding = 0;
    for alternative in &group.alternatives {
        if !has(&alternative.holds) {
            continue;
        }
        holding += 1;
        let tier = if alternative.whole.as_ref().is_some_and(has) {
            3
        } else if alternative.adjacent.as_ref().is_none_or(has) {
            2
        } else {
            1
        };
        best = best.max(tier);
    }
    if holding == 0 {
        0
    } else {
        group.weight.factor() * ((best - 1) * 101 + holding.min(100))
    }
}

fn meets(document: &Document, condition: &Condition) -> bool {
    match condition {
        Condition::Everything => true,
        Condition::Text { fields, expression } => in_fields(document, fields, expression),
        Condition::Key { field, any } => document
            .keys
            .get(field)
            .is_some_and(|terms| terms.iter().any(|term| any.contains(term))),
        Condition::KeyPrefix { field, prefix } => document
            .keys
            .get(field)
            .is_some_and(|terms| terms.iter().any(|term| term.starts_with(prefix))),
        Condition::Range { field, from, to } => document.numbers.get(field).is_some_and(|number| {
            from.is_none_or(|from| from <= *number) && to.is_none_or(|to| *number <= to)
        }),
        Condition::Ids(ids) => ids.contains(&document.id),
        Condition::All(parts) => parts.iter().all(|part| meets(document, part)),
        Condition::Any(parts) => parts.iter().any(|part| meets(document, part)),
        Condition::Not(part) => !meets(document, part),
    }
}

fn in_fields(document: &Document, fields: &[TextField], expression: &InValue) -> bool {
    let values = fields
        .iter()
        .filter_map(|field| document.texts.get(field))
        .flat_map(search::values::Values::iter);
    values.into_iter().any(|value| in_value(&value, expression))
}

fn in_value(value: &[Slot], expression: &InValue) -> bool {
    match expression {
        InValue::Phrase(phrase) => value.windows(phrase.len()).any(|slots| stands_at(slots, phrase)),
        InValue::All(parts) => parts.iter().all(|part| in_value(value, part)),
        InValue::Any(parts) => parts.iter().any(|part| in_value(value, part)),
    }
}

fn stands_at(slots: &[Slot], phrase: &Phrase) -> bool {
    slots
        .iter()
        .zip(phrase)
        .all(|(slot, wanted)| wanted.iter().any(|term| slot.contains(term)))
}
