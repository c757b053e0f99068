//! Vocabularies, made from the texts of all records.

use std::collections::HashMap;
use std::sync::Arc;

use proto::alternatives::{composed, is_searchable};
use proto::search::v1::Suggestion;

use super::phrases::Phrases;
use super::places::Places;
use super::vocabulary::{Keys, OrderedBy, Value, Vocabulary};
use super::{MAX_VALUE_CHARS, Vocabularies};
use crate::engine::{Snapshot, Sources};
use crate::plan::{EngineError, Kind, SourceField, Stop};
use crate::text::slots::whole_tag;
use crate::text::titles::{title_as_written, title_words};
use crate::text::words::{Word, words};
use crate::values::MAX_SLOTS;

/// Makes vocabularies. It remembers what does not change from one making to the next.
#[derive(Debug, Default)]
pub(super) struct Maker {
    places: Places,
}

/// Values that may be suggested, by number, and what of the records' texts is found by their filters.
struct Candidates {
    count: usize,
    /// For each text of the first field: the candidate that it is a spelling of.
    spelled: Vec<Option<u32>>,
    /// For each text: the candidates whose filter finds it.
    finding: Vec<Vec<u32>>,
}

/// Which people a filter finds.
#[derive(Clone, Copy)]
enum People<'a> {
    /// Those who have such a text themselves.
    Themselves,
    /// Those whose company has: how many work at each, by its number.
    AtCompanies(&'a [u32]),
}

/// What was counted.
struct Counts {
    /// Companies that each candidate's filter finds.
    companies: Vec<u32>,
    /// People whom each candidate's filter finds.
    people: Vec<u32>,
    /// Records that have each text of the first field: people if they have it themselves, else companies.
    spellings: Vec<u32>,
}

impl Maker {
    /// The vocabularies of a state of the index at this position. Blocks.
    pub(super) fn make(
        &mut self,
        snapshot: &Snapshot,
        position: i64,
        stop: &Stop,
    ) -> Result<Vocabularies, EngineError> {
        let employees = employees(snapshot, stop)?;
        let at_companies = People::AtCompanies(&employees);
        let make = |fields: &[SourceField], read: Read| {
            let sources = snapshot.sources(fields, stop)?;
            let candidates = (read.candidates)(&sources);
            let counts = count(&sources, &candidates, read.people, stop)?;
            Ok::<_, EngineError>(Vocabulary::of(
                spelled(&sources, &candidates, &counts, &read),
                read.order,
            ))
        };
        let business_types = make(
            &[SourceField::BusinessTypes, SourceField::Tags],
            Read {
                candidates: |sources| phrases(sources, words),
                filter: quoted,
                names: |text| vec![words(text)],
                people: at_companies,
                order: OrderedBy::Companies,
            },
        )?;
        let tags = make(
            &[SourceField::Tags],
            Read {
                candidates: tags,
                filter: str::to_owned,
                names: |text| vec![words(text)],
                people: at_companies,
                order: OrderedBy::Companies,
            },
        )?;
        let job_titles = make(
            &[SourceField::JobTitles],
            Read {
                candidates: |sources| phrases(sources, title_words),
                filter: quoted,
                // Found as it is written, and by what its short forms stand for.
                names: |text| vec![words(text), title_as_written(text)],
                people: People::Themselves,
                order: OrderedBy::People,
            },
        )?;
        let places = self.places(snapshot, stop)?;
        Ok(Vocabularies {
            position,
            places,
            business_types,
            job_titles,
            tags,
        })
    }

