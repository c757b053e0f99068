//! What a record is found, ordered and shown by.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use bytes::Bytes;
use chrono::{DateTime, NaiveDate, Utc};
use foldhash::{HashMap, HashMapExt as _, HashSet};
use proto::search::v1 as pb;

use crate::document::Document;
use crate::plan::{Flag, KeyField, Kind, NumberField, OrderField, Slot, SourceField, TextField};
use crate::record::{Company, CompanyNumber, Employee, Founded, Person, PlaceText};
use crate::text::fold::fold;
use crate::text::legal_forms::without_legal_forms;
use crate::text::slots::{Comparison, one_of_many, value, whole_tag, words_alone};
use crate::text::titles::title_words;
use crate::text::words::words;
use crate::values::Values;
use crate::{host, phone, place};

/// Longest text to order by, in bytes: more than a name or title of the longest has, unless it is made of ligatures, and
/// less than a cursor holds. What is equal up to there is ordered by id.
const MAX_ORDER_LEN: usize = 4096;

/// Makes documents. It remembers what many records have alike: the titles, places, types and tags of some thousand
/// records are few.
#[derive(Debug, Default)]
pub struct Documents {
    titles: Memory<String, Values>,
    /// Business types and tags.
    types: Memory<String, Values>,
    /// Terms of whole tags.
    whole_tags: Memory<String, Slot>,
    places: Memory<PlaceText, Values>,
}

/// What the documents of a company's people have of the company, made once for all of them.
#[derive(Debug)]
pub struct Employer<'a> {
    company: &'a Company,
    place: Values,
    /// What its place was made from.
    place_source: String,
    /// Its name, to order by.
    name: Option<String>,
}

impl Documents {
    /// A company's document; `people` are those who work there.
    #[must_use]
    pub fn company(&mut self, company: &Company, people: &[Employee]) -> Document {
        let mut parts = Parts {
            company: company.number,
            ..Parts::default()
        };
        self.texts_of_company(company, &mut parts);
        parts.company_keys(company);
        let whole_tags = company
            .tags
            .iter()
            .flat_map(|tag| self.whole_tags.get(tag, |tag| whole_tag(tag)));
        parts.key(KeyField::WholeTag, whole_tags);
        let titles = people.iter().filter_map(|person| person.job_title.as_ref());
        let titles = titles.collect::<BTreeSet<_>>();
        parts.source(SourceField::JobTitles, titles.iter().copied().cloned());
        let titles = titles
            .into_iter()
            .map(|title| self.title(title))
            .collect::<Vec<_>>();
        parts.text(TextField::JobTitles, Values::of_each(&titles));
        parts.text(TextField::Place, self.place(&company.place));
        let places = people.iter().map(|person| &person.place).collect::<HashSet<_>>();
        let sources = std::iter::once(&company.place).chain(places.iter().copied());
        parts.source(SourceField::Places, sources.map(place::source_text));
        let places = places.into_iter().map(|place| self.place(place));
        let places = places.collect::<BTreeSet<_>>();
        parts.text(TextField::PeoplePlaces, Values::of_each(&places));
        parts.number(
            NumberField::InfoUpdatedAt,
            Some(company.info_updated_at.timestamp_micros()),
        );
        parts.number(NumberField::EmployeeCount, company.employee_count);
        parts.number(
            NumberField::FoundedDate,
            company.founded.and_then(first_day).map(day_number),
        );
        parts.order(OrderField::Name, order_text(&company.name));
        parts.document(Kind::Company, company.id, &company_row(company))
    }

