//! The score of [`Ranking`], for the matching documents of one window after the other.

use tantivy::DocId;

use super::docs::BoxDocs;
use super::employers::EmployerScores;
use super::segment::Segment;
use super::window::{WINDOW, Window};
use crate::plan::{Condition, InValue, RankAlternative, RankGroup, Ranking, Subject, TextField};

/// Alternatives beyond this number count no more.
const MOST_ALTERNATIVES: u8 = 100;

/// Scores documents of a segment.
pub(super) struct Scorer {
    groups: Vec<Group>,
    /// What people's companies add.
    employers: Option<EmployerScores>,
    /// Of the window's documents, by their places in it; none before the first window.
    scores: Vec<u64>,
}

struct Group {
    factor: u64,
    alternatives: Vec<Alternative>,
    /// What was found in the window's documents, by their places in it; none before the first window.
    worth: Vec<Worth>,
}

struct Alternative {
    /// None if it holds in every document that matches.
    holds: Option<BoxDocs>,
    /// None if holding is enough.
    adjacent: Option<BoxDocs>,
    /// None if it can't be reached.
    whole: Option<BoxDocs>,
    /// The window's documents in which it holds, but is not the whole value.
    within: Window,
}

/// What a group finds in a document.
#[derive(Clone, Copy, Default)]
struct Worth {
    tier: u8,
    alternatives: u8,
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
            scores: Vec::new(),
        })
    }

    /// The window's documents by degrees, if nothing counts but one alternative.
    pub(super) fn degrees(&mut self, docs: &Window) -> Option<Degrees<'_>> {
        let ([group], None) = (&mut self.groups[..], &self.employers) else {
            return None;
        };
        let [alternative] = &mut group.alternatives[..] else {
            return None;
        };
        let mut held = docs.clone();
        let mut others = docs.emptied();
        if let Some(holds) = &mut alternative.holds {
            holds.retain(&mut held);
            others = docs.clone();
            others.subtract(&held);
        }
        Some(Degrees {
            factor: group.factor,
            alternative,
            held,
            others,
        })
    }

    /// The scores of the window's documents, by their places in it; those of other places mean nothing. A document of
    /// which `counts` denies that it counts with at most such a score is left away: which words are adjacent is dear to
    /// find, and looked for last.
    pub(super) fn score(&mut self, docs: &mut Window, counts: impl Fn(DocId, u64) -> bool) -> &[u64] {
        self.scores.resize(WINDOW as usize, 0);
        for doc in docs.docs() {
            let employer = self.employers.as_ref().map(|employers| employers.of(doc));
            self.scores[docs.offset(doc)] = employer.unwrap_or_default();
        }
        for group in &mut self.groups {
            group.find(docs);
        }
        docs.retain_by(|place, doc| {
            let groups = self.groups.iter();
            let most = groups.map(|group| group.factor * group.most(place)).sum::<u64>();
            counts(doc, self.scores[place] + most)
        });
        for group in &mut self.groups {
            group.find_adjacent(docs);
            for doc in docs.docs() {
                let place = docs.offset(doc);
                self.scores[place] += group.factor * group.worth[place].value();
            }
        }
        &self.scores
    }
}

/// How well an alternative holds in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Degree {
    Whole,
    Adjacent,
    Within,
    None,
}

/// Degrees, the best first.
pub(super) const DEGREES: [Degree; 4] = [Degree::Whole, Degree::Adjacent, Degree::Within, Degree::None];

/// The documents of a window by how well the one alternative that counts holds in them: a set for each score rather than a
/// score for each document.
pub(super) struct Degrees<'a> {
    factor: u64,
    alternative: &'a mut Alternative,
    /// Those in which it holds, and whose degree has not been told yet.
    held: Window,
    /// Those in which it does not.
    others: Window,
}

