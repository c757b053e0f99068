//! The oracle: looks at every record and answers by sections 4 to 6 of the contract.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Days, NaiveDate, Utc};
use proto::search::v1::{
    Company, CompanyRecord, CompanySummary, EmailStatus, Location, LocationMatch, NewBusiness, Person,
    PersonRecord, SearchQuery, SortDirection, SortField, WebsiteStatus,
};

use crate::keywords::{Alternative, keyword_list, one_alternative, plain_list};
use crate::legal::name_words;
use crate::name::CompanyName;
use crate::order::{Value, applied_sort, asks_for_titles, folded, sorted, tiers, worth};
use crate::places::{Place, asked, country_name};
use crate::text::{Word, is_whole, nfkc, words};
use crate::titles::title_words;
use crate::web::{Site, address, address_meets, registrable};
use crate::{fixture, phone};

/// A company, as the source has it and as it is compared.
struct Firm {
    row: Company,
    name: Vec<Word>,
    full_name: Vec<Word>,
    /// Business types and tags.
    types: Vec<Vec<Word>>,
    tags: Vec<Vec<Word>>,
    description: Vec<Word>,
    place: Place,
    phones: Vec<String>,
    founded: Option<NaiveDate>,
    updated: DateTime<Utc>,
}

/// A person, as the source has it and as it is compared.
struct Worker {
    row: Person,
    email: Option<String>,
    firm: Option<String>,
    title: Vec<Word>,
    place: Place,
    updated: DateTime<Utc>,
}

/// All records, by their ids in the source, and which account has revealed whom.
#[derive(Default)]
pub(crate) struct Oracle {
    firms: BTreeMap<String, Firm>,
    workers: BTreeMap<String, Worker>,
    reveals: BTreeSet<(String, String)>,
}