    /// What its people's documents have of the company.
    #[must_use]
    pub fn employer<'a>(&mut self, company: &'a Company) -> Employer<'a> {
        Employer {
            company,
            place: self.place(&company.place),
            place_source: place::source_text(&company.place),
            name: order_text(&company.name),
        }
    }

    /// A person's document; `employer` is the company they work at, if it is known.
    #[must_use]
    pub fn person(&mut self, person: &Person, employer: Option<&Employer<'_>>) -> Document {
        let mut parts = Parts::default();
        if let Some(title) = &person.job_title {
            parts.text(TextField::JobTitles, self.title(title));
            parts.source(SourceField::JobTitles, [title.clone()]);
        }
        let mut place_source = None;
        if let Some(employer) = employer {
            parts.company = employer.company.number;
            parts.text(TextField::Place, employer.place.clone());
            place_source = Some(employer.place_source.clone());
            parts.order(OrderField::CompanyName, employer.name.clone());
        }
        // In place of the company's, if there is one.
        let own_place = self.place(&person.place);
        if !own_place.is_empty() {
            place_source = Some(place::source_text(&person.place));
        }
        parts.text(TextField::Place, own_place);
        parts.source(SourceField::Places, place_source);
        parts.number(
            NumberField::InfoUpdatedAt,
            Some(person.info_updated_at.timestamp_micros()),
        );
        parts.order(OrderField::Name, order_text(&person.full_name));
        let title = person.job_title.as_deref().and_then(order_text);
        parts.order(OrderField::JobTitle, title);
        let company = employer.map(|employer| employer.company);
        parts.document(Kind::Person, person.id, &person_row(person, company))
    }

    fn title(&mut self, title: &String) -> Values {
        self.titles.get(title, |title| {
            one_of_many(&title_words(title), Comparison::Stemmed)
        })
    }

    fn place(&mut self, place: &PlaceText) -> Values {
        self.places.get(place, place::value)
    }

    fn types(&mut self, texts: &[String]) -> Values {
        let each = texts.iter().map(|text| {
            self.types
                .get(text, |text| one_of_many(&words(text), Comparison::Stemmed))
        });
        Values::of_each(&each.collect::<Vec<_>>())
    }

    fn texts_of_company(&mut self, company: &Company, parts: &mut Parts) {
        parts.source(SourceField::BusinessTypes, company.business_types.iter().cloned());
        parts.source(SourceField::Tags, company.tags.iter().cloned());
        let name = words(&company.name);
        parts.text(
            TextField::CompanyName,
            value(&without_legal_forms(&name), Comparison::Exact),
        );
        parts.text(
            TextField::CompanyFullName,
            words_alone(&name, Comparison::Stemmed),
        );
        parts.text(TextField::BusinessTypes, self.types(&company.business_types));
        parts.text(TextField::Tags, self.types(&company.tags));
        let description = words(company.description.as_deref().unwrap_or_default());
        parts.text(TextField::Description, value(&description, Comparison::Stemmed));
    }
}

/// What was made, by what it was made from.
#[derive(Debug)]
struct Memory<K, V>(HashMap<K, V>);

/// Most that is remembered of a kind; then it begins anew.
const MOST_REMEMBERED: usize = 20_000;

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Memory<K, V> {
    fn get(&mut self, key: &K, make: impl FnOnce(&K) -> V) -> V {
        if let Some(known) = self.0.get(key) {
            return known.clone();
        }
        if self.0.len() >= MOST_REMEMBERED {
            self.0.clear();
        }
        let new = make(key);
        self.0.insert(key.clone(), new.clone());
        new
    }
}

/// First day on which a company may have been founded.
#[must_use]
pub fn first_day(founded: Founded) -> Option<NaiveDate> {
    match founded {
        Founded::Day(day) => Some(day),
        Founded::Year(year) => NaiveDate::from_ymd_opt(year, 1, 1),
    }
}

/// Days since 1970-01-01.
#[must_use]
pub fn day_number(day: NaiveDate) -> i64 {
    day.signed_duration_since(DateTime::<Utc>::UNIX_EPOCH.date_naive())
        .num_days()
}

/// A document in the making. What is empty is left out.
#[derive(Debug, Default)]
struct Parts {
    company: Option<CompanyNumber>,
    texts: BTreeMap<TextField, Values>,
    keys: BTreeMap<KeyField, Vec<String>>,
    numbers: BTreeMap<NumberField, i64>,
    orders: BTreeMap<OrderField, String>,
    sources: BTreeMap<SourceField, BTreeSet<String>>,
}

impl Parts {
    /// What is looked up as it is.
    fn company_keys(&mut self, company: &Company) {
        self.key(
            KeyField::Website,
            company
                .website
                .iter()
                .flat_map(|website| host::website_terms(website)),
        );
        self.key(
            KeyField::Domain,
            company
                .domain
                .iter()
                .filter_map(|domain| host::domain_term(domain)),
        );
        self.key(
            KeyField::BusinessEmail,
            company
                .business_email
                .iter()
                .flat_map(|email| host::email_terms(email)),
        );
        let country = company.place.country.as_deref();
        self.key(
            KeyField::Phone,
            company
                .business_phone
                .iter()
                .flat_map(|number| phone::terms(number, country)),
        );
        let has_website = company
            .website
            .as_deref()
            .is_some_and(|website| !website.trim().is_empty());
        self.key(
            KeyField::Flag,
            has_website.then(|| Flag::HasWebsite.term().to_owned()),
        );
    }

