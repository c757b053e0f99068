//! The names of the public JSON that a query may hold: the gateway parses and documents by these lists, the rules
//! check by them.

use crate::search::v1::{SearchQuery, Sort, SortDirection, SortField};
use crate::search_properties::PROPERTIES;

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// Companies.
    Company,
    /// People.
    Person,
}

/// The name of every property of a search request, in the order of the specification.
pub const QUERY_PROPERTIES: [&str; PROPERTIES.len()] = {
    let mut names = [""; PROPERTIES.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = PROPERTIES[index].name;
        index += 1;
    }
    names
};

/// What companies may be ordered by.
#[must_use]
pub const fn company_sort_names() -> &'static [(&'static str, SortField)] {
    &[
        ("relevance", SortField::Relevance),
        ("name", SortField::Name),
        ("infoUpdatedAt", SortField::InfoUpdatedAt),
        ("foundedDate", SortField::FoundedDate),
        ("employeeCount", SortField::EmployeeCount),
    ]
}

/// What people may be ordered by.
#[must_use]
pub const fn person_sort_names() -> &'static [(&'static str, SortField)] {
    &[
        ("relevance", SortField::Relevance),
        ("fullName", SortField::FullName),
        ("jobTitle", SortField::JobTitle),
        ("companyName", SortField::CompanyName),
        ("infoUpdatedAt", SortField::InfoUpdatedAt),
    ]
}

/// What records of this kind may be ordered by.
#[must_use]
pub const fn sort_names(kind: RecordKind) -> &'static [(&'static str, SortField)] {
    match kind {
        RecordKind::Company => company_sort_names(),
        RecordKind::Person => person_sort_names(),
    }
}

/// Names and paths that `fields` may hold, in the order of the row.
#[must_use]
pub const fn field_names(kind: RecordKind) -> &'static [&'static str] {
    match kind {
        RecordKind::Company => &[
            "id",
            "name",
            "domain",
            "website",
            "businessTypes",
            "description",
            "tags",
            "businessEmail",
            "businessPhone",
            "location",
            "location.city",
            "location.region",
            "location.country",
            "location.countryCode",
            "employeeCount",
            "foundedDate",
            "newBusiness",
            "infoUpdatedAt",
            "locationMatch",
        ],
        RecordKind::Person => &[
            "id",
            "fullName",
            "firstName",
            "lastName",
            "jobTitle",
            "email",
            "emailStatus",
            "location",
            "location.city",
            "location.region",
            "location.country",
            "location.countryCode",
            "company",
            "company.id",
            "company.name",
            "company.domain",
            "company.website",
            "company.businessTypes",
            "infoUpdatedAt",
        ],
    }
}

/// The order that a query asks for, with what it leaves open filled in: without a field, relevance if one of
/// `companyName`, `businessType`, `descriptionKeywords`, `jobTitles` is given, else `infoUpdatedAt`; without a
/// direction, ascending for names and titles, else descending. Numbers that the enums don't know count as left open.
#[must_use]
pub fn applied_sort(query: &SearchQuery) -> (SortField, SortDirection) {
    let asked = query.sort.unwrap_or_default();
    let field = match asked.field() {
        SortField::Unspecified if ranks(query) => SortField::Relevance,
        SortField::Unspecified => SortField::InfoUpdatedAt,
        field => field,
    };
    let direction = match (asked.direction(), field) {
        (
            SortDirection::Unspecified,
            SortField::Name | SortField::FullName | SortField::JobTitle | SortField::CompanyName,
        ) => SortDirection::Asc,
        (SortDirection::Unspecified, _) => SortDirection::Desc,
        (direction, _) => direction,
    };
    (field, direction)
}

/// The same as a message.
#[must_use]
pub fn applied_sort_message(query: &SearchQuery) -> Sort {
    let (field, direction) = applied_sort(query);
    Sort {
        field: field.into(),
        direction: direction.into(),
    }
}

