//! The searches by hand, for the tables of the baseline. Each answers the page's rows, in order, and the exact total in
//! one statement.
//!
//! Where few records match, they are found once, counted, and sorted. Where many do, the page comes from an index in the
//! order asked for, and the total is counted beside it.

/// What a row of a company tells.
macro_rules! company_columns {
    () => {
        "c.id, c.name, c.domain, c.website, c.business_types, c.description, c.tags, c.business_email, \
         c.business_phone, c.city, c.region, c.country, c.employee_count, c.founded, c.info_updated_at"
    };
}

/// What a row of a person tells.
macro_rules! person_columns {
    () => {
        "p.id, p.full_name, p.first_name, p.last_name, p.job_title, p.has_email, p.city, p.region, p.country, \
         p.info_updated_at, e.id, e.name, e.domain, e.website, e.business_types"
    };
}

/// Companies that match, found once.
macro_rules! companies_matching {
    ($key:literal, $filter:literal) => {
        concat!(
            "WITH matching AS MATERIALIZED (SELECT c.id AS hit, ",
            $key,
            " AS key FROM company c WHERE ",
            $filter,
            "), page AS (SELECT * FROM matching ORDER BY key DESC, hit LIMIT 25) SELECT (SELECT count(*) FROM matching) AS total, ",
            company_columns!(),
            " FROM page JOIN company c ON c.id = page.hit ORDER BY key DESC, hit"
        )
    };
}

/// A page of many companies, by an index.
macro_rules! companies_sorted {
    ($filter:literal, $order:literal) => {
        concat!(
            "SELECT (SELECT count(*) FROM company c WHERE ",
            $filter,
            ") AS total, ",
            company_columns!(),
            " FROM company c WHERE ",
            $filter,
            " ORDER BY ",
            $order,
            " LIMIT 25 OFFSET $1"
        )
    };
}

/// A page of many people, by an index.
macro_rules! people_sorted {
    ($order:literal) => {
        concat!(
            "SELECT (SELECT count(*) FROM person) AS total, ",
            person_columns!(),
            " FROM person p LEFT JOIN company e ON e.id = p.company_id ORDER BY ",
            $order,
            " LIMIT 25 OFFSET $1"
        )
    };
}

/// `$1` words, `$2` country, `$3` whole value, `$4` phrase, `$5` words that must be in one value, if there are several.
pub(super) const TYPE_AND_COUNTRY: &str = companies_matching!(
    "CASE WHEN c.type_values @> ARRAY[$3] THEN 3 WHEN c.type_words @@ $4::tsquery THEN 2 ELSE 1 END",
    "c.type_words @@ $1::tsquery AND c.countries @> ARRAY[$2] AND (cardinality($5::text[]) < 2 OR EXISTS (\
     SELECT FROM unnest(c.type_values) AS value WHERE string_to_array(value, ' ') @> $5))"
);

/// `$1` words, `$2` phrase.
pub(super) const DESCRIPTION: &str = companies_matching!(
    "CASE WHEN c.description_words @@ $2::tsquery THEN 2 ELSE 1 END",
    "c.description_words @@ $1::tsquery"
);

/// `$1` domain.
pub(super) const DOMAIN: &str = companies_matching!("c.info_updated_at", "c.domain = $1");

/// `$1` words, `$2` whole name, `$3` phrase.
pub(super) const NAME: &str = companies_matching!(
    "CASE WHEN c.name_key = $2 THEN 3 WHEN c.name_words @@ $3::tsquery THEN 2 ELSE 1 END",
    "c.name_words @@ $1::tsquery"
);

