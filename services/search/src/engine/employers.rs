//! What a search for people asks of their companies.
//!
//! A person's document has nothing of its company but the company's number; what is asked of the company is asked of
//! the companies, once for a search, and becomes a set of numbers. It is a set of bits, since numbers are given one
//! after the other. A segment of people finds those who work there by the numbers as terms where they are few, else by
//! its column of numbers.

use std::ops::ControlFlow;
use std::rc::Rc;

use tantivy::columnar::Column;
use tantivy::index::SegmentReader;
use tantivy::{DocId, Searcher, TERMINATED};

use super::deadline::Deadline;
use super::docs::{Docs, retain_by_column};
use super::schema::{COMPANY, Fields};
use super::score::Scorer;
use super::segment::Segment;
use super::window::Window;
use crate::plan::{Condition, Kind, Plan, RankGroup, Ranking, Subject};

/// Companies that are remembered one by one, to be looked up as terms.
const FEW: usize = 4096;

/// Companies whose people are looked for in a segment cost what so many of its documents do.
const DOCS_A_LOOK: u64 = 300;

static EVERYTHING: Condition = Condition::Everything;

/// The answers to what a plan asks of people's companies.
#[derive(Default)]
pub(super) struct Employers<'a> {
    answers: Vec<(&'a Condition, Rc<Numbers>)>,
    /// How well each company meets the words of the query, by its number; none if none of them is about companies.
    scores: Option<Rc<Vec<u64>>>,
}

/// Numbers of companies.
#[derive(Default)]
pub(super) struct Numbers {
    bits: Vec<u64>,
    /// All of them, if they are at most [`FEW`].
    few: Vec<u64>,
    count: u64,
}

impl<'a> Employers<'a> {
    /// Asks the companies all that the plan asks of people's.
    pub(super) fn ask(
        companies: &Searcher,
        fields: &Fields,
        plan: &'a Plan,
        deadline: &Rc<Deadline>,
    ) -> tantivy::Result<Self> {
        let mut employers = Self::default();
        if plan.kind == Kind::Company {
            return Ok(employers);
        }
        let asking = Asking {
            companies,
            fields,
            deadline,
        };
        let ranking = of_employers(&plan.ranking);
        if !ranking.groups.is_empty() {
            // All who match work at a company that meets this.
            let needed = needed(&plan.filter).unwrap_or(&EVERYTHING);
            let mut scores = Vec::new();
            let numbers = asking.numbers(needed, &ranking, |number, score| {
                set(&mut scores, number, score);
            })?;
            employers.answers.push((needed, Rc::new(numbers)));
            employers.scores = Some(Rc::new(scores));
        }
        for condition in std::iter::once(&plan.filter).chain(&plan.own_place) {
            employers.ask_all(&asking, condition)?;
        }
        Ok(employers)
    }

    fn ask_all(&mut self, asking: &Asking<'_>, condition: &'a Condition) -> tantivy::Result<()> {
        match condition {
            Condition::Employer(asked) if self.answer(asked).is_none() => {
                let numbers = asking.numbers(asked, &Ranking::default(), |_, _| {})?;
                self.answers.push((asked, Rc::new(numbers)));
            }
            Condition::All(parts) | Condition::Any(parts) => {
                for part in parts {
                    self.ask_all(asking, part)?;
                }
            }
            Condition::Not(part) => self.ask_all(asking, part)?,
            _ => {}
        }
        Ok(())
    }

    /// The companies that meet a condition that the plan asks of people's.
    pub(super) fn answer(&self, asked: &Condition) -> Option<&Rc<Numbers>> {
        self.answers
            .iter()
            .find(|(condition, _)| std::ptr::eq(*condition, asked))
            .map(|(_, numbers)| numbers)
    }

    pub(super) fn scores(&self) -> Option<&Rc<Vec<u64>>> {
        self.scores.as_ref()
    }
}

/// The groups that are about people's companies, as the companies are asked them.
fn of_employers(ranking: &Ranking) -> Ranking {
    let groups = ranking.groups.iter();
    let groups = groups.filter(|group| group.of == Subject::Employer);
    let groups = groups.map(|group| RankGroup {
        of: Subject::Record,
        ..group.clone()
    });
    Ranking {
        groups: groups.collect(),
    }
}

/// What the companies of all people that meet the filter meet, seen from the filter's form alone.
fn needed(filter: &Condition) -> Option<&Condition> {
    match filter {
        Condition::Employer(asked) => Some(asked),
        Condition::All(parts) => parts.iter().find_map(needed),
        _ => None,
    }
}

/// The companies, asked.
struct Asking<'a> {
    companies: &'a Searcher,
    fields: &'a Fields,
    deadline: &'a Rc<Deadline>,
}

impl Asking<'_> {
    /// The numbers of the companies that meet the condition; each is told with its score.
    fn numbers(
        &self,
        condition: &Condition,
        ranking: &Ranking,
        mut tell: impl FnMut(u64, u64),
    ) -> tantivy::Result<Numbers> {
        let none = Employers::default();
        let mut numbers = Numbers::default();
        for reader in self.companies.segment_readers() {
            let segment = Segment {
                reader,
                fields: self.fields,
                kind: Kind::Company,
                employers: &none,
                deadline: Rc::clone(self.deadline),
            };
            let mut docs = segment.docs(condition)?;
            let column = column(reader)?;
            let mut scorer = Scorer::new(&segment, ranking, condition)?;
            segment.windows(&mut docs, |matching| {
                let of_window = (!ranking.groups.is_empty()).then(|| scorer.score(matching));
                for doc in matching.docs() {
                    let number = number(&column, doc);
                    numbers.add(number);
                    if let Some(scores) = of_window {
                        tell(number, scores[matching.offset(doc)]);
                    }
                }
                ControlFlow::Continue(())
            });
        }
        Ok(numbers)
    }
}

