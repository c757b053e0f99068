//! Conditions on the words of one value, by positions.
//!
//! Value `i` of a field of many values starts at position `i * MAX_SLOTS`, so that positions tell which value a word
//! stands in. An expression holds in a document where the sets of values in which its phrases occur, intersected
//! and united as it says, are not empty. Only documents that have the words at all are looked at.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::{DocId, DocSet};

use super::deadline::Deadline;
use super::docs::{BoxDocs, Docs};
use super::window::Window;
use crate::values::MAX_SLOTS;

/// How often the clock is looked at, in documents.
const LOOKS: u32 = 256;

#[expect(clippy::cast_possible_truncation, reason = "it is about a thousand")]
const VALUE: u32 = MAX_SLOTS as u32;

/// An expression over the slots of a [`Matcher`].
pub(super) enum Expression {
    Phrase(Slots),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

/// A phrase.
pub(super) struct Slots {
    /// Slots and how far they stand from the phrase's start; the rarest first.
    slots: Vec<(usize, u32)>,
    length: u32,
}

/// The documents of `candidates` in which an expression holds.
pub(super) struct WordDocs {
    candidates: BoxDocs,
    matcher: Matcher,
    deadline: Arc<Deadline>,
    looks: u32,
}

impl WordDocs {
    /// `candidates` has to hold all documents in which the expression holds.
    pub(super) fn new(candidates: BoxDocs, matcher: Matcher, deadline: Arc<Deadline>) -> Self {
        Self {
            candidates,
            matcher,
            deadline,
            looks: 0,
        }
    }

    /// Once the deadline has passed nothing is looked at any more; whoever walks the windows gives up soon.
    fn check(&mut self, window: &mut Window) {
        window.retain(|doc| {
            self.looks += 1;
            if self.looks.is_multiple_of(LOOKS) {
                self.deadline.look();
            }
            !self.deadline.passed() && self.matcher.holds(doc)
        });
    }
}

impl Docs for WordDocs {
    fn next(&mut self, from: DocId) -> DocId {
        self.candidates.next(from)
    }

    fn fill(&mut self, window: &mut Window) {
        let mut own = window.emptied();
        self.candidates.fill(&mut own);
        self.check(&mut own);
        window.add(&own);
    }

    fn retain(&mut self, window: &mut Window) {
        self.candidates.retain(window);
        self.check(window);
    }

    fn cost(&self) -> u64 {
        self.candidates.cost()
    }

    fn looks_at_positions(&self) -> bool {
        true
    }

    fn price(&self) -> u64 {
        self.candidates.price() + 20 * self.matcher.slots.len() as u64
    }
}

/// Tells for one document after the other, ascending, whether an expression holds in one of its values.
pub(super) struct Matcher {
    expression: Expression,
    slots: Vec<Slot>,
    /// Whether positions tell values.
    many: bool,
    room: Room,
}

/// Lists that are used again and again: one document after the other needs some for a moment.
#[derive(Default)]
struct Room(Vec<Vec<u32>>);

impl Room {
    fn take(&mut self) -> Vec<u32> {
        let mut list = self.0.pop().unwrap_or_default();
        list.clear();
        list
    }

    fn give_back(&mut self, list: Vec<u32>) {
        self.0.push(list);
    }
}

impl Matcher {
    fn holds(&mut self, doc: DocId) -> bool {
        let mut found = self.room.take();
        match &self.expression {
            Expression::Phrase(phrase) => starts(phrase, &mut self.slots, doc, self.many, &mut found),
            expression => values(
                expression,
                &mut self.slots,
                doc,
                self.many,
                &mut self.room,
                &mut found,
            ),
        }
        let holds = !found.is_empty();
        self.room.give_back(found);
        holds
    }
}

/// Gathers the slots of the expressions of a [`Matcher`], each once.
#[derive(Default)]
pub(super) struct MatcherBuilder {
    slots: Vec<Slot>,
    known: HashMap<Vec<String>, usize>,
}

impl MatcherBuilder {
    /// The slot of these terms, whose postings with positions are read if it is new.
    pub(super) fn slot<E>(
        &mut self,
        mut terms: Vec<String>,
        postings: impl FnOnce(&[String]) -> Result<Vec<SegmentPostings>, E>,
    ) -> Result<usize, E> {
        terms.sort_unstable();
        terms.dedup();
        if let Some(&known) = self.known.get(&terms) {
            return Ok(known);
        }
        let slot = Slot::new(postings(&terms)?);
        self.slots.push(slot);
        self.known.insert(terms, self.slots.len() - 1);
        Ok(self.slots.len() - 1)
    }