    fn text(&mut self, field: TextField, values: Values) {
        if !values.is_empty() {
            self.texts.insert(field, values);
        }
    }

    fn key(&mut self, field: KeyField, terms: impl IntoIterator<Item = String>) {
        let mut terms = terms.into_iter().peekable();
        if terms.peek().is_some() {
            let all = self.keys.entry(field).or_default();
            all.extend(terms);
            all.sort_unstable();
            all.dedup();
        }
    }

    fn number(&mut self, field: NumberField, number: Option<i64>) {
        if let Some(number) = number {
            self.numbers.insert(field, number);
        }
    }

    fn order(&mut self, field: OrderField, text: Option<String>) {
        if let Some(text) = text {
            self.orders.insert(field, text);
        }
    }

    fn source(&mut self, field: SourceField, texts: impl IntoIterator<Item = String>) {
        let texts = texts.into_iter().filter(|text| !text.is_empty());
        let texts = texts.collect::<BTreeSet<_>>();
        if !texts.is_empty() {
            self.sources.insert(field, texts);
        }
    }

    fn document(self, kind: Kind, id: uuid::Uuid, row: &impl prost::Message) -> Document {
        let Self {
            company,
            texts,
            keys,
            numbers,
            orders,
            sources,
        } = self;
        Document {
            kind,
            id,
            company,
            texts,
            keys,
            numbers,
            orders,
            sources,
            row: Bytes::from(row.encode_to_vec()),
        }
    }
}

/// A text to order by; none without one.
fn order_text(text: &str) -> Option<String> {
    let mut folded = fold(text.trim());
    folded.truncate(folded.floor_char_boundary(MAX_ORDER_LEN));
    (!folded.is_empty()).then_some(folded)
}

fn company_row(company: &Company) -> pb::Company {
    pb::Company {
        // The document's.
        id: String::new(),
        name: company.name.clone(),
        domain: company.domain.as_deref().map(str::to_lowercase),
        website: company.website.clone(),
        business_types: company.business_types.clone(),
        description: company.description.clone(),
        tags: company.tags.clone(),
        business_email: company.business_email.clone(),
        business_phone: company.business_phone.clone(),
        location: Some(location(&company.place)),
        employee_count: company.employee_count,
        founded_date: company.founded.map(|founded| match founded {
            Founded::Day(day) => day.to_string(),
            Founded::Year(year) => format!("{year:04}"),
        }),
        info_updated_at: Some(timestamp(company.info_updated_at)),
        // These depend on the day and on the request.
        new_business: false,
        location_match: pb::LocationMatch::Unspecified.into(),
    }
}

fn person_row(person: &Person, company: Option<&Company>) -> pb::Person {
    let has_email = person
        .email
        .as_deref()
        .is_some_and(|email| !email.trim().is_empty());
    let status = if has_email {
        pb::EmailStatus::Locked
    } else {
        pb::EmailStatus::None
    };
    pb::Person {
        // The document's.
        id: String::new(),
        full_name: person.full_name.clone(),
        first_name: person.first_name.clone(),
        last_name: person.last_name.clone(),
        job_title: person.job_title.clone(),
        // The address stays in the store.
        email: None,
        email_status: status.into(),
        location: Some(location(&person.place)),
        company: company.map(|company| pb::CompanySummary {
            id: company.id.to_string(),
            name: company.name.clone(),
            domain: company.domain.as_deref().map(str::to_lowercase),
            website: company.website.clone(),
            business_types: company.business_types.clone(),
        }),
        info_updated_at: Some(timestamp(person.info_updated_at)),
    }
}

fn location(place: &PlaceText) -> pb::Location {
    pb::Location {
        city: place.city.clone(),
        region: place.region.clone(),
        country: place
            .country
            .as_deref()
            .and_then(place::country_name)
            .map(str::to_owned),
        country_code: place.country.clone(),
    }
}

fn timestamp(time: DateTime<Utc>) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: time.timestamp(),
        // Below 2 000 000 000 by its definition, leap seconds included.
        nanos: i32::try_from(time.timestamp_subsec_nanos().min(999_999_999)).unwrap_or_default(),
    }
}
