//! From a search query to a plan.
//!
//! A filter that is blank is left out. One that is not, but holds nothing to search for, is met by no record: it never
//! becomes "everything", whatever a caller sends past the rules of [`proto::search_query`].
//!
//! What is told of companies is asked of people's companies ([`Condition::Employer`]): a person without one meets no
//! filter on companies, positive or negative. What is excluded is another thing: nobody has it who has no company.

use chrono::{Days, NaiveDate};
use prost::Message as _;
use proto::alternatives::{Separator, composed, split};
use proto::day;
use proto::email::EmailTerm;
use proto::search::v1::{NewBusiness, SearchQuery, SortDirection, SortField, WebsiteStatus};
use proto::search_query::{applied_sort, applied_sort_message, is_blank};
use uuid::Uuid;

use crate::documents::{day_number, first_day};
use crate::plan::{
    Condition, Flag, InValue, KeyField, Kind, NumberField, Order, OrderBy, OrderField, Plan, RankAlternative,
    RankGroup, Ranking, Subject, TextField, Weight, Window,
};
use crate::record::Founded;
use crate::text::company_name::CompanyName;
use crate::text::keywords::{self, Alternative, one_or_many};
use crate::text::slots::whole_tag;
use crate::text::titles::title_words;
use crate::{host, phone, place};

const TYPES: [TextField; 2] = [TextField::BusinessTypes, TextField::Tags];
const EXCLUDED: [TextField; 4] = [
    TextField::CompanyFullName,
    TextField::BusinessTypes,
    TextField::Tags,
    TextField::Description,
];

/// What a plan depends on besides the query.
#[derive(Clone, Debug)]
pub struct PlanContext<'a> {
    /// The day, UTC.
    pub today: NaiveDate,
    /// For how many days a company counts as new.
    pub new_business_days: u32,
    /// The people whose address this account has revealed and `businessEmail` asks for (see [`email_terms`]).
    pub revealed: &'a [Uuid],
    /// The page.
    pub window: Window,
}

/// The plan of a query.
#[must_use]
pub fn plan(kind: Kind, query: &SearchQuery, context: &PlanContext<'_>) -> Plan {
    let order = order(kind, query);
    let own_place = own_place(query);
    let ranking = if order.by == OrderBy::Relevance {
        ranking(kind, query)
    } else {
        Ranking::default()
    };
    Plan {
        kind,
        filter: filter(kind, query, own_place.clone(), context),
        own_place: own_place.filter(|_| kind == Kind::Company),
        ranking,
        order,
        window: context.window.clone(),
    }
}

/// What a query asks for, without its page and its fields: equal for queries that a cursor may go on with.
#[must_use]
pub fn canonical(kind: Kind, query: &SearchQuery) -> Vec<u8> {
    let text = |text: &String| {
        if is_blank(text) {
            String::new()
        } else {
            text.clone()
        }
    };
    let list = |items: &[String]| items.iter().filter(|item| !is_blank(item)).cloned().collect();
    let canonical = SearchQuery {
        business_type: text(&query.business_type),
        location: text(&query.location),
        website: text(&query.website),
        website_status: unless(query.website_status, WebsiteStatus::Any.into()),
        company_name: text(&query.company_name),
        company_domain: text(&query.company_domain),
        business_email: text(&query.business_email),
        business_phone: text(&query.business_phone),
        description_keywords: text(&query.description_keywords),
        job_titles: list(&query.job_titles),
        exclude_keywords: text(&query.exclude_keywords),
        search_tags: list(&query.search_tags),
        new_business: unless(query.new_business, NewBusiness::Any.into()),
        info_updated_from: text(&query.info_updated_from),
        info_updated_to: text(&query.info_updated_to),
        page: None,
        limit: None,
        cursor: None,
        sort: Some(applied_sort_message(query)),
        fields: Vec::new(),
    };
    let kind = match kind {
        Kind::Company => b'c',
        Kind::Person => b'p',
    };
    let mut bytes = vec![kind];
    bytes.extend(canonical.encode_to_vec());
    bytes
}

/// The alternatives of `businessEmail`: which of an account's revealed addresses to look up before planning.
#[must_use]
pub fn email_terms(query: &SearchQuery) -> Vec<EmailTerm> {
    let alternatives = split(&query.business_email, Separator::Comma);
    alternatives
        .iter()
        .filter_map(|text| EmailTerm::parse(text).ok())
        .collect()
}