    /// Whether no document has the slot.
    pub(super) fn is_absent(&self, slot: usize) -> bool {
        self.slots[slot].postings.is_empty()
    }

    /// A phrase of slots that follow each other.
    pub(super) fn phrase(&self, slots: &[usize]) -> Slots {
        let length = u32::try_from(slots.len()).unwrap_or(u32::MAX);
        let mut slots: Vec<(usize, u32)> = slots.iter().copied().zip(0..length).collect();
        slots.sort_by_key(|(slot, _)| self.slots[*slot].frequency);
        Slots { slots, length }
    }

    pub(super) fn build(self, expression: Expression, many: bool) -> Matcher {
        Matcher {
            expression,
            slots: self.slots,
            many,
            room: Room::default(),
        }
    }
}

/// Where any of some terms stands.
struct Slot {
    postings: Vec<SegmentPostings>,
    frequency: u64,
    /// The document whose positions have been read.
    doc: Option<DocId>,
    positions: Vec<u32>,
}

impl Slot {
    fn new(postings: Vec<SegmentPostings>) -> Self {
        let frequency = postings
            .iter()
            .map(|postings| u64::from(postings.doc_freq()))
            .sum();
        Self {
            postings,
            frequency,
            doc: None,
            positions: Vec::new(),
        }
    }

    /// Positions in the document, ascending, each once.
    fn positions(&mut self, doc: DocId) -> &[u32] {
        if self.doc != Some(doc) {
            self.doc = Some(doc);
            self.positions.clear();
            for postings in &mut self.postings {
                if postings.doc() < doc {
                    postings.seek(doc);
                }
                if postings.doc() == doc {
                    postings.append_positions_with_offset(0, &mut self.positions);
                }
            }
            if self.postings.len() > 1 {
                self.positions.sort_unstable();
            }
            self.positions.dedup();
        }
        &self.positions
    }
}

/// Adds the positions at which the phrase starts, ascending, to an empty list.
fn starts(phrase: &Slots, slots: &mut [Slot], doc: DocId, many: bool, starts: &mut Vec<u32>) {
    for (index, &(slot, offset)) in phrase.slots.iter().enumerate() {
        let positions = slots[slot].positions(doc);
        if index == 0 {
            starts.extend(
                positions
                    .iter()
                    .filter_map(|position| position.checked_sub(offset))
                    .filter(|start| !many || (start % VALUE).saturating_add(phrase.length) <= VALUE),
            );
        } else {
            keep_common(starts, positions, offset);
        }
        if starts.is_empty() {
            break;
        }
    }
}

/// Keeps the starts for which `start + offset` is among the positions. Both ascend.
fn keep_common(starts: &mut Vec<u32>, positions: &[u32], offset: u32) {
    let mut rest = positions;
    starts.retain(|start| {
        let wanted = start.saturating_add(offset);
        // Of many positions most are passed over at once; of few a search would cost more than it saves.
        let passed = if rest.len() > 16 {
            rest.partition_point(|position| *position < wanted)
        } else {
            rest.iter().take_while(|position| **position < wanted).count()
        };
        rest = &rest[passed..];
        rest.first() == Some(&wanted)
    });
}

/// Adds the numbers of the values in which the expression holds, ascending, each once, to an empty list.
fn values(
    expression: &Expression,
    slots: &mut [Slot],
    doc: DocId,
    many: bool,
    room: &mut Room,
    found: &mut Vec<u32>,
) {
    match expression {
        Expression::Phrase(phrase) => {
            starts(phrase, slots, doc, many, found);
            for value in found.iter_mut() {
                *value = if many { *value / VALUE } else { 0 };
            }
            found.dedup();
        }
        Expression::All(parts) => {
            for (index, part) in parts.iter().enumerate() {
                if index == 0 {
                    values(part, slots, doc, many, room, found);
                } else {
                    let mut others = room.take();
                    values(part, slots, doc, many, room, &mut others);
                    keep_common(found, &others, 0);
                    room.give_back(others);
                }
                if found.is_empty() {
                    break;
                }
            }
        }
        Expression::Any(parts) => {
            for part in parts {
                let mut others = room.take();
                values(part, slots, doc, many, room, &mut others);
                found.append(&mut others);
                room.give_back(others);
            }
            found.sort_unstable();
            found.dedup();
        }
    }
}