    fn places(&mut self, snapshot: &Snapshot, stop: &Stop) -> Result<Vocabulary, EngineError> {
        let sources = snapshot.sources(&[SourceField::Places], stop)?;
        let mut texts = vec![None; sources.texts().len()];
        // Which of two places of one filter is suggested is not to depend on deleted records.
        for kind in [Kind::Company, Kind::Person] {
            sources.each(kind, stop, |record| {
                for text in &record.texts {
                    texts[*text as usize] = Some(sources.texts()[*text as usize].as_str());
                }
            })?;
        }
        let found = self.places.find(&texts);
        let candidates = Candidates {
            count: found.places.len(),
            spelled: Vec::new(),
            finding: found.of_text,
        };
        let counts = count(&sources, &candidates, People::Themselves, stop)?;
        let values = (0..).zip(&found.places).filter_map(|(number, place)| {
            Some(Value {
                suggestion: counts.suggestion(number, &place.naming.shown, place.naming.filter.clone())?,
                keys: Arc::clone(&place.keys),
            })
        });
        Ok(Vocabulary::of(values.collect(), OrderedBy::Companies))
    }
}

/// How a vocabulary is read from its source fields.
struct Read<'a> {
    candidates: fn(&Sources<'_>) -> Candidates,
    /// The text of the filter that finds a value.
    filter: fn(&str) -> String,
    /// What a value is called.
    names: fn(&str) -> Vec<Vec<Word>>,
    people: People<'a>,
    order: OrderedBy,
}

/// How many people work at each company, by its number.
fn employees(snapshot: &Snapshot, stop: &Stop) -> Result<Vec<u32>, EngineError> {
    let mut employees = Vec::new();
    snapshot.sources(&[], stop)?.each(Kind::Person, stop, |person| {
        let Ok(company) = usize::try_from(person.company) else {
            return;
        };
        // Numbers are given one after the other, so that the last is about as high as there are companies.
        if employees.len() <= company {
            employees.resize(company + 1, 0);
        }
        employees[company] += 1;
    })?;
    // Nobody works at a company without a number.
    if let Some(without) = employees.first_mut() {
        *without = 0;
    }
    Ok(employees)
}

/// Values that are asked for in quotes.
fn phrases(sources: &Sources<'_>, words: fn(&str) -> Vec<Word>) -> Candidates {
    let mut phrases = Phrases::default();
    let texts = sources.texts().iter().map(|text| {
        let mut words = words(text);
        // What a record is found by ends there too.
        words.truncate(MAX_SLOTS);
        words
    });
    let texts = texts.collect::<Vec<_>>();
    let of_first = sources.of_first().iter().zip(&texts);
    let spelled = of_first.map(|(text, words)| can_be_asked_for(text).then(|| phrases.add(words)));
    Candidates {
        spelled: spelled.collect(),
        finding: texts.iter().map(|words| phrases.found_in(words)).collect(),
        count: phrases.len(),
    }
}

/// Values that are asked for as whole tags.
fn tags(sources: &Sources<'_>) -> Candidates {
    let terms = sources
        .texts()
        .iter()
        .map(|text| whole_tag(text))
        .collect::<Vec<_>>();
    let mut numbers = HashMap::new();
    let mut with_term = HashMap::<&str, Vec<u32>>::new();
    let spelled = sources.texts().iter().zip(&terms).map(|(text, terms)| {
        can_be_asked_for(text).then(|| {
            let next = u32::try_from(numbers.len()).expect("the tags of all records fit into memory");
            *numbers.entry(terms).or_insert_with(|| {
                for term in terms {
                    with_term.entry(term).or_default().push(next);
                }
                next
            })
        })
    });
    let spelled = spelled.collect::<Vec<_>>();
    let finding = terms.iter().map(|terms| {
        let with_terms = terms.iter().filter_map(|term| with_term.get(term.as_str()));
        let mut finding = with_terms.flatten().copied().collect::<Vec<_>>();
        finding.sort_unstable();
        finding.dedup();
        finding
    });
    Candidates {
        finding: finding.collect(),
        spelled,
        count: numbers.len(),
    }
}

/// Whether a filter can ask for the value.
fn can_be_asked_for(text: &str) -> bool {
    quoted(text).chars().count() <= MAX_VALUE_CHARS + 2 && is_searchable(text)
}