/// Whether a company counts as new, by the founding date in its row.
#[must_use]
pub fn is_new_business(founded_date: Option<&str>, today: NaiveDate, new_business_days: u32) -> bool {
    let founded = match founded_date.and_then(day::parse_founded) {
        Some(day::FoundedDate::Day(day)) => Founded::Day(day),
        Some(day::FoundedDate::Year(year)) => Founded::Year(year),
        None => return false,
    };
    let (from, to) = new_business_days_of(today, new_business_days);
    first_day(founded).is_some_and(|day| (from..=to).contains(&day_number(day)))
}

/// First and last day of founding of a company that counts as new.
fn new_business_days_of(today: NaiveDate, days: u32) -> (i64, i64) {
    (day_number(today) - i64::from(days), day_number(today))
}

fn unless(value: i32, default: i32) -> i32 {
    if value == default { 0 } else { value }
}

fn order(kind: Kind, query: &SearchQuery) -> Order {
    let (field, direction) = applied_sort(query);
    let by = match (field, kind) {
        (SortField::Relevance, _) => OrderBy::Relevance,
        (SortField::Name | SortField::FullName, _) | (SortField::CompanyName, Kind::Company) => {
            OrderBy::Text(OrderField::Name)
        }
        (SortField::JobTitle, Kind::Person) => OrderBy::Text(OrderField::JobTitle),
        (SortField::CompanyName, Kind::Person) => OrderBy::Text(OrderField::CompanyName),
        (SortField::FoundedDate, Kind::Company) => OrderBy::Number(NumberField::FoundedDate),
        (SortField::EmployeeCount, Kind::Company) => OrderBy::Number(NumberField::EmployeeCount),
        _ => OrderBy::Number(NumberField::InfoUpdatedAt),
    };
    Order {
        by,
        descending: by == OrderBy::Relevance || direction == SortDirection::Desc,
    }
}

fn filter(
    kind: Kind,
    query: &SearchQuery,
    own_place: Option<Condition>,
    context: &PlanContext<'_>,
) -> Condition {
    let company = |condition: Option<Condition>| condition.map(|condition| of_company(kind, condition));
    let filters = [
        given(&query.business_type, |text| {
            company(keyword_list(text, &TYPES, keywords::any_or_whole))
        }),
        location(kind, query, own_place),
        given(&query.website, |text| company(any_of(text, host::asked_website))),
        website_status(kind, query),
        given(&query.company_name, |text| {
            let name = CompanyName::parse(text)?.holds()?;
            company(Some(in_field(TextField::CompanyName, name)))
        }),
        given(&query.company_domain, |text| {
            company(keys(text, KeyField::Domain, host::domain_term))
        }),
        given(&query.business_email, |text| business_email(kind, text, context)),
        given(&query.business_phone, |text| {
            let prefix = |number: &str| {
                Some(Condition::KeyPrefix {
                    field: KeyField::Phone,
                    prefix: phone::asked_prefix(number)?,
                })
            };
            company(any_of(text, prefix))
        }),
        given(&query.description_keywords, |text| {
            company(keyword_list(text, &[TextField::Description], keywords::any))
        }),
        job_titles(query).map(|titles| {
            let titles = keywords::any_or_whole(&titles);
            titles.map_or(NOTHING, |titles| in_field(TextField::JobTitles, titles))
        }),
        given(&query.exclude_keywords, |text| excluded_of_company(kind, text)),
        excluded_title(kind, query),
        search_tags(kind, query),
        new_business(kind, query, context),
        updated(query),
    ];
    all(filters.into_iter().flatten())
}

