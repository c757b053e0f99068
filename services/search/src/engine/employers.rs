//! What a search for people asks of their companies.
//!
//! A person's document has nothing of its company but the company's number; what is asked of the company is asked of
//! the companies, once for a search, and becomes a set of numbers ([`super::numbers`]). Where the people's own conditions leave
//! few of them, only the companies of those are asked, and those people are not looked for again. Companies with one of a
//! set's numbers are found by a table ([`super::company_docs`]) where there is one; people, and other companies, by the numbers
//! as terms where they are few, else by the column of numbers.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::index::{SegmentId, SegmentReader};
use tantivy::{DocId, TERMINATED};

use super::bits::ListDocs;
use super::deadline::Deadline;
use super::docs::{BoxDocs, Docs, retain_by_column};
use super::kept::Keeping;
use super::numbers::{Numbers, Scores, column, number};
use super::schema::Fields;
use super::score::Scorer;
use super::search::Searchers;
use super::segment::Segment;
use super::window::Window;
use crate::plan::{Condition, Kind, Plan, RankGroup, Ranking, Subject};

/// To ask a company costs as much as so many looks at people, which mostly combine sets.
const LOOKS_A_COMPANY: u64 = 4;

/// To ask fewer companies than these, no one looks at the people first.
const WORTH_ASKING: u64 = 256;

static EVERYTHING: Condition = Condition::Everything;

/// The answers to what a plan asks of people's companies.
#[derive(Default)]
pub(super) struct Employers<'a> {
    answers: Vec<(&'a Condition, Arc<Numbers>)>,
    /// How well each company meets the words of the query; none if none of them is about companies.
    scores: Option<Arc<Scores>>,
    /// The people who meet the plan's own conditions, if they were looked for.
    people: Option<People>,
}

/// People who meet a plan's own conditions, by their segments; in each by their documents.
type People = HashMap<SegmentId, Vec<Person>>;

struct Person {
    doc: DocId,
    /// Number of the company.
    company: u64,
}

/// The people who meet a plan's own conditions, and their companies.
struct OfThePeople {
    people: People,
    companies: Arc<Numbers>,
}

impl<'a> Employers<'a> {
    /// Asks the companies all that the plan asks of people's.
    pub(super) fn ask(
        searchers: &'a Searchers,
        fields: &'a Fields,
        plan: &'a Plan,
        kept: Keeping<'a>,
        deadline: &'a Arc<Deadline>,
    ) -> tantivy::Result<Self> {
        let mut employers = Self::default();
        if plan.kind == Kind::Company {
            return Ok(employers);
        }
        let asking = Asking {
            searchers,
            fields,
            plan,
            kept,
            deadline,
            nothing: Employers::default(),
            of_the_people: OnceCell::new(),
        };
        let ranking = of_employers(&plan.ranking);
        if !ranking.groups.is_empty() {
            // All who match work at a company that meets this.
            let needed = needed(&plan.filter).unwrap_or(&EVERYTHING);
            let (numbers, scores) = asking.ask(needed, &ranking)?;
            employers.answers.push((needed, Arc::new(numbers)));
            employers.scores = Some(Arc::new(scores));
        }
        for condition in std::iter::once(&plan.filter).chain(&plan.own_place) {
            employers.ask_all(&asking, condition)?;
        }
        let found = asking.of_the_people.into_inner().flatten();
        employers.people = found.map(|found| found.people);
        Ok(employers)
    }