impl Degrees<'_> {
    /// The score of documents of the degree.
    pub(super) fn score(&self, degree: Degree) -> u64 {
        let tier = match degree {
            Degree::Whole => 3,
            Degree::Adjacent => 2,
            Degree::Within => 1,
            Degree::None => return 0,
        };
        let mut worth = Worth::default();
        worth.add(tier);
        self.factor * worth.value()
    }

    /// The documents of the degree; to be asked of one after the other of [`DEGREES`]. A document of which `counts` denies
    /// that it counts with such a score may be left out, of this degree and of those behind it.
    pub(super) fn take(&mut self, degree: Degree, counts: impl FnMut(DocId) -> bool) -> Window {
        let mut found = match degree {
            Degree::None => return self.others.clone(),
            _ => self.held.clone(),
        };
        match (
            degree,
            &mut self.alternative.whole,
            &mut self.alternative.adjacent,
        ) {
            (Degree::Whole, None, _) => found.clear(),
            (Degree::Whole, Some(whole), _) => whole.retain(&mut found),
            (Degree::Adjacent, _, Some(adjacent)) => {
                // Which words are adjacent may be dear to find.
                if adjacent.looks_at_positions() {
                    found.retain(counts);
                }
                adjacent.retain(&mut found);
            }
            // What has no such degree has it where it holds.
            _ => {}
        }
        self.held.subtract(&found);
        found
    }
}

impl Worth {
    fn add(&mut self, tier: u8) {
        self.tier = self.tier.max(tier);
        self.alternatives = self.alternatives.saturating_add(1).min(MOST_ALTERNATIVES);
    }

    fn value(self) -> u64 {
        match self.alternatives {
            0 => 0,
            found => u64::from(self.tier - 1) * (u64::from(MOST_ALTERNATIVES) + 1) + u64::from(found),
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
                    holds: if implies(filter, &group.fields, whole.as_ref(), holds) {
                        None
                    } else {
                        Some(docs(holds)?)
                    },
                    adjacent: adjacent.as_ref().map(docs).transpose()?,
                    whole: whole.as_ref().map(docs).transpose()?,
                    within: Window::around(0),
                })
            },
        );
        Ok(Self {
            factor: group.weight.factor(),
            alternatives: alternatives.collect::<tantivy::Result<_>>()?,
            worth: Vec::new(),
        })
    }

    /// Finds what holds in the documents, and what is a whole value of theirs.
    fn find(&mut self, docs: &Window) {
        self.worth.resize(WINDOW as usize, Worth::default());
        for doc in docs.docs() {
            self.worth[docs.offset(doc)] = Worth::default();
        }
        for alternative in &mut self.alternatives {
            alternative.within = docs.clone();
            let within = &mut alternative.within;
            if let Some(holds) = &mut alternative.holds {
                holds.retain(within);
            }
            if let Some(whole) = &mut alternative.whole
                && !within.is_empty()
            {
                let mut found = within.clone();
                whole.retain(&mut found);
                within.subtract(&found);
                for doc in found.docs() {
                    self.worth[docs.offset(doc)].add(3);
                }
            }
            let tier = if alternative.adjacent.is_some() { 1 } else { 2 };
            for doc in within.docs() {
                self.worth[docs.offset(doc)].add(tier);
            }
        }
    }

    /// The most that it can be worth in a document, by what [`Group::find`] has found.
    fn most(&self, place: usize) -> u64 {
        let found = self.worth[place];
        let most = Worth {
            tier: found.tier.max(2),
            ..found
        };
        most.value()
    }

    /// Finds where words are adjacent in the documents, which are those of [`Group::find`] or some of them.
    fn find_adjacent(&mut self, docs: &Window) {
        for alternative in &mut self.alternatives {
            let Some(adjacent) = &mut alternative.adjacent else {
                continue;
            };
            let within = &mut alternative.within;
            within.intersect(docs);
            within.retain_by(|place, _| self.worth[place].tier < 2);
            if within.is_empty() {
                continue;
            }
            adjacent.retain(within);
            for doc in within.docs() {
                self.worth[docs.offset(doc)].tier = 2;
            }
        }
    }
}

/// Whether a document that meets the filter has the alternative in those fields, seen from the filter's form alone: the
/// one alternative of a filter need not be looked for again in what the filter let through.
fn implies(filter: &Condition, searched: &[TextField], whole: Option<&InValue>, holds: &InValue) -> bool {
    match filter {
        Condition::All(parts) => parts.iter().any(|part| implies(part, searched, whole, holds)),
        Condition::Text { fields, expression } => {
            let is_of_it = match expression {
                // What is the whole value holds.
                InValue::Any(parts) => parts.iter().all(|part| part == holds || Some(part) == whole),
                InValue::All(parts) if parts.len() == 1 => parts[0] == *holds,
                expression => expression == holds,
            };
            is_of_it && fields.iter().all(|field| searched.contains(field))
        }
        _ => false,
    }
}