/// All of the filters. What is asked of people's companies is put together, so that they are asked once.
fn all(filters: impl IntoIterator<Item = Condition>) -> Condition {
    let (mut own, mut company, mut unlike) = (Vec::new(), Vec::new(), Vec::new());
    for filter in filters {
        match filter {
            Condition::Employer(asked) => company.push(*asked),
            Condition::Not(part) => match *part {
                Condition::Employer(asked) => unlike.push(asked),
                part => own.push(Condition::Not(Box::new(part))),
            },
            filter => own.push(filter),
        }
    }
    if company.is_empty() {
        // Who has no company is not excluded by it.
        let unlike = unlike.into_iter().map(Condition::Employer).map(Box::new);
        own.extend(unlike.map(Condition::Not));
    } else {
        company.extend(unlike.into_iter().map(Condition::Not));
    }
    let company = one_or_many(company, Condition::All);
    own.extend(company.map(|asked| Condition::Employer(Box::new(asked))));
    one_or_many(own, Condition::All).unwrap_or(Condition::Everything)
}

/// No record.
const NOTHING: Condition = Condition::Any(Vec::new());

/// The condition of a text: none if it is blank, [`NOTHING`] if there is nothing in it to search for.
fn given(text: &str, condition: impl FnOnce(&str) -> Option<Condition>) -> Option<Condition> {
    (!is_blank(text)).then(|| condition(text).unwrap_or(NOTHING))
}

/// One of the alternatives between commas holds.
fn any_of(text: &str, condition: impl Fn(&str) -> Option<Condition>) -> Option<Condition> {
    let alternatives = split(text, Separator::Comma);
    let alternatives = alternatives.iter().filter_map(|text| condition(text));
    one_or_many(alternatives.collect(), Condition::Any)
}

/// The field has one of the terms that the alternatives between commas ask for.
fn keys(text: &str, field: KeyField, term: fn(&str) -> Option<String>) -> Option<Condition> {
    let any = split(text, Separator::Comma)
        .iter()
        .filter_map(|text| term(text))
        .collect::<Vec<_>>();
    (!any.is_empty()).then_some(Condition::Key { field, any })
}

fn in_field(field: TextField, expression: InValue) -> Condition {
    Condition::Text {
        fields: vec![field],
        expression,
    }
}

fn keyword_list(
    text: &str,
    fields: &[TextField],
    any: fn(&[Alternative]) -> Option<InValue>,
) -> Option<Condition> {
    Some(Condition::Text {
        fields: fields.to_vec(),
        expression: any(&keywords::alternatives(text))?,
    })
}

fn flag(flag: Flag) -> Condition {
    Condition::Key {
        field: KeyField::Flag,
        any: vec![flag.term().to_owned()],
    }
}

/// The company, or the person's company, meets the condition.
fn of_company(kind: Kind, condition: Condition) -> Condition {
    match kind {
        Kind::Company => condition,
        Kind::Person => Condition::Employer(Box::new(condition)),
    }
}

fn own_place(query: &SearchQuery) -> Option<Condition> {
    given(&query.location, |text| {
        Some(in_field(TextField::Place, place::asked_places(text)?))
    })
}

fn location(kind: Kind, query: &SearchQuery, own_place: Option<Condition>) -> Option<Condition> {
    let own = own_place?;
    if kind == Kind::Person {
        return Some(own);
    }
    let through_people = given(&query.location, |text| {
        Some(in_field(TextField::PeoplePlaces, place::asked_places(text)?))
    });
    Some(Condition::Any(
        std::iter::once(own).chain(through_people).collect(),
    ))
}

fn website_status(kind: Kind, query: &SearchQuery) -> Option<Condition> {
    match query.website_status() {
        WebsiteStatus::Unspecified | WebsiteStatus::Any => None,
        WebsiteStatus::Has => Some(of_company(kind, flag(Flag::HasWebsite))),
        WebsiteStatus::No => Some(of_company(kind, Condition::Not(Box::new(flag(Flag::HasWebsite))))),
    }
}

fn business_email(kind: Kind, text: &str, context: &PlanContext<'_>) -> Option<Condition> {
    let company = of_company(kind, keys(text, KeyField::BusinessEmail, host::asked_email)?);
    Some(match kind {
        Kind::Person if !context.revealed.is_empty() => {
            Condition::Any(vec![company, Condition::Ids(context.revealed.to_vec())])
        }
        _ => company,
    })
}

/// Nothing excluded occurs in the company; who has none passes.
fn excluded_of_company(kind: Kind, text: &str) -> Option<Condition> {
    let occurs = of_company(kind, keyword_list(text, &EXCLUDED, keywords::any)?);
    Some(Condition::Not(Box::new(occurs)))
}

