//! What a search asks for, in the engine's terms and in no engine's words.
//!
//! The planner ([`crate::planner`]) turns a `SearchQuery` into a [`Plan`]; an [`Engine`] answers it. Text has been
//! folded, words stemmed, places resolved, numbers put into their international form by then, by the same
//! normalisers that made the [`crate::document::Document`]s: an engine compares terms, positions and numbers, and
//! knows nothing of languages, places or telephones.
//!
//! # Values
//! A text field of a record is a list of values (its business types, its people's titles). "All words in one value"
//! is the rule everywhere, so a condition on text is an expression ([`InValue`]) that has to hold within ONE value.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::Bytes;
use uuid::Uuid;

/// Companies or people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Companies.
    Company,
    /// People.
    Person,
}

/// A text field: a list of values, each a sequence of slots, each slot holding the terms that stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextField {
    /// The company's name without its legal forms. One value.
    CompanyName,
    /// The company's name with all its words. One value.
    CompanyFullName,
    /// The company's business types. Many values.
    BusinessTypes,
    /// The company's tags. Many values.
    Tags,
    /// The company's description. One value.
    Description,
    /// A person's title (one value); for a company, the different titles of its people (many values).
    JobTitles,
    /// The record's own place, as terms of [`crate::place`]. For a person without one, the company's. One value.
    Place,
    /// Companies only: the different places of its people. Many values.
    PeoplePlaces,
}

/// A field of terms that are compared as a whole, without order or position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyField {
    /// Terms of [`crate::host`] for the company's website: hosts, labels, paths.
    Website,
    /// The company's registrable domain.
    Domain,
    /// The company's e-mail address, and its domain with a leading `@`.
    BusinessEmail,
    /// Terms of [`crate::phone`] for the company's telephone number.
    Phone,
    /// The company's tags, folded, whole.
    WholeTag,
    /// Flags that hold of the company, see [`Flag`].
    Flag,
}

/// What is either so or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flag {
    /// The company has a website.
    HasWebsite,
}

impl Flag {
    /// The term in [`KeyField::Flag`].
    #[must_use]
    pub const fn term(self) -> &'static str {
        match self {
            Self::HasWebsite => "website",
        }
    }
}

/// A number of a record; it may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NumberField {
    /// When the record was updated: microseconds since 1970, UTC. Never missing.
    InfoUpdatedAt,
    /// The company's day of founding: days since 1970-01-01; where only the year is known, its first day.
    FoundedDate,
    /// The company's number of employees. Companies only.
    EmployeeCount,
}

/// A short text to order by, folded; it may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OrderField {
    /// A company's name, a person's full name. Never missing.
    Name,
    /// A person's job title. People only.
    JobTitle,
    /// The name of a person's company. People only.
    CompanyName,
}

/// A column of texts as a record's source writes them: what suggestions are made of ([`crate::suggest`]), and no search
/// looks at. Many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceField {
    /// The company's business types. Companies only.
    BusinessTypes,
    /// The company's tags. Companies only.
    Tags,
    /// What [`TextField::JobTitles`] was made from.
    JobTitles,
    /// What [`TextField::Place`] and [`TextField::PeoplePlaces`] were made from, as [`crate::place::source_text`] has it.
    Places,
}

/// One place in a text: the terms, any of which may stand there.
pub type Slot = Vec<String>;

/// Slots that follow each other without a gap. Never empty.
pub type Phrase = Vec<Slot>;

/// An expression over the words of one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InValue {
    /// The phrase occurs.
    Phrase(Phrase),
    /// All of them hold. Never empty.
    All(Vec<InValue>),
    /// At least one of them holds. Never empty.
    Any(Vec<InValue>),
}

impl InValue {
    fn words(&self) -> usize {
        match self {
            Self::Phrase(phrase) => phrase.len(),
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::words).sum(),
        }
    }

    /// Whether it holds in the value of these slots.
    #[must_use]
    pub fn holds_in(&self, value: &[Slot]) -> bool {
        match self {
            Self::Phrase(phrase) => value.windows(phrase.len().max(1)).any(|slots| {
                let stands = |(slot, asked): (&Slot, &Slot)| asked.iter().any(|term| slot.contains(term));
                slots.iter().zip(phrase).all(stands)
            }),
            Self::All(parts) => parts.iter().all(|part| part.holds_in(value)),
            Self::Any(parts) => parts.iter().any(|part| part.holds_in(value)),
        }
    }
}

/// A condition on a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Every record.
    Everything,
    /// In one value of one of the fields the expression holds.
    Text {
        /// Where.
        fields: Vec<TextField>,
        /// What has to hold.
        expression: InValue,
    },
    /// The field has one of the terms.
    Key {
        /// Where.
        field: KeyField,
        /// The terms. Never empty.
        any: Vec<String>,
    },
    /// The field has a term that starts with the prefix.
    KeyPrefix {
        /// Where.
        field: KeyField,
        /// First characters. Never empty.
        prefix: String,
    },
    /// The number is there and within the bounds, both included.
    Range {
        /// Which number.
        field: NumberField,
        /// Lowest; none means unbounded.
        from: Option<i64>,
        /// Highest; none means unbounded.
        to: Option<i64>,
    },
    /// The record is one of these. May be empty: then none is.
    Ids(Vec<Uuid>),
    /// All of them hold; if empty, every record.
    All(Vec<Condition>),
    /// At least one of them holds; if empty, no record.
    Any(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// People only: the company they work at is known and meets it.
    Employer(Box<Condition>),
}