/// Whether a filter is given by which records are ranked.
fn ranks(query: &SearchQuery) -> bool {
    [
        &query.company_name,
        &query.business_type,
        &query.description_keywords,
    ]
    .into_iter()
    .chain(&query.job_titles)
    .any(|text| !text.trim().is_empty())
}

/// The candidate that a misspelt name most likely means, or else the only one that it is a part of; none if there is
/// neither. Case and underscores do not count.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Longer names are no slips of the pen, and would cost time.
    const MAX_CHARS: usize = 64;
    /// Shorter names are parts of many.
    const MIN_PART_CHARS: usize = 4;
    if name.chars().count() > MAX_CHARS {
        return None;
    }
    let fold = |text: &str| text.replace(['_', '-', ' '], "").to_lowercase();
    let name = fold(name);
    let candidates = candidates
        .into_iter()
        .map(|candidate| (fold(candidate), candidate));
    let candidates = candidates.collect::<Vec<_>>();
    let near = candidates
        .iter()
        .map(|(folded, candidate)| (strsim::damerau_levenshtein(&name, folded), *candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).min(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate);
    near.or_else(|| {
        // What rows call `name` is asked for as `companyName`.
        let is_long = name.chars().count() >= MIN_PART_CHARS;
        let mut holding = candidates
            .iter()
            .filter(|(folded, _)| is_long && folded.contains(&name));
        holding
            .next()
            .filter(|_| holding.next().is_none())
            .map(|(_, candidate)| *candidate)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use {SortDirection as Direction, SortField as Field};

    #[test]
    fn near_names_are_found_and_far_ones_not() {
        for (name, expected) in [
            ("companyNam", Some("companyName")),
            ("company_name", Some("companyName")),
            ("CompanyName", Some("companyName")),
            ("jobTitle", Some("jobTitles")),
            ("bussinesType", Some("businessType")),
            ("lmit", Some("limit")),
            ("pgae", Some("page")),
            ("name", Some("companyName")),
            ("domain", Some("companyDomain")),
            ("tags", Some("searchTags")),
            ("phone", Some("businessPhone")),
            ("e-mail", Some("businessEmail")),
            ("company", None),
            ("filter", None),
            ("x", None),
            ("to", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, QUERY_PROPERTIES), expected, "{name}");
        }
        assert_eq!(nearest(&"page".repeat(1000), QUERY_PROPERTIES), None);
        assert_eq!(nearest("x", ["q"]), None);
    }

    #[test]
    fn what_a_query_leaves_open_is_filled_in() {
        let sorted = |field: SortField, direction: SortDirection| SearchQuery {
            sort: Some(Sort {
                field: field.into(),
                direction: direction.into(),
            }),
            ..SearchQuery::default()
        };
        let named = SearchQuery {
            company_name: "acme".into(),
            ..SearchQuery::default()
        };
        let titled = SearchQuery {
            job_titles: vec![" ".into(), "CEO".into()],
            ..SearchQuery::default()
        };
        let blank = SearchQuery {
            company_name: " ".into(),
            job_titles: vec![" ".into()],
            ..SearchQuery::default()
        };
        for (query, expected) in [
            (SearchQuery::default(), (Field::InfoUpdatedAt, Direction::Desc)),
            (named, (Field::Relevance, Direction::Desc)),
            (titled, (Field::Relevance, Direction::Desc)),
            (blank, (Field::InfoUpdatedAt, Direction::Desc)),
            (
                sorted(Field::Name, Direction::Unspecified),
                (Field::Name, Direction::Asc),
            ),
            (
                sorted(Field::JobTitle, Direction::Unspecified),
                (Field::JobTitle, Direction::Asc),
            ),
            (
                sorted(Field::EmployeeCount, Direction::Unspecified),
                (Field::EmployeeCount, Direction::Desc),
            ),
            (
                sorted(Field::Name, Direction::Desc),
                (Field::Name, Direction::Desc),
            ),
            (
                sorted(Field::Unspecified, Direction::Asc),
                (Field::InfoUpdatedAt, Direction::Asc),
            ),
        ] {
            assert_eq!(applied_sort(&query), expected);
        }
    }
}