/// The value in quotes. Quotes within it only separate words, as a space does.
fn quoted(text: &str) -> String {
    format!("\"{}\"", composed(text.trim()).replace('"', " "))
}

/// Counts the records that the candidates' filters find.
fn count(
    sources: &Sources<'_>,
    candidates: &Candidates,
    people: People<'_>,
    stop: &Stop,
) -> Result<Counts, EngineError> {
    let mut counts = Counts {
        companies: vec![0; candidates.count],
        people: vec![0; candidates.count],
        spellings: vec![0; candidates.spelled.len()],
    };
    let mut once = Once::new(candidates);
    sources.each(Kind::Company, stop, |company| {
        let found = once.found(&company.texts);
        for number in found {
            counts.companies[number as usize] += 1;
            if let People::AtCompanies(employees) = people {
                let company = usize::try_from(company.company).ok();
                let employees = company.and_then(|company| employees.get(company));
                counts.people[number as usize] += employees.copied().unwrap_or_default();
            }
        }
        if matches!(people, People::AtCompanies(_)) {
            counts.count_spellings(&company.texts[..company.of_first]);
        }
    })?;
    if matches!(people, People::Themselves) {
        sources.each(Kind::Person, stop, |person| {
            for number in once.found(&person.texts) {
                counts.people[number as usize] += 1;
            }
            counts.count_spellings(&person.texts[..person.of_first]);
        })?;
    }
    Ok(counts)
}

/// Finds each candidate once for a record, though several of its texts are found by it.
struct Once<'a> {
    candidates: &'a Candidates,
    /// The number of the last record for which each was found.
    last: Vec<u32>,
    record: u32,
}

impl<'a> Once<'a> {
    fn new(candidates: &'a Candidates) -> Self {
        Self {
            candidates,
            last: vec![0; candidates.count],
            record: 0,
        }
    }

    fn found(&mut self, texts: &[u32]) -> impl Iterator<Item = u32> {
        self.record += 1;
        let (candidates, record, last) = (self.candidates, self.record, &mut self.last);
        let found = texts
            .iter()
            .flat_map(move |text| &candidates.finding[*text as usize]);
        found
            .copied()
            .filter(move |number| std::mem::replace(&mut last[*number as usize], record) != record)
    }
}

impl Counts {
    fn count_spellings(&mut self, texts: &[u32]) {
        for text in texts {
            // Places have none.
            if let Some(count) = self.spellings.get_mut(*text as usize) {
                *count += 1;
            }
        }
    }

    /// The candidate as it is suggested; none if nothing is found by it.
    fn suggestion(&self, number: usize, value: &str, filter: String) -> Option<Suggestion> {
        let (companies, people) = (self.companies[number], self.people[number]);
        (companies > 0 || people > 0).then(|| Suggestion {
            value: value.to_owned(),
            filter,
            companies: companies.into(),
            people: people.into(),
        })
    }
}

/// The candidates, spelled as most records do; of two spellings that as many have, the first by its bytes.
fn spelled(sources: &Sources<'_>, candidates: &Candidates, counts: &Counts, read: &Read<'_>) -> Vec<Value> {
    let mut spellings = vec![Vec::new(); candidates.count];
    for ((text, candidate), count) in sources
        .of_first()
        .iter()
        .zip(&candidates.spelled)
        .zip(&counts.spellings)
    {
        if let Some(candidate) = candidate
            && *count > 0
        {
            spellings[*candidate as usize].push((std::cmp::Reverse(*count), text.trim()));
        }
    }
    let values = spellings.iter().enumerate().filter_map(|(number, spellings)| {
        let (_, value) = spellings.iter().min()?;
        let mut keys = Keys::default();
        for name in spellings.iter().flat_map(|(_, text)| (read.names)(text)) {
            keys.add(&name);
        }
        Some(Value {
            suggestion: counts.suggestion(number, value, (read.filter)(value))?,
            keys: Arc::new(keys),
        })
    });
    values.collect()
}
