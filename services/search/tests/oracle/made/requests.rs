//! Requests: mostly of pieces of the records, so that they match.

use std::fmt::Debug;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::strategy::Union;
use prost::Message as _;
use proto::RecordKind;
use proto::search::v1::{SearchQuery, Sort, SortDirection, SortField};
use proto::search_properties::{Kind, PROPERTIES, Property, TextRule};
use proto::search_query::{field_names, sort_names};

use super::pieces::{Pieces, is_searchable};
use super::records::DAYS;
use super::spelling::SPELLINGS;

/// At most as many characters as a filter may have.
fn short(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn spelt(pieces: &[String], most: usize) -> impl Strategy<Value = String> + use<> {
    (select(pieces.to_vec()), select(SPELLINGS)).prop_map(move |(text, spelling)| {
        let spelt = short(&spelling.of(&text), most);
        if is_searchable(&spelt) {
            spelt
        } else {
            short(&text, most)
        }
    })
}

/// One to three alternatives.
fn list(one: impl Strategy<Value = String>, separator: &'static str) -> impl Strategy<Value = String> {
    vec(one, 1..=3).prop_map(move |texts| texts.join(separator))
}

fn keywords(pieces: &[String]) -> impl Strategy<Value = String> + use<> {
    // A piece of a sentence is more likely to be asked for than the whole.
    let one = prop_oneof![3 => spelt(pieces, 80), 1 => spelt(pieces, 600)];
    prop_oneof![
        4 => list(one, ", "),
        1 => (spelt(pieces, 60), spelt(pieces, 60)).prop_map(|(plain, quoted)| format!("{plain} \"{}\"", quoted.replace('"', ""))),
    ]
}

/// A website as it is asked for: as it stands, its host alone, a beginning of a label.
fn website(pieces: &Pieces) -> impl Strategy<Value = String> + use<> {
    let whole = select(pieces.websites.clone());
    let host = select(
        [
            pieces.domains.clone(),
            vec!["acme.com/en".to_owned(), "ACME.COM/EN/".to_owned()],
        ]
        .concat(),
    );
    let label = select(pieces.domains.clone()).prop_map(|domain| {
        let label = domain.split('.').next().unwrap_or_default().to_owned();
        short(&label, 3)
    });
    list(prop_oneof![whole, host, label], ",")
}

fn phone(pieces: &Pieces) -> impl Strategy<Value = String> + use<> {
    let numbers = pieces.phones.clone();
    let one = (select(numbers), 0..12_usize).prop_map(|(number, less)| {
        let keep = number.chars().count().saturating_sub(less);
        let cut = short(&number, keep);
        if cut.chars().filter(|digit| digit.is_numeric()).count() < 4 {
            number
        } else {
            cut
        }
    });
    list(one, ",")
}

fn emails(pieces: &Pieces) -> impl Strategy<Value = String> + use<> {
    let one = (select(pieces.emails.clone()), 0..4_u8).prop_map(|(email, how)| match how {
        0 => email.to_uppercase(),
        1 => email.split('@').next_back().unwrap_or_default().to_owned(),
        2 => format!("@{}", email.split('@').next_back().unwrap_or_default()),
        _ => email,
    });
    list(one, " , ")
}

fn places(pieces: &Pieces) -> impl Strategy<Value = String> + use<> {
    let (one, two) = (spelt(&pieces.places, 100), spelt(&pieces.places, 100));
    prop_oneof![
        3 => list(spelt(&pieces.places, 200), "; "),
        1 => (one, two).prop_map(|(one, two)| format!("{one}, {two}")),
    ]
}

/// The pieces that a filter of words is most likely to find; all of them for one that is not named here.
fn words_for(property: &str, pieces: &Pieces) -> Vec<String> {
    match property {
        "businessType" | "searchTags" => pieces.labels.clone(),
        "descriptionKeywords" => pieces.sentences.clone(),
        "jobTitles" => pieces.titles.clone(),
        "excludeKeywords" => [&*pieces.labels, &*pieces.titles].concat(),
        _ => [&*pieces.labels, &*pieces.sentences, &*pieces.titles].concat(),
    }
}

/// A query with this filter, and how often it is asked for; none for what is no filter.
fn of_property(property: &Property, pieces: &Pieces) -> Option<(u32, BoxedStrategy<SearchQuery>)> {
    fn set<T: Debug + 'static>(
        value: impl Strategy<Value = T> + 'static,
        put: impl Fn(&mut SearchQuery, T) + 'static,
    ) -> BoxedStrategy<SearchQuery> {
        let query = value.prop_map(move |value| {
            let mut query = SearchQuery::default();
            put(&mut query, value);
            query
        });
        query.boxed()
    }
    let words = words_for(property.name, pieces);
    Some(match &property.kind {
        Kind::Text(text) => {
            let (weight, value) = match text.rule {
                TextRule::Keywords => (3, keywords(&words).boxed()),
                TextRule::Places => (3, places(pieces).boxed()),
                TextRule::CompanyName => (3, spelt(&pieces.names, 400).boxed()),
                TextRule::Website => (2, website(pieces).boxed()),
                TextRule::Domain => (1, list(select(pieces.domains.clone()), ", ").boxed()),
                TextRule::Email => (2, emails(pieces).boxed()),
                TextRule::Phone => (2, phone(pieces).boxed()),
            };
            let slot = text.slot;
            (weight, set(value, move |query, text| *slot(query) = text))
        }
        Kind::Texts(slot) => {
            let slot = *slot;
            let texts = vec(spelt(&words, 200), 1..4);
            (3, set(texts, move |query, texts| *slot(query) = texts))
        }
        Kind::Choice(slot, choices) => {
            let (slot, numbers) = (*slot, choices.iter().map(|(_, number)| *number));
            let number = select(numbers.collect::<Vec<_>>());
            (1, set(number, move |query, number| *slot(query) = number))
        }
        Kind::Date(slot) => {
            let slot = *slot;
            let put = move |query: &mut SearchQuery, day: &str| day.clone_into(slot(query));
            (2, set(select(DAYS), put))
        }
        Kind::Integer { .. } | Kind::Cursor | Kind::Sort | Kind::Fields => return None,
    })
}