/// The column of companies' numbers; 0 where there is none.
pub(super) fn column(reader: &SegmentReader) -> tantivy::Result<Column<u64>> {
    reader.fast_fields().u64(COMPANY)
}

fn number(column: &Column<u64>, doc: DocId) -> u64 {
    column.first(doc).unwrap_or_default()
}

/// Puts a value where a list of them has that number, which it grows to.
fn set(values: &mut Vec<u64>, number: u64, value: u64) {
    let Ok(index) = usize::try_from(number) else {
        return;
    };
    if index >= values.len() {
        // By halves, so that growing costs little, and zeroed, so that what is not touched costs nothing.
        let mut grown = vec![0; (index + 1).next_power_of_two()];
        grown[..values.len()].copy_from_slice(values);
        *values = grown;
    }
    values[index] = value;
}

impl Numbers {
    fn add(&mut self, number: u64) {
        // Nobody works at a company without a number.
        if number == 0 {
            return;
        }
        let word = self.word(number);
        set(&mut self.bits, number / 64, word | 1 << (number % 64));
        self.count += 1;
        if self.count <= FEW as u64 {
            self.few.push(number);
        } else {
            self.few.clear();
        }
    }

    fn word(&self, number: u64) -> u64 {
        let index = usize::try_from(number / 64).ok();
        index
            .and_then(|index| self.bits.get(index))
            .copied()
            .unwrap_or_default()
    }

    fn contains(&self, number: u64) -> bool {
        self.word(number) >> (number % 64) & 1 == 1
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The numbers, if looking for each of them costs less than looking at so many documents.
    pub(super) fn to_look_up(&self, docs: DocId) -> Option<&[u64]> {
        let is_less = self.count <= FEW as u64 && self.count * DOCS_A_LOOK < u64::from(docs);
        is_less.then_some(&self.few)
    }
}

/// The people who work at one of these companies, found by their column.
pub(super) struct EmployerDocs {
    column: Column<u64>,
    max_doc: DocId,
    numbers: Rc<Numbers>,
    read: Vec<u64>,
}

impl EmployerDocs {
    pub(super) fn open(reader: &SegmentReader, numbers: &Rc<Numbers>) -> tantivy::Result<Self> {
        Ok(Self {
            column: column(reader)?,
            max_doc: reader.max_doc(),
            numbers: Rc::clone(numbers),
            read: Vec::new(),
        })
    }
}

impl Docs for EmployerDocs {
    fn next(&mut self, from: DocId) -> DocId {
        if from < self.max_doc { from } else { TERMINATED }
    }

    fn fill(&mut self, window: &mut Window) {
        let docs = window.base..window.end().min(self.max_doc);
        self.read.clear();
        self.read.resize(docs.len(), 0);
        // Every document has a number: its place among the values is its own.
        self.column
            .values
            .get_range(u64::from(docs.start), &mut self.read);
        for (doc, number) in docs.zip(&self.read) {
            if self.numbers.contains(*number) {
                window.insert(doc);
            }
        }
    }

    fn retain(&mut self, window: &mut Window) {
        retain_by_column(self, window, |docs, doc| {
            docs.numbers.contains(number(&docs.column, doc))
        });
    }

    fn cost(&self) -> u64 {
        u64::from(self.max_doc)
    }

    fn price(&self) -> u64 {
        2
    }
}

/// What their companies add to people's scores.
pub(super) struct EmployerScores {
    column: Column<u64>,
    scores: Rc<Vec<u64>>,
}

impl EmployerScores {
    pub(super) fn open(reader: &SegmentReader, scores: &Rc<Vec<u64>>) -> tantivy::Result<Self> {
        Ok(Self {
            column: column(reader)?,
            scores: Rc::clone(scores),
        })
    }

    pub(super) fn of(&self, doc: DocId) -> u64 {
        let index = usize::try_from(number(&self.column, doc)).ok();
        index
            .and_then(|index| self.scores.get(index))
            .copied()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_added() {
        let mut numbers = Numbers::default();
        assert!(numbers.is_empty() && !numbers.contains(0) && !numbers.contains(u64::MAX));
        for number in [0, 1, 63, 64, 1_000_000] {
            numbers.add(number);
        }
        assert_eq!(numbers.count, 4);
        assert!(
            [1, 63, 64, 1_000_000]
                .into_iter()
                .all(|number| numbers.contains(number))
        );
        assert!(
            [0, 2, 65, 1_000_001]
                .into_iter()
                .all(|number| !numbers.contains(number))
        );
        assert_eq!(numbers.to_look_up(DocId::MAX), Some(&[1, 63, 64, 1_000_000][..]));
        assert_eq!(numbers.to_look_up(10), None);
        (100..).take(FEW).for_each(|number| numbers.add(number));
        assert_eq!(numbers.to_look_up(DocId::MAX), None);
    }
}