/// `$1` words of the title, `$2` word of the type, `$3` city, `$4` whole title, `$5` phrase, `$6` whole type.
pub(super) const TITLE_TYPE_AND_CITY: &str = concat!(
    "WITH matching AS MATERIALIZED (SELECT p.id, \
     CASE WHEN p.title_key = $4 THEN 3 WHEN p.title_words @@ $5::tsquery THEN 2 ELSE 1 END AS title, \
     CASE WHEN c.type_values @> ARRAY[$6] THEN 3 ELSE 2 END AS type \
     FROM person p JOIN company c ON c.id = p.company_id \
     WHERE p.title_words @@ $1::tsquery AND p.company_type_words @@ $2::tsquery AND p.place_keys @> ARRAY[$3]), \
     page AS (SELECT * FROM matching ORDER BY title DESC, type DESC, id LIMIT 25) \
     SELECT (SELECT count(*) FROM matching) AS total, ",
    person_columns!(),
    " FROM page JOIN person p ON p.id = page.id LEFT JOIN company e ON e.id = p.company_id \
     ORDER BY page.title DESC, page.type DESC, p.id"
);

/// `$1` rows to leave out.
pub(super) const BY_EMPLOYEES: &str = companies_sorted!("true", "c.employee_count DESC NULLS LAST, c.id");
/// `$1` rows to leave out.
pub(super) const BY_FOUNDING: &str = companies_sorted!("true", "c.founded DESC NULLS LAST, c.id");
/// `$1` rows to leave out.
pub(super) const COMPANIES_BY_UPDATE: &str = companies_sorted!("true", "c.info_updated_at DESC, c.id");
/// `$1` rows to leave out.
pub(super) const PEOPLE_BY_UPDATE: &str = people_sorted!("p.info_updated_at DESC, p.id");
/// `$1` rows to leave out.
pub(super) const PEOPLE_BY_NAME: &str = people_sorted!("p.name_order, p.id");
/// `$1` rows to leave out.
pub(super) const BY_NAME: &str = companies_sorted!("true", "c.name_order, c.id");
/// `$1` rows to leave out.
pub(super) const WITH_WEBSITE_BY_NAME: &str =
    companies_sorted!("c.website IS NOT NULL", "c.name_order, c.id");

/// `$1` and `$2` first and last day, `$3` words as types and descriptions have them, `$4` as names have them.
pub(super) const EXCLUDED_AND_UPDATED: &str = companies_matching!(
    "c.info_updated_at",
    "c.info_updated_at >= $1::timestamp AT TIME ZONE 'UTC' \
     AND c.info_updated_at < ($2 + 1)::timestamp AT TIME ZONE 'UTC' \
     AND NOT (c.type_words @@ $3::tsquery OR c.description_words @@ $3::tsquery OR c.name_words @@ $4::tsquery)"
);

/// `$1` time and `$2` id of the row before.
pub(super) const BEHIND: &str = concat!(
    "SELECT (SELECT count(*) FROM company WHERE website IS NOT NULL) AS total, ",
    company_columns!(),
    " FROM company c WHERE c.website IS NOT NULL AND c.info_updated_at <= $1 \
     AND (c.info_updated_at < $1 OR c.id > $2) ORDER BY c.info_updated_at DESC, c.id LIMIT 250"
);

/// `$1` city, `$2` words of the title.
pub(super) const THROUGH_PEOPLE: &str = companies_matching!(
    "c.info_updated_at",
    "c.cities @> ARRAY[$1] AND c.id IN (SELECT company_id FROM person WHERE title_words @@ $2::tsquery)"
);

/// `$1` tags, `$2` and `$3` first and last day of founding. New, with a website.
pub(super) const TAGS_NEW_WITH_WEBSITE: &str = companies_matching!(
    "c.info_updated_at",
    "c.tag_keys && $1 AND c.founded BETWEEN $2 AND $3 AND c.website IS NOT NULL"
);

/// `$1` tags, `$2` and `$3` first and last day of founding of the new. Others, without a website.
pub(super) const TAGS_OLD_WITHOUT_WEBSITE: &str = companies_matching!(
    "c.info_updated_at",
    "c.tag_keys && $1 AND (c.founded IS NULL OR c.founded NOT BETWEEN $2 AND $3) AND c.website IS NULL"
);
