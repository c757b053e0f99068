//! The texts of filters, from the rules to a plan, and records with the same texts.
//!
//! - Nothing makes the rules, the planner or what makes documents panic, and what they make is bounded.
//! - A filter that is accepted asks for something: its plan is neither everything nor nothing, and is well-formed as
//!   [`search::plan`] says. It is the same however the text is normalised by Unicode.
//! - Both sides meet: a record with this very text is found by it, and dropped by its exclusion.
//!
//! An input is lines, each a filter: a letter for its name and the text after it.

#[path = "../../services/search/tests/engine/reference.rs"]
mod reference;

use chrono::{DateTime, NaiveDate, Utc};
use proto::alternatives::{Separator, composed, split};
use proto::host::WebsiteTerm;
use proto::search::v1::SearchQuery;
use proto::search_query::{RecordKind, check, is_blank};
use search::document::Change;
use search::documents::Documents;
use search::plan::{Condition, Engine as _, InValue, Kind, Plan, RankAlternative, Stop, Window};
use search::planner::{self, PlanContext};
use search::record::{Company, CompanyNumber, Employee, Person, PlaceText};
use unicode_normalization::UnicodeNormalization as _;
use uuid::Uuid;

use self::reference::Reference;

/// Puts a text into a query.
type Ask = fn(&mut SearchQuery, &str);

/// Gives a text to a record.
type Have = fn(&mut Records, &str);

/// A filter.
struct Filter {
    letter: char,
    ask: Ask,
    have: Have,
    /// How its text falls into alternatives.
    separator: Separator,
}

/// Every filter that is a text.
const FILTERS: [Filter; 11] = [
    Filter {
        letter: 'b',
        ask: |query, text| query.business_type = text.into(),
        have: |records, text| records.company.business_types.push(text.into()),
        separator: Separator::CommaOutsideQuotes,
    },
    Filter {
        letter: 'l',
        ask: |query, text| query.location = text.into(),
        have: |records, text| {
            records.company.place.city = Some(text.into());
            records.person.place.city = Some(text.into());
        },
        separator: Separator::Semicolon,
    },
    Filter {
        letter: 'w',
        ask: |query, text| query.website = text.into(),
        have: |records, text| records.company.website = Some(text.into()),
        separator: Separator::Comma,
    },
    Filter {
        letter: 'n',
        ask: |query, text| query.company_name = text.into(),
        have: |records, text| text.clone_into(&mut records.company.name),
        separator: Separator::CommaOutsideQuotes,
    },
    Filter {
        letter: 'd',
        ask: |query, text| query.company_domain = text.into(),
        have: |records, text| records.company.domain = Some(text.into()),
        separator: Separator::Comma,
    },
    Filter {
        letter: 'e',
        ask: |query, text| query.business_email = text.into(),
        have: |records, text| records.company.business_email = Some(text.into()),
        separator: Separator::Comma,
    },
    Filter {
        letter: 'p',
        ask: |query, text| query.business_phone = text.into(),
        have: |records, text| records.company.business_phone = Some(text.into()),
        separator: Separator::Comma,
    },
    Filter {
        letter: 'k',
        ask: |query, text| query.description_keywords = text.into(),
        have: |records, text| records.company.description = Some(text.into()),
        separator: Separator::CommaOutsideQuotes,
    },
    Filter {
        letter: 'j',
        ask: |query, text| query.job_titles.push(text.into()),
        have: |records, text| records.person.job_title = Some(text.into()),
        separator: Separator::CommaOutsideQuotes,
    },
    Filter {
        letter: 't',
        ask: |query, text| query.search_tags.push(text.into()),
        have: |records, text| records.company.tags.push(text.into()),
        separator: Separator::CommaOutsideQuotes,
    },
    Filter {
        letter: EXCLUSION,
        ask: |query, text| query.exclude_keywords = text.into(),
        have: |records, text| records.person.job_title = Some(text.into()),
        separator: Separator::CommaOutsideQuotes,
    },
];