fn text(text: Option<&String>) -> Option<String> {
    let trimmed = text?.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

fn texts(texts: &[String]) -> Vec<String> {
    texts.iter().filter_map(|one| text(Some(one))).collect()
}

fn time(time: Option<prost_types::Timestamp>) -> DateTime<Utc> {
    time.map_or_else(fixture::start, |time| {
        let nanos = u32::try_from(time.nanos).expect("not negative");
        DateTime::from_timestamp(time.seconds, nanos / 1_000 * 1_000).expect("a time")
    })
}

fn timestamp(time: DateTime<Utc>) -> prost_types::Timestamp {
    let nanos = i32::try_from(time.timestamp_subsec_nanos()).expect("below 2^31");
    prost_types::Timestamp {
        seconds: time.timestamp(),
        nanos,
    }
}

fn location(city: Option<&String>, region: Option<&String>, country: Option<&String>) -> Location {
    let country_code = text(country).map(|code| code.to_uppercase());
    Location {
        city: text(city),
        region: text(region),
        country: country_code.as_deref().and_then(country_name),
        country_code,
    }
}

fn place(location: &Location) -> Place {
    let Location {
        city,
        region,
        country_code,
        ..
    } = location;
    Place::of(city.as_deref(), region.as_deref(), country_code.as_deref())
}

fn each(texts: &[String]) -> Vec<Vec<Word>> {
    texts.iter().map(|text| words(text)).collect()
}

impl Firm {
    fn of(record: &CompanyRecord) -> Self {
        let location = location(
            record.city.as_ref(),
            record.region.as_ref(),
            record.country.as_ref(),
        );
        let founded_date = text(record.founded_date.as_ref());
        let updated = time(record.info_updated_at);
        let row = Company {
            id: String::new(),
            name: record.name.trim().to_owned(),
            domain: text(record.domain.as_ref()).map(|domain| domain.to_lowercase()),
            website: text(record.website.as_ref()),
            business_types: texts(&record.business_types),
            description: text(record.description.as_ref()),
            tags: texts(&record.tags),
            business_email: text(record.business_email.as_ref()),
            business_phone: text(record.business_phone.as_ref()),
            location: Some(location),
            employee_count: record.employee_count,
            founded_date,
            new_business: false,
            info_updated_at: Some(timestamp(updated)),
            location_match: LocationMatch::Unspecified.into(),
        };
        let location = row.location.as_ref().expect("just put there");
        let country = location.country_code.as_deref();
        let first_day = |date: &String| {
            let whole = if date.len() == 4 {
                format!("{date}-01-01")
            } else {
                date.clone()
            };
            NaiveDate::parse_from_str(&whole, "%Y-%m-%d").expect("a day")
        };
        Self {
            name: name_words(&row.name),
            full_name: words(&row.name),
            types: [each(&row.business_types), each(&row.tags)].concat(),
            tags: each(&row.tags),
            description: words(row.description.as_deref().unwrap_or_default()),
            place: place(location),
            phones: row
                .business_phone
                .as_deref()
                .map(|number| phone::dialled(number, country))
                .unwrap_or_default(),
            founded: row.founded_date.as_ref().map(first_day),
            updated,
            row,
        }
    }

    fn is_new(&self) -> bool {
        let today = fixture::start().date_naive();
        let first = today - Days::new(365);
        self.founded.is_some_and(|day| first <= day && day <= today)
    }

    /// Every filter on companies but places, titles, times and what is excluded.
    fn meets(&self, query: &SearchQuery) -> bool {
        let Company { domain, website, .. } = &self.row;
        let domain = domain.as_deref().and_then(registrable);
        let site = website.as_deref().and_then(Site::of);
        let status = query.website_status();
        given(&query.business_type, |text| {
            holds_in_one(&plain_list(text), &self.types)
        }) && given(&query.website, |text| {
            any(text, |one| site.as_ref().is_some_and(|site| site.meets(one)))
        }) && (status != WebsiteStatus::Has || website.is_some())
            && (status != WebsiteStatus::No || website.is_none())
            && given(&query.company_name, |text| {
                CompanyName::of(text).tier_in(&self.name) > 0
            })
            && given(&query.company_domain, |text| {
                any(text, |one| domain.is_some() && registrable(one) == domain)
            })
            && given(&query.business_phone, |text| {
                any(text, |one| phone::begins(one, &self.phones))
            })
            && given(&query.description_keywords, |text| {
                plain_list(text)
                    .iter()
                    .any(|alternative| alternative.holds_in(&self.description))
            })
            && self.has_tag(&query.search_tags)
            && match query.new_business() {
                NewBusiness::Yes => self.is_new(),
                NewBusiness::No => !self.is_new(),
                _ => true,
            }
    }

    fn has_address(&self, asked: &str) -> bool {
        let email = self.row.business_email.as_deref().and_then(address);
        any(asked, |one| {
            email.as_ref().is_some_and(|email| address_meets(email, one))
        })
    }

    fn has_tag(&self, asked: &[String]) -> bool {
        let asked = asked
            .iter()
            .filter(|tag| !tag.trim().is_empty())
            .collect::<Vec<_>>();
        asked.is_empty()
            || asked.iter().map(|tag| words(tag)).any(|wanted| {
                !wanted.is_empty() && self.tags.iter().any(|tag| is_whole(tag, &wanted, Word::is))
            })
    }

    fn mentions(&self, excluded: &[Alternative]) -> bool {
        let values = self.types.iter().chain([&self.full_name, &self.description]);
        holds_in_one(excluded, values)
    }
}

impl Worker {
    fn of(record: &PersonRecord) -> Self {
        let (first_name, last_name) = (text(record.first_name.as_ref()), text(record.last_name.as_ref()));
        let both = [first_name.clone(), last_name.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        let email = text(record.email.as_ref());
        let status = if email.is_some() {
            EmailStatus::Locked
        } else {
            EmailStatus::None
        };
        let location = location(
            record.city.as_ref(),
            record.region.as_ref(),
            record.country.as_ref(),
        );
        let updated = time(record.info_updated_at);
        let job_title = text(record.job_title.as_ref());
        Self {
            title: title_words(job_title.as_deref().unwrap_or_default()),
            place: place(&location),
            row: Person {
                id: String::new(),
                full_name: text(record.full_name.as_ref()).unwrap_or_else(|| both.join(" ")),
                first_name,
                last_name,
                job_title,
                email: None,
                email_status: status.into(),
                location: Some(location),
                company: None,
                info_updated_at: Some(timestamp(updated)),
            },
            email,
            firm: text(record.company_external_id.as_ref()),
            updated,
        }
    }
}

/// A filter that is blank is none.
fn given(text: &str, meets: impl FnOnce(&str) -> bool) -> bool {
    text.trim().is_empty() || meets(text)
}

/// One of the alternatives between commas, not counting those that hold nothing.
fn any(text: &str, meets: impl Fn(&str) -> bool) -> bool {
    nfkc(text)
        .split(',')
        .map(str::trim)
        .any(|one| !one.is_empty() && meets(one))
}

/// One alternative holds within one value.
fn holds_in_one<'a>(alternatives: &[Alternative], values: impl IntoIterator<Item = &'a Vec<Word>>) -> bool {
    values
        .into_iter()
        .any(|value| alternatives.iter().any(|alternative| alternative.holds_in(value)))
}

fn titles(query: &SearchQuery) -> Vec<Alternative> {
    query
        .job_titles
        .iter()
        .filter_map(|title| one_alternative(title, title_words))
        .collect()
}

fn score(query: &SearchQuery, firm: Option<&Firm>, job_titles: &[&Vec<Word>]) -> u64 {
    let mut score = worth(tiers(&titles(query), job_titles)) << 20;
    if let Some(firm) = firm {
        if !query.company_name.trim().is_empty() {
            score += worth(std::iter::once(
                CompanyName::of(&query.company_name).tier_in(&firm.name),
            )) << 20;
        }
        let types = firm.types.iter().collect::<Vec<_>>();
        score += worth(tiers(&plain_list(&query.business_type), &types)) << 10;
        score += worth(tiers(
            &plain_list(&query.description_keywords),
            &[&firm.description],
        ));
    }
    score
}

fn updated_within(query: &SearchQuery, updated: DateTime<Utc>) -> bool {
    let day = updated.format("%Y-%m-%d").to_string();
    given(&query.info_updated_from, |from| from <= day.as_str())
        && given(&query.info_updated_to, |to| day.as_str() <= to)
}

impl Oracle {
    pub(crate) fn put_company(&mut self, record: &CompanyRecord) {
        let mut firm = Firm::of(record);
        if let Some(known) = self.firms.get(record.external_id.trim()) {
            firm.row.id.clone_from(&known.row.id);
        }
        self.firms.insert(record.external_id.trim().to_owned(), firm);
    }

    pub(crate) fn put_person(&mut self, record: &PersonRecord) {
        let mut worker = Worker::of(record);
        if let Some(known) = self.workers.get(record.external_id.trim()) {
            worker.row.id.clone_from(&known.row.id);
        }
        self.workers.insert(record.external_id.trim().to_owned(), worker);
    }

    pub(crate) fn delete_company(&mut self, external_id: &str) {
        self.firms.remove(external_id);
    }

    pub(crate) fn delete_person(&mut self, external_id: &str) {
        self.workers.remove(external_id);
        self.reveals.retain(|(_, person)| person != external_id);
    }

    pub(crate) fn reveal(&mut self, account: &str, external_id: &str) {
        self.reveals.insert((account.to_owned(), external_id.to_owned()));
    }

    /// Tells the ids that the service has given to new records. Those of known ones must be the same.
    pub(crate) fn learn_ids(&mut self, companies: Vec<(String, String)>, people: Vec<(String, String)>) {
        assert_eq!(
            (companies.len(), people.len()),
            (self.firms.len(), self.workers.len())
        );
        let learn = |known: &mut String, id: String| {
            assert!(known.is_empty() || *known == id, "an id has changed");
            *known = id;
        };
        for (external_id, id) in companies {
            learn(
                &mut self.firms.get_mut(&external_id).expect("a company put").row.id,
                id,
            );
        }
        for (external_id, id) in people {
            learn(
                &mut self.workers.get_mut(&external_id).expect("a person put").row.id,
                id,
            );
        }
    }

    /// Companies' rows without what depends on a request.
    pub(crate) fn company_rows(&self) -> impl Iterator<Item = &Company> {
        self.firms.values().map(|firm| &firm.row)
    }

    /// People's rows as nobody has revealed them, with their ids in the source and their addresses.
    pub(crate) fn person_rows(&self) -> impl Iterator<Item = (&str, &Person, Option<&str>)> {
        let workers = self.workers.iter();
        workers.map(|(external_id, worker)| (external_id.as_str(), &worker.row, worker.email.as_deref()))
    }

    /// All companies that meet the query, in its order.
    pub(crate) fn companies(&self, query: &SearchQuery) -> Vec<Company> {
        let (asked_titles, asked_places) = (titles(query), asked(&query.location));
        let excluded = plain_list(&query.exclude_keywords);
        let (field, direction) = applied_sort(query);
        let mut found = Vec::new();
        for (external_id, firm) in &self.firms {
            let staff = self
                .workers
                .values()
                .filter(|worker| worker.firm.as_ref() == Some(external_id))
                .collect::<Vec<_>>();
            let staff_titles = staff.iter().map(|worker| &worker.title).collect::<Vec<_>>();
            let here = firm.place.meets(&asked_places);
            let there = staff.iter().any(|worker| worker.place.meets(&asked_places));
            let meets = firm.meets(query)
                && given(&query.business_email, |asked| firm.has_address(asked))
                && given(&query.location, |_| here || there)
                && (!asks_for_titles(query) || holds_in_one(&asked_titles, staff_titles.iter().copied()))
                && !firm.mentions(&excluded)
                && updated_within(query, firm.updated);
            if !meets {
                continue;
            }
            let mut row = firm.row.clone();
            row.new_business = firm.is_new();
            if !query.location.trim().is_empty() {
                row.set_location_match(if here {
                    LocationMatch::Company
                } else {
                    LocationMatch::People
                });
            }
            let value = match field {
                SortField::Relevance => Some(Value::Number(score(query, Some(firm), &staff_titles).into())),
                SortField::Name => folded(Some(&firm.row.name)),
                SortField::FoundedDate => firm.founded.map(|day| Value::Text(day.to_string())),
                SortField::EmployeeCount => firm.row.employee_count.map(|count| Value::Number(count.into())),
                _ => Some(Value::Number(firm.updated.timestamp_micros().into())),
            };
            found.push((value, row.id.clone(), row));
        }
        sorted(found, direction == SortDirection::Desc)
    }

    /// All people who meet the query, in its order, as the account may see them.
    pub(crate) fn people(&self, account: &str, query: &SearchQuery) -> Vec<Person> {
        let (asked_titles, asked_places) = (titles(query), asked(&query.location));
        let excluded = plain_list(&query.exclude_keywords);
        let excluded_titles = keyword_list(&query.exclude_keywords, title_words);
        let (field, direction) = applied_sort(query);
        let mut found = Vec::new();
        for (external_id, worker) in &self.workers {
            let firm = worker.firm.as_ref().and_then(|firm| self.firms.get(firm));
            let is_revealed = self.reveals.contains(&(account.to_owned(), external_id.clone()));
            let shown = worker.email.as_ref().filter(|_| is_revealed);
            let own_address = shown.and_then(|email| address(email));
            let has_address = |asked: &str| {
                let own = any(asked, |one| {
                    own_address.as_ref().is_some_and(|own| address_meets(own, one))
                });
                own || firm.is_some_and(|firm| firm.has_address(asked))
            };
            let place = match firm {
                Some(firm) if worker.place.is_nowhere() => &firm.place,
                _ => &worker.place,
            };
            let meets = firm.map_or_else(|| !asks_for_company(query), |firm| firm.meets(query))
                && given(&query.business_email, has_address)
                && given(&query.location, |_| place.meets(&asked_places))
                && (!asks_for_titles(query) || holds_in_one(&asked_titles, [&worker.title]))
                && !firm.is_some_and(|firm| firm.mentions(&excluded))
                && !holds_in_one(&excluded_titles, [&worker.title])
                && updated_within(query, worker.updated);
            if !meets {
                continue;
            }
            let mut row = worker.row.clone();
            row.company = firm.map(|firm| CompanySummary {
                id: firm.row.id.clone(),
                name: firm.row.name.clone(),
                domain: firm.row.domain.clone(),
                website: firm.row.website.clone(),
                business_types: firm.row.business_types.clone(),
            });
            if let Some(email) = shown {
                row.email = Some(email.clone());
                row.set_email_status(EmailStatus::Revealed);
            }
            let value = match field {
                SortField::Relevance => Some(Value::Number(score(query, firm, &[&worker.title]).into())),
                SortField::FullName => folded(Some(&row.full_name)),
                SortField::JobTitle => folded(row.job_title.as_ref()),
                SortField::CompanyName => folded(firm.map(|firm| &firm.row.name)),
                _ => Some(Value::Number(worker.updated.timestamp_micros().into())),
            };
            found.push((value, row.id.clone(), row));
        }
        sorted(found, direction == SortDirection::Desc)
    }
}

/// Whether a filter is given that a person without a company does not meet.
fn asks_for_company(query: &SearchQuery) -> bool {
    let texts = [
        &query.business_type,
        &query.website,
        &query.company_name,
        &query.company_domain,
        &query.business_phone,
        &query.description_keywords,
    ];
    texts
        .into_iter()
        .chain(&query.search_tags)
        .any(|text| !text.trim().is_empty())
        || matches!(query.website_status(), WebsiteStatus::Has | WebsiteStatus::No)
        || matches!(query.new_business(), NewBusiness::Yes | NewBusiness::No)
}