/// How well a record meets the words of the query, from the query and the record alone.
///
/// A group stands for one filter. An alternative of it that holds in a record has a tier: 3 if it is a whole value,
/// 2 if its words are adjacent and in order, else 1. A group that nothing of holds in the record is worth 0, else
/// `(best tier - 1) * 101 + (alternatives that hold, at most 100)`. The score is the sum over the groups of
/// `weight * worth`: the tier counts before the number of alternatives, and the weights ([`Weight`]) let names and
/// titles count before types, types before descriptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranking {
    /// One for each filter that ranks.
    pub groups: Vec<RankGroup>,
}

/// What one filter adds to the score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankGroup {
    /// In whose fields its words are looked for.
    pub of: Subject,
    /// How much.
    pub weight: Weight,
    /// Where its words are looked for.
    pub fields: Vec<TextField>,
    /// Its alternatives.
    pub alternatives: Vec<RankAlternative>,
}

/// Whose values count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The record's own.
    Record,
    /// People only: those of the company they work at. Without a company nothing holds.
    Employer,
}

/// An alternative of a filter, in its three degrees. A degree that is none can't be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankAlternative {
    /// It holds at all.
    pub holds: InValue,
    /// Its words stand together and in order. None if that is the same as `holds`: then holding is enough.
    pub adjacent: Option<InValue>,
    /// It is the whole value.
    pub whole: Option<InValue>,
}

/// Weight of a filter's worth; each is larger than all that the lower ones can add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Descriptions.
    Description,
    /// Business types and tags.
    Types,
    /// Names and job titles.
    NameOrTitle,
}

impl Weight {
    /// The factor.
    #[must_use]
    pub const fn factor(self) -> u64 {
        match self {
            Self::Description => 1,
            Self::Types => 1 << 10,
            Self::NameOrTitle => 1 << 20,
        }
    }
}

/// What records are ordered by. Ties go by id, ascending; a record without the value comes last in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The value.
    pub by: OrderBy,
    /// Largest first.
    pub descending: bool,
}

/// A value to order by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderBy {
    /// The score of [`Plan::ranking`]; always descending.
    Relevance,
    /// A text, by its bytes.
    Text(OrderField),
    /// A number.
    Number(NumberField),
}

/// Where a record stands in an order: its value, then its id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderPosition {
    /// Its value.
    pub value: OrderValue,
    /// Its id.
    pub id: Uuid,
}

/// A value that a record is ordered by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OrderValue {
    /// It has none.
    Missing,
    /// Score.
    Score(u64),
    /// Folded text.
    Text(String),
    /// Number.
    Number(i64),
}

/// Which records of the whole result to return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Only those behind this position, none for all.
    pub after: Option<OrderPosition>,
    /// So many of them are left out.
    pub skip: usize,
    /// At most so many are returned.
    pub limit: usize,
}

/// A search, ready to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is searched.
    pub kind: Kind,
    /// What a record must meet.
    pub filter: Condition,
    /// Companies with a location filter: what the own place must meet, to tell it from a match through people.
    pub own_place: Option<Condition>,
    /// The score; empty unless ordered by it.
    pub ranking: Ranking,
    /// The order.
    pub order: Order,
    /// The page.
    pub window: Window,
}

impl Condition {
    fn words(&self) -> usize {
        match self {
            Self::Text { fields, expression } => fields.len() * expression.words(),
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::words).sum(),
            Self::Not(part) | Self::Employer(part) => part.words(),
            Self::Everything
            | Self::Key { .. }
            | Self::KeyPrefix { .. }
            | Self::Range { .. }
            | Self::Ids(_) => 0,
        }
    }
}

impl Plan {
    /// Words that it looks for in texts: about what it costs, where it costs much.
    #[must_use]
    pub fn words(&self) -> usize {
        self.filter.words()
    }
}

/// When a search has to give up: its time is over, or nobody waits for its answer any more. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    deadline: Option<Instant>,
    abandoned: Arc<AtomicBool>,
}

/// Somebody waits for the answer, for as long as this is there.
#[derive(Debug)]
pub struct Waiting(Arc<AtomicBool>);

impl Stop {
    /// Never.
    #[must_use]
    pub fn never() -> Self {
        Self::default()
    }

    /// At this time.
    #[must_use]
    pub fn at(deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..Self::default()
        }
    }

    /// Once this is dropped, the search may give up.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        Waiting(Arc::clone(&self.abandoned))
    }

    /// Whether to give up now.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed) || self.deadline.is_some_and(|at| Instant::now() >= at)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Answer to a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hits {
    /// All records that meet the filter, exactly.
    pub total: u64,
    /// The window's records, in order.
    pub hits: Vec<Hit>,
    /// Whether there are records behind the last of them.
    pub more: bool,
}

/// A record found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Where it stands.
    pub position: OrderPosition,
    /// Its [`crate::document::Document::row`].
    pub row: Bytes,
    /// Whether [`Plan::own_place`] holds; true if there is none.
    pub own_place: bool,
}

/// Why a plan was not answered.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It had to stop.
    #[error("the search took longer than it may")]
    DeadlineExceeded,
    /// The index can't be read.
    #[error("the index can't be read")]
    Index(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Answers plans. Implementations: Tantivy ([`crate::engine`]), and a linear scan in the tests as its oracle.
pub trait Engine: Send + Sync + 'static {
    /// Answers a plan from one consistent state of the index. Blocks.
    fn search(&self, plan: &Plan, stop: &Stop) -> Result<Hits, EngineError>;
}