const EXCLUSION: char = 'x';

/// Most that all problems of a query are: every alternative of every text, every item of every list.
const MAX_VIOLATIONS: usize = 3_000;

/// Most terms that a plan asks for. A character may be several words (`U+FDFA` is four), and each word is asked for in
/// several forms and, for a ranking, again.
const MAX_TERMS: usize = 500_000;

/// Loads the gazetteer, which takes long where everything is counted.
///
/// # Panics
/// If it can't be read.
pub fn prepare() {
    assert!(search::place::country_name("DE").is_some());
}

/// Tries an input as a query, and each of its filters alone.
///
/// # Panics
/// If a property does not hold.
pub fn holds(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let mut query = SearchQuery::default();
    for line in input.lines() {
        let mut rest = line.chars();
        let letter = rest.next();
        let Some(filter) = FILTERS.iter().find(|filter| Some(filter.letter) == letter) else {
            continue;
        };
        (filter.ask)(&mut query, rest.as_str());
        alone(filter, rest.as_str());
    }
    for (record_kind, kind) in KINDS {
        let violations = check(&query, record_kind);
        assert!(violations.len() <= MAX_VIOLATIONS);
        if violations.is_empty() {
            well_formed(&plan(kind, &query));
        }
    }
}

const KINDS: [(RecordKind, Kind); 2] = [
    (RecordKind::Company, Kind::Company),
    (RecordKind::Person, Kind::Person),
];

fn alone(filter: &Filter, text: &str) {
    let mut query = SearchQuery::default();
    (filter.ask)(&mut query, text);
    let mut records = Records::new();
    (filter.have)(&mut records, text);
    let engine = records.engine();
    for (record_kind, kind) in KINDS {
        if !check(&query, record_kind).is_empty() {
            continue;
        }
        let planned = plan(kind, &query);
        if is_blank(text) {
            assert_eq!(planned.filter, Condition::Everything);
            continue;
        }
        well_formed(&planned);
        assert_ne!(
            planned.filter,
            Condition::Everything,
            "{text:?} asks for everything"
        );
        assert_ne!(
            planned.filter,
            Condition::Any(Vec::new()),
            "{text:?} asks for nothing"
        );
        for spelt in [text.nfd().collect::<String>(), text.nfc().collect()] {
            let mut query = SearchQuery::default();
            (filter.ask)(&mut query, &spelt);
            // Decomposed it may be too long.
            if check(&query, record_kind).is_empty() {
                assert_eq!(plan(kind, &query), planned, "{text:?} and {spelt:?}");
            }
        }
        // Both sides of a comparison are the same only where the text is one value, as a record's is.
        if is_one_value(filter, text) {
            let found = engine
                .search(&planned, &Stop::never())
                .expect("it always answers")
                .total
                == 1;
            let wanted = filter.letter != EXCLUSION;
            // No record of a company has the title, and nothing is excluded then.
            if wanted || kind == Kind::Person {
                assert_eq!(found, wanted, "{text:?} of {kind:?}: {:?}", planned.filter);
            }
        }
    }
}

fn is_one_value(filter: &Filter, text: &str) -> bool {
    let text = composed(text);
    if text.contains(['"', ',', ';']) {
        return false;
    }
    let [alternative] = split(&text, filter.separator)
        .try_into()
        .unwrap_or([const { String::new() }]);
    match filter.letter {
        // A label finds hosts that have it, and is no host; an address of a domain is none.
        'w' => matches!(WebsiteTerm::parse(&alternative), Ok(WebsiteTerm::Address(_))),
        'e' => alternative.trim_start_matches('@').contains('@'),
        _ => !alternative.is_empty(),
    }
}

fn plan(kind: Kind, query: &SearchQuery) -> Plan {
    let context = PlanContext {
        today: NaiveDate::from_ymd_opt(2026, 11, 28).expect("a day"),
        new_business_days: 365,
        revealed: &[],
        window: Window {
            after: None,
            skip: 0,
            limit: 1,
        },
    };
    planner::plan(kind, query, &context)
}

