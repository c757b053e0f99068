//! The score of [`Ranking`], for the matching documents of one window after the other.

use super::docs::BoxDocs;
use super::employers::EmployerScores;
use super::segment::Segment;
use super::window::{WINDOW, Window};
use crate::plan::{Condition, InValue, RankAlternative, RankGroup, Ranking, Subject, TextField};

/// Alternatives beyond this number count no more.
const MOST_ALTERNATIVES: u64 = 100;

/// Scores documents of a segment.
pub(super) struct Scorer {
    groups: Vec<Group>,
    /// What people's companies add.
    employers: Option<EmployerScores>,
    /// Of the window's documents, by their places in it.
    scores: Vec<u64>,
    worth: Vec<Worth>,
}

struct Group {
    factor: u64,
    alternatives: Vec<Alternative>,
}

struct Alternative {
    /// None if it holds in every document that matches.
    holds: Option<BoxDocs>,
    /// None if holding is enough.
    adjacent: Option<BoxDocs>,
    /// None if it can't be reached.
    whole: Option<BoxDocs>,
}

/// What a group finds in a document.
#[derive(Clone, Copy, Default)]
struct Worth {
    tier: u64,
    alternatives: u64,
}

impl Scorer {
    /// `filter` is what the documents meet that will be scored.
    pub(super) fn new(segment: &Segment<'_>, ranking: &Ranking, filter: &Condition) -> tantivy::Result<Self> {
        let own = ranking.groups.iter().filter(|group| group.of == Subject::Record);
        let groups = own.map(|group| Group::new(segment, group, filter));
        Ok(Self {
            groups: groups.collect::<tantivy::Result<_>>()?,
            employers: segment
                .employers
                .scores()
                .map(|scores| EmployerScores::open(segment.reader, scores))
                .transpose()?,
            scores: vec![0; WINDOW as usize],
            worth: vec![Worth::default(); WINDOW as usize],
        })
    }

    /// The scores of the window's documents, by their places in it; those of other places mean nothing.
    pub(super) fn score(&mut self, matching: &Window) -> &[u64] {
        for doc in matching.docs() {
            let employer = self.employers.as_ref().map(|employers| employers.of(doc));
            self.scores[matching.offset(doc)] = employer.unwrap_or_default();
        }
        for group in &mut self.groups {
            for doc in matching.docs() {
                self.worth[matching.offset(doc)] = Worth::default();
            }
            for alternative in &mut group.alternatives {
                alternative.find(matching, &mut self.worth);
            }
            for doc in matching.docs() {
                let place = matching.offset(doc);
                self.scores[place] += group.factor * self.worth[place].value();
            }
        }
        &self.scores
    }
}

impl Worth {
    fn value(self) -> u64 {
        match self.alternatives {
            0 => 0,
            found => (self.tier - 1) * (MOST_ALTERNATIVES + 1) + found.min(MOST_ALTERNATIVES),
        }
    }
}

impl Group {
    fn new(segment: &Segment<'_>, group: &RankGroup, filter: &Condition) -> tantivy::Result<Self> {
        let alternatives = group.alternatives.iter().map(
            |RankAlternative {
                 holds,
                 adjacent,
                 whole,
             }| {
                let docs = |expression: &InValue| segment.text(&group.fields, expression);
                Ok(Alternative {
                    holds: if implies(filter, &group.fields, holds) {
                        None
                    } else {
                        Some(docs(holds)?)
                    },
                    adjacent: adjacent.as_ref().map(docs).transpose()?,
                    whole: whole.as_ref().map(docs).transpose()?,
                })
            },
        );
        Ok(Self {
            factor: group.weight.factor(),
            alternatives: alternatives.collect::<tantivy::Result<_>>()?,
        })
    }
}

impl Alternative {
    fn find(&mut self, matching: &Window, worth: &mut [Worth]) {
        let mut holding = matching.clone();
        if let Some(holds) = &mut self.holds {
            holds.retain(&mut holding);
        }
        if holding.is_empty() {
            return;
        }
        let mut whole = holding.emptied();
        if let Some(docs) = &mut self.whole {
            whole.clone_from(&holding);
            docs.retain(&mut whole);
        }
        let mut adjacent = holding.clone();
        if let Some(docs) = &mut self.adjacent {
            adjacent.subtract(&whole);
            docs.retain(&mut adjacent);
        }
        for doc in holding.docs() {
            let tier = match doc {
                doc if whole.contains(doc) => 3,
                doc if adjacent.contains(doc) => 2,
                _ => 1,
            };
            let worth = &mut worth[matching.offset(doc)];
            worth.tier = worth.tier.max(tier);
            worth.alternatives += 1;
        }
    }
}

/// Whether a document that meets the filter has the expression in those fields, seen from the filter's form alone:
/// the one alternative of a filter need not be looked for again in what the filter let through.
fn implies(filter: &Condition, searched: &[TextField], wanted: &InValue) -> bool {
    match filter {
        Condition::All(parts) => parts.iter().any(|part| implies(part, searched, wanted)),
        Condition::Text { fields, expression } => {
            let expression = match expression {
                InValue::All(parts) | InValue::Any(parts) if parts.len() == 1 => &parts[0],
                expression => expression,
            };
            expression == wanted && fields.iter().all(|field| searched.contains(field))
        }
        _ => false,
    }
}