/// Nothing excluded occurs in a person's title.
fn excluded_title(kind: Kind, query: &SearchQuery) -> Option<Condition> {
    if kind == Kind::Company {
        return None;
    }
    let split = split(&query.exclude_keywords, Separator::CommaOutsideQuotes);
    let titles = split
        .iter()
        .filter_map(|text| Alternative::parse(text, title_words))
        .collect::<Vec<_>>();
    let occurs = in_field(TextField::JobTitles, keywords::any(&titles)?);
    Some(Condition::Not(Box::new(occurs)))
}

fn search_tags(kind: Kind, query: &SearchQuery) -> Option<Condition> {
    if query.search_tags.iter().all(|tag| is_blank(tag)) {
        return None;
    }
    let any = query
        .search_tags
        .iter()
        .flat_map(|tag| whole_tag(tag))
        .collect::<Vec<_>>();
    Some(if any.is_empty() {
        NOTHING
    } else {
        let tags = Condition::Key {
            field: KeyField::WholeTag,
            any,
        };
        of_company(kind, tags)
    })
}

fn new_business(kind: Kind, query: &SearchQuery, context: &PlanContext<'_>) -> Option<Condition> {
    let (from, to) = new_business_days_of(context.today, context.new_business_days);
    let new = Condition::Range {
        field: NumberField::FoundedDate,
        from: Some(from),
        to: Some(to),
    };
    match query.new_business() {
        NewBusiness::Unspecified | NewBusiness::Any => None,
        NewBusiness::Yes => Some(of_company(kind, new)),
        NewBusiness::No => Some(of_company(kind, Condition::Not(Box::new(new)))),
    }
}

fn updated(query: &SearchQuery) -> Option<Condition> {
    let from = (!is_blank(&query.info_updated_from)).then(|| day::parse(&query.info_updated_from));
    let to = (!is_blank(&query.info_updated_to)).then(|| day::parse(&query.info_updated_to));
    if matches!(from, Some(None)) || matches!(to, Some(None)) {
        return Some(NOTHING);
    }
    let (from, to) = (from.flatten(), to.flatten());
    if from.is_none() && to.is_none() {
        return None;
    }
    let start = |day: NaiveDate| Some(day.and_hms_opt(0, 0, 0)?.and_utc().timestamp_micros());
    Some(Condition::Range {
        field: NumberField::InfoUpdatedAt,
        from: from.and_then(start),
        to: to
            .and_then(|day| day.checked_add_days(Days::new(1)))
            .and_then(start)
            .map(|next| next - 1),
    })
}

/// Each item as one alternative; none if the filter is left out.
fn job_titles(query: &SearchQuery) -> Option<Vec<Alternative>> {
    let given = query
        .job_titles
        .iter()
        .filter(|title| !is_blank(title))
        .collect::<Vec<_>>();
    let parse = |title: &&String| Alternative::parse(&composed(title), title_words);
    (!given.is_empty()).then(|| given.iter().filter_map(parse).collect())
}

fn ranking(kind: Kind, query: &SearchQuery) -> Ranking {
    let group = |weight: Weight, fields: &[TextField], alternatives: Vec<RankAlternative>| {
        let fields = fields.to_vec();
        let of = match (kind, fields[..] == [TextField::JobTitles]) {
            (Kind::Person, false) => Subject::Employer,
            _ => Subject::Record,
        };
        (!alternatives.is_empty()).then_some(RankGroup {
            of,
            weight,
            fields,
            alternatives,
        })
    };
    let list = |text: &str| {
        keywords::alternatives(text)
            .iter()
            .map(Alternative::rank)
            .collect()
    };
    let name = CompanyName::parse(&query.company_name).and_then(|name| name.rank());
    let titles = job_titles(query).unwrap_or_default();
    let groups = [
        group(
            Weight::NameOrTitle,
            &[TextField::CompanyName],
            name.into_iter().collect(),
        ),
        group(
            Weight::NameOrTitle,
            &[TextField::JobTitles],
            titles.iter().map(Alternative::rank).collect(),
        ),
        group(Weight::Types, &TYPES, list(&query.business_type)),
        group(
            Weight::Description,
            &[TextField::Description],
            list(&query.description_keywords),
        ),
    ];
    Ranking {
        groups: groups.into_iter().flatten().collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