/// What [`search::plan`] says of every plan.
fn well_formed(plan: &Plan) {
    let mut terms = condition(&plan.filter);
    for group in &plan.ranking.groups {
        assert!(!group.fields.is_empty() && !group.alternatives.is_empty());
        for RankAlternative {
            holds,
            adjacent,
            whole,
        } in &group.alternatives
        {
            terms += [Some(holds), adjacent.as_ref(), whole.as_ref()]
                .into_iter()
                .flatten()
                .map(in_value)
                .sum::<usize>();
        }
    }
    terms += plan.own_place.as_ref().map_or(0, condition);
    assert!(terms <= MAX_TERMS, "{terms} terms");
}

/// How many terms it asks for.
fn condition(condition: &Condition) -> usize {
    let all = |parts: &[Condition]| parts.iter().map(self::condition).sum();
    match condition {
        Condition::Everything | Condition::Range { .. } | Condition::Ids(_) => 0,
        Condition::Text { fields, expression } => {
            assert!(!fields.is_empty());
            fields.len() * in_value(expression)
        }
        Condition::Key { any, .. } => {
            assert!(!any.is_empty() && any.iter().all(|term| !term.is_empty()));
            any.len()
        }
        Condition::KeyPrefix { prefix, .. } => {
            assert!(!prefix.is_empty());
            1
        }
        Condition::All(parts) | Condition::Any(parts) => all(parts),
        Condition::Not(part) | Condition::Employer(part) => self::condition(part),
    }
}

fn in_value(expression: &InValue) -> usize {
    match expression {
        InValue::Phrase(phrase) => {
            assert!(!phrase.is_empty());
            let slot = |slot: &Vec<String>| {
                assert!(!slot.is_empty());
                slot.iter().map(|each| term(each)).count()
            };
            phrase.iter().map(slot).sum()
        }
        InValue::All(parts) | InValue::Any(parts) => {
            assert!(!parts.is_empty());
            parts.iter().map(in_value).sum()
        }
    }
}

/// A term of a text: it is something, and holds none of the separators that values of texts are kept with.
fn term(term: &str) {
    assert!(!term.is_empty());
    assert!(!term.contains(['\u{1d}', '\u{1e}', '\u{1f}']), "{term:?}");
}

/// A company and a person who works there.
struct Records {
    company: Company,
    person: Person,
}

impl Records {
    fn new() -> Self {
        let updated = DateTime::<Utc>::UNIX_EPOCH;
        let company = Company {
            number: Some(CompanyNumber(1)),
            id: Uuid::from_u128(1),
            external_id: "c".to_owned(),
            name: "-".to_owned(),
            domain: None,
            website: None,
            business_types: Vec::new(),
            description: None,
            tags: Vec::new(),
            business_email: None,
            business_phone: None,
            place: PlaceText::default(),
            employee_count: None,
            founded: None,
            info_updated_at: updated,
        };
        let person = Person {
            id: Uuid::from_u128(2),
            external_id: "p".to_owned(),
            company_external_id: Some("c".to_owned()),
            full_name: "-".to_owned(),
            first_name: None,
            last_name: None,
            job_title: None,
            email: None,
            place: PlaceText::default(),
            info_updated_at: updated,
        };
        Self { company, person }
    }

    fn engine(&self) -> Reference {
        let mut documents = Documents::default();
        let works_there = Employee {
            job_title: self.person.job_title.clone(),
            place: self.person.place.clone(),
        };
        let company = documents.company(&self.company, &[works_there]);
        let employer = documents.employer(&self.company);
        let person = documents.person(&self.person, Some(&employer));
        let mut engine = Reference::default();
        engine.apply(&[company, person].map(|document| Change::Put(Box::new(document))));
        engine
    }
}