/// A query with one filter.
fn filter(pieces: &Pieces) -> BoxedStrategy<SearchQuery> {
    let filters = PROPERTIES
        .iter()
        .filter_map(|property| of_property(property, pieces));
    Union::new_weighted(filters.collect()).boxed()
}

fn sort(kind: RecordKind) -> impl Strategy<Value = Option<Sort>> {
    let directions = [
        SortDirection::Unspecified,
        SortDirection::Asc,
        SortDirection::Desc,
    ];
    let fields = sort_names(kind)
        .iter()
        .map(|(_, field)| *field)
        .collect::<Vec<_>>();
    let sort = (select(fields), select(directions.to_vec())).prop_map(|(field, direction)| {
        let relevance = field == SortField::Relevance;
        let direction = if relevance {
            SortDirection::Unspecified
        } else {
            direction
        };
        Sort {
            field: field.into(),
            direction: direction.into(),
        }
    });
    of(sort)
}

/// A search, how its pages are asked for, and by whom.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) kind: RecordKind,
    pub(crate) account: &'static str,
    pub(crate) query: SearchQuery,
    /// Which pages of which size to ask for by their numbers.
    pub(crate) pages: Vec<(i64, i64)>,
    /// What limits to walk by cursor with; the last one stays.
    pub(crate) limits: Vec<i64>,
}

/// The accounts that ask.
pub(crate) const ACCOUNTS: [&str; 2] = ["one", "two"];

/// Requests that the records of a world may answer.
pub(crate) fn request(pieces: &Pieces) -> impl Strategy<Value = Request> + use<> {
    let filters = vec(filter(pieces), 0..4);
    let of_kind = select(vec![RecordKind::Company, RecordKind::Person]).prop_flat_map(|kind| {
        let fields = field_names(kind).to_vec();
        let fields = prop_oneof![2 => Just(Vec::new()), 1 => subsequence(fields, 1..6)];
        (Just(kind), sort(kind), fields)
    });
    let pages = vec((1..5_i64, prop_oneof![1..9_i64, 1..=250_i64]), 1..3);
    // The last one stays, and is large enough for a walk of few pages.
    let limits = (vec(1..12_i64, 0..3), 20..120_i64).prop_map(|(limits, last)| [limits, vec![last]].concat());
    (of_kind, filters, select(&ACCOUNTS[..]), pages, limits).prop_map(
        |((kind, sort, fields), filters, account, pages, limits)| {
            let mut query = SearchQuery::default();
            for filter in filters {
                // Filters of the same name are merged: lists are added, else the later one stands.
                query.merge(&*filter.encode_to_vec()).expect("a message");
            }
            if query.info_updated_from > query.info_updated_to {
                query.info_updated_to.clear();
            }
            query.sort = sort;
            query.fields = fields.into_iter().map(str::to_owned).collect();
            Request {
                kind,
                account,
                query,
                pages,
                limits,
            }
        },
    )
}

/// People to reveal, by how far down the list they stand.
pub(crate) fn reveals() -> impl Strategy<Value = Vec<(&'static str, Index)>> {
    vec((select(&ACCOUNTS[..]), any::<Index>()), 0..12)
}
