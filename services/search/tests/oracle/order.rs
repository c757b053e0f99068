//! What results are ordered by.

use std::cmp::Ordering;

use proto::search::v1::{SearchQuery, SortDirection, SortField};

use crate::keywords::Alternative;
use crate::text::{Word, fold};

/// What a group of words adds to the score: its best tier counts before the number of alternatives that hold.
pub(crate) fn worth(tiers: impl Iterator<Item = u64>) -> u64 {
    let holding = tiers.filter(|tier| *tier > 0).collect::<Vec<_>>();
    let best = holding.iter().max().copied().unwrap_or(0);
    if best == 0 {
        0
    } else {
        (best - 1) * 101 + (holding.len() as u64).min(100)
    }
}

/// The best tier of each alternative in any of the values.
pub(crate) fn tiers<'a>(
    alternatives: &'a [Alternative],
    values: &'a [&'a Vec<Word>],
) -> impl Iterator<Item = u64> + 'a {
    alternatives.iter().map(|alternative| {
        values
            .iter()
            .map(|value| alternative.tier_in(value))
            .max()
            .unwrap_or(0)
    })
}

/// What records are ordered by; none if a record has no such value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Number(i128),
    Text(String),
}

pub(crate) fn folded(text: Option<&String>) -> Option<Value> {
    let folded = fold(text?.trim());
    (!folded.is_empty()).then_some(Value::Text(folded))
}

/// By value in the direction asked for, records without one last, then by id.
pub(crate) fn sorted<R>(mut rows: Vec<(Option<Value>, String, R)>, descending: bool) -> Vec<R> {
    rows.sort_by(|(one, one_id, _), (other, other_id, _)| {
        let by_value = match (one, other) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(one), Some(other)) if descending => other.cmp(one),
            (Some(one), Some(other)) => one.cmp(other),
        };
        by_value.then_with(|| one_id.cmp(other_id))
    });
    rows.into_iter().map(|(_, _, row)| row).collect()
}

/// The sort that a query asks for or leaves to its default.
pub(crate) fn applied_sort(query: &SearchQuery) -> (SortField, SortDirection) {
    let asked = query.sort.unwrap_or_default();
    let ranks = [
        &query.company_name,
        &query.business_type,
        &query.description_keywords,
    ]
    .into_iter()
    .any(|text| !text.trim().is_empty())
        || asks_for_titles(query);
    let field = match asked.field() {
        SortField::Unspecified if ranks => SortField::Relevance,
        SortField::Unspecified => SortField::InfoUpdatedAt,
        field => field,
    };
    let by_name = matches!(
        field,
        SortField::Name | SortField::FullName | SortField::JobTitle | SortField::CompanyName
    );
    let direction = match asked.direction() {
        SortDirection::Unspecified if by_name => SortDirection::Asc,
        SortDirection::Unspecified => SortDirection::Desc,
        direction => direction,
    };
    (field, direction)
}

pub(crate) fn asks_for_titles(query: &SearchQuery) -> bool {
    query.job_titles.iter().any(|title| !title.trim().is_empty())
}