    /// The people of a segment who meet the filter of the plan that has asked.
    pub(super) fn people(&self, segment: &Segment<'_>, filter: &Condition) -> tantivy::Result<BoxDocs> {
        let known = self.people.as_ref();
        let Some(own) = known.and_then(|people| people.get(&segment.reader.segment_id())) else {
            return segment.docs(filter);
        };
        let mut companies = Vec::new();
        let mut parts = Vec::new();
        for condition in asked_of_employers(filter) {
            match condition {
                Condition::Employer(asked) => companies.push(self.answer(asked)),
                condition => parts.push(segment.docs(condition)?),
            }
        }
        let is_there = |person: &&Person| {
            let mut companies = companies.iter();
            companies.all(|numbers| numbers.is_some_and(|numbers| numbers.contains(person.company)))
        };
        let docs: Arc<[DocId]> = own.iter().filter(is_there).map(|person| person.doc).collect();
        parts.push(Box::new(ListDocs::new(docs)));
        Ok(segment.all(parts))
    }

    fn ask_all(&mut self, asking: &Asking<'_>, condition: &'a Condition) -> tantivy::Result<()> {
        match condition {
            Condition::Employer(asked) if self.answer(asked).is_none() => {
                let (numbers, _) = asking.ask(asked, &Ranking::default())?;
                self.answers.push((asked, Arc::new(numbers)));
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

    /// Of the companies of those people who meet the plan's own conditions, the ones that meet this one, which the plan
    /// asks of people's.
    pub(super) fn answer(&self, asked: &Condition) -> Option<&Arc<Numbers>> {
        self.answers
            .iter()
            .find(|(condition, _)| std::ptr::eq(*condition, asked))
            .map(|(_, numbers)| numbers)
    }

    pub(super) fn scores(&self) -> Option<&Arc<Scores>> {
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

/// What all people that meet the filter meet by themselves, seen from the filter's form alone.
fn own(filter: &Condition) -> Vec<&Condition> {
    match filter {
        Condition::All(parts) => parts.iter().flat_map(own).collect(),
        condition if asks_employers(condition) => Vec::new(),
        condition => vec![condition],
    }
}

/// What is asked of their companies besides [`own`].
fn asked_of_employers(filter: &Condition) -> Vec<&Condition> {
    match filter {
        Condition::All(parts) => parts.iter().flat_map(asked_of_employers).collect(),
        condition if asks_employers(condition) => vec![condition],
        _ => Vec::new(),
    }
}

fn asks_employers(condition: &Condition) -> bool {
    match condition {
        Condition::Employer(_) => true,
        Condition::All(parts) | Condition::Any(parts) => parts.iter().any(asks_employers),
        Condition::Not(part) => asks_employers(part),
        _ => false,
    }
}

/// The companies, asked.
struct Asking<'a> {
    searchers: &'a Searchers,
    fields: &'a Fields,
    plan: &'a Plan,
    kept: Keeping<'a>,
    deadline: &'a Arc<Deadline>,
    /// What is asked of the companies asks nothing of others.
    nothing: Employers<'a>,
    /// The people who meet the plan's own conditions, once they have been looked for; none if they are too many.
    of_the_people: OnceCell<Option<OfThePeople>>,
}

impl<'a> Asking<'a> {
    fn segment(&'a self, kind: Kind, reader: &'a SegmentReader) -> Segment<'a> {
        Segment {
            reader,
            fields: self.fields,
            kind,
            employers: &self.nothing,
            kept: self.kept,
            deadline: Arc::clone(self.deadline),
        }
    }

    /// The numbers of the companies that meet the condition, with their scores.
    fn ask(&'a self, condition: &Condition, ranking: &Ranking) -> tantivy::Result<(Numbers, Scores)> {
        let mut parts = Vec::new();
        for reader in self.searchers.companies.segment_readers() {
            let segment = self.segment(Kind::Company, reader);
            let docs = segment.docs(condition)?;
            parts.push((segment, docs));
        }
        let mut numbers = Numbers::with_room(&self.searchers.companies)?;
        let mut scores = Scores::Few(Vec::new());
        let cost = parts.iter().map(|(_, docs)| docs.cost()).sum::<u64>();
        let among = if cost > WORTH_ASKING {
            self.of_the_people(cost)?
        } else {
            None
        };
        for (segment, docs) in parts {
            let mut docs = match &among {
                Some(among) => segment.all(vec![segment.of_companies(among, docs.cost())?, docs]),
                None => docs,
            };
            let column = column(segment.reader)?;
            let mut ranker = Scorer::new(&segment, ranking, condition)?;
            segment.windows(0..segment.reader.max_doc(), &mut docs, |matching| {
                let mut all = matching.clone();
                let of_window = (!ranking.groups.is_empty()).then(|| ranker.score(&mut all, |_, _| true));
                for doc in matching.docs() {
                    let number = number(&column, doc);
                    numbers.add(number);
                    if let Some(of_window) = of_window {
                        scores.add(number, of_window[matching.offset(doc)], &numbers);
                    }
                }
                ControlFlow::Continue(())
            });
        }
        numbers.finish();
        scores.finish();
        Ok((numbers, scores))
    }

    /// The companies of those people who meet the plan's own conditions, if they are so few that finding them spares much
    /// of what the companies would cost.
    fn of_the_people(&'a self, companies: u64) -> tantivy::Result<Option<Arc<Numbers>>> {
        if self.of_the_people.get().is_none() {
            let found = self.find_of_the_people(companies)?;
            let _ = self.of_the_people.set(found);
        }
        let found = self.of_the_people.get().and_then(Option::as_ref);
        Ok(found.map(|found| Arc::clone(&found.companies)))
    }

    fn find_of_the_people(&'a self, companies: u64) -> tantivy::Result<Option<OfThePeople>> {
        let own = own(&self.plan.filter);
        if own.is_empty() {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for reader in self.searchers.people.segment_readers() {
            let segment = self.segment(Kind::Person, reader);
            let docs = own.iter().map(|condition| segment.docs(condition));
            let docs = segment.all(docs.collect::<tantivy::Result<_>>()?);
            parts.push((segment, docs));
        }
        let looks = parts
            .iter()
            .map(|(_, docs)| docs.cost().saturating_mul(docs.price().max(1)));
        if looks.sum::<u64>() > companies.saturating_mul(LOOKS_A_COMPANY) {
            return Ok(None);
        }
        let most = companies / 2;
        let mut count = 0;
        let mut people = People::new();
        for (segment, docs) in &mut parts {
            let column = column(segment.reader)?;
            let mut found = Vec::new();
            segment.windows(0..segment.reader.max_doc(), docs, |matching| {
                count += u64::from(matching.count());
                if count > most {
                    return ControlFlow::Break(());
                }
                found.extend(matching.docs().map(|doc| Person {
                    doc,
                    company: number(&column, doc),
                }));
                ControlFlow::Continue(())
            });
            if count > most {
                return Ok(None);
            }
            people.insert(segment.reader.segment_id(), found);
        }
        let mut numbers = Numbers::with_room(&self.searchers.companies)?;
        for person in people.values().flatten() {
            numbers.add(person.company);
        }
        numbers.finish();
        Ok(Some(OfThePeople {
            people,
            companies: Arc::new(numbers),
        }))
    }
}

/// The documents with one of these companies' numbers, found by their column.
pub(super) struct EmployerDocs {
    column: Column<u64>,
    max_doc: DocId,
    numbers: Arc<Numbers>,
    read: Vec<u64>,
}

impl EmployerDocs {
    pub(super) fn open(reader: &SegmentReader, numbers: &Arc<Numbers>) -> tantivy::Result<Self> {
        Ok(Self {
            column: column(reader)?,
            max_doc: reader.max_doc(),
            numbers: Arc::clone(numbers),
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
    scores: Arc<Scores>,
}

impl EmployerScores {
    pub(super) fn open(reader: &SegmentReader, scores: &Arc<Scores>) -> tantivy::Result<Self> {
        Ok(Self {
            column: column(reader)?,
            scores: Arc::clone(scores),
        })
    }

    pub(super) fn of(&self, doc: DocId) -> u64 {
        self.scores.of(number(&self.column, doc))
    }
}
