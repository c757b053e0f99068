//! Bounds of what is sent and answered, from the rules that hold them: of what is answered, those that let it in.

use proto::api_key;
use proto::credits::{MAX_BALANCE, MAX_CHARGE};
use proto::cursor;
use proto::key::MAX_NAME_CHARACTERS;
use proto::record::{
    MAX_BUSINESS_TYPES, MAX_DESCRIPTION_CHARS, MAX_EMAIL_CHARS, MAX_LABEL_CHARS, MAX_LINE_CHARS,
    MAX_NAME_CHARS, MAX_SHORT_CHARS, MAX_TAGS, MAX_WEBSITE_CHARS,
};
use proto::search_properties::PROPERTIES;
use proto::search_query::{
    MAX_EXPLAINED_PLACES, MAX_ITEM_CHARS, MAX_ITEMS, MAX_LIMIT, MAX_TERMS, MAX_TEXT_CHARS, RecordKind,
    sort_names,
};
use proto::suggestions;
use runtime::request_id;
use serde_json::{Map, Value, json};

use super::words;
use crate::body::json::MAX_DEPTH;
use crate::body::property::MAX_STEP_CHARS;
use crate::error::{MAX_ISSUES, MAX_MESSAGE_CHARS};
use crate::rest::credits;

/// No text of ours holds a NUL: neither what is asked for nor what is stored.
const NO_NUL: &str = r"^[^\u0000]*$";

/// What was sent under a name that nobody knows is told as it was, whatever it holds.
const ANY_TEXT: &str = r"^[\s\S]*$";

/// Base64 for addresses, without padding.
pub(super) const CURSOR: Bound = Bound::Form("^[A-Za-z0-9_-]+$", cursor::MAX_CHARS);

/// How long a text of a standard form is, as we write it.
const FORMATS: [(&str, usize); 3] = [
    ("uuid", "0198c2d4-7a10-7c3e-9f52-3b1d8e6f4a20".len()),
    ("date", "2026-11-28".len()),
    ("date-time", "2026-11-28T09:30:00.000Z".len()),
];

/// Bounds of one value.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    /// Most characters of a text.
    Text(usize),
    /// The form of a text, and its most characters.
    Form(&'static str, usize),
    /// The words of which a text is one.
    Words(fn() -> Vec<&'static str>),
    /// The least and the greatest integer.
    Integer(i64, i64),
    /// Most items of a list.
    Items(usize),
    /// Most items of a page of them.
    Page(i64),
    /// Which item of a list.
    Index,
}

/// What the derivation can't take from a constant: where it is, and its bounds.
pub(super) const BOUNDS: [(&str, Bound); 86] = [
    ("/AppliedSort/properties/field", Bound::Words(sort_fields)),
    (
        "/ApiKeyCreated/properties/message",
        Bound::Text(MAX_MESSAGE_CHARS),
    ),
    (
        "/ApiKeyCreated/properties/secret",
        Bound::Form("^dsk_[0-9A-Za-z]{38}$", api_key::LENGTH),
    ),
    (
        "/ApiKeyPublic/properties/keyPrefix",
        Bound::Form("^dsk_[0-9A-Za-z]{8}$", api_key::SHOWN_LENGTH),
    ),
    ("/ApiKeyPublic/properties/name", Bound::Text(MAX_NAME_CHARACTERS)),
    (
        "/ApiKeyRevoked/properties/message",
        Bound::Text(MAX_MESSAGE_CHARS),
    ),
    ("/Company/properties/businessEmail", Bound::Text(MAX_EMAIL_CHARS)),
    ("/Company/properties/businessPhone", Bound::Text(MAX_LINE_CHARS)),
    (
        "/Company/properties/businessTypes",
        Bound::Items(MAX_BUSINESS_TYPES),
    ),
    (
        "/Company/properties/businessTypes/items",
        Bound::Text(MAX_LABEL_CHARS),
    ),
    (
        "/Company/properties/description",
        Bound::Text(MAX_DESCRIPTION_CHARS),
    ),
    ("/Company/properties/domain", Bound::Text(MAX_LINE_CHARS)),
    ("/Company/properties/employeeCount", Bound::Integer(0, i64::MAX)),
    (
        "/Company/properties/foundedDate",
        Bound::Form("^[0-9]{4}(-[0-9]{2}-[0-9]{2})?$", "2019-05-02".len()),
    ),
    ("/Company/properties/name", Bound::Text(MAX_NAME_CHARS)),
    ("/Company/properties/tags", Bound::Items(MAX_TAGS)),
    ("/Company/properties/tags/items", Bound::Text(MAX_LABEL_CHARS)),
    ("/Company/properties/website", Bound::Text(MAX_WEBSITE_CHARS)),
    ("/CompanySearchData/properties/limit", PAGE_SIZE),
    ("/CompanySearchData/properties/nextCursor", CURSOR),
    ("/CompanySearchData/properties/page", Bound::Integer(1, i64::MAX)),
    ("/CompanySearchData/properties/rows", Bound::Page(MAX_LIMIT)),
    ("/CompanySearchData/properties/total", Bound::Integer(0, i64::MAX)),
    ("/CountData/properties/total", Bound::Integer(0, i64::MAX)),
    ("/Credits/properties/balance", Bound::Integer(0, MAX_BALANCE)),
    ("/Credits/properties/cost", Bound::Integer(0, MAX_CHARGE)),
    ("/CreditsData/properties/balance", Bound::Integer(0, MAX_BALANCE)),
    ("/CreditsData/properties/entries", Bound::Page(credits::MAX_LIMIT)),
    ("/CreditsData/properties/nextCursor", ENTRY_CURSOR),
    (
        "/CreditsEntry/properties/amount",
        Bound::Integer(-MAX_BALANCE, MAX_BALANCE),
    ),
    ("/CreditsEntry/properties/balance", Bound::Integer(0, MAX_BALANCE)),
    ("/CreditsEntry/properties/corrects", Bound::Integer(1, i64::MAX)),
    ("/CreditsEntry/properties/id", Bound::Integer(1, i64::MAX)),
    ("/Error/properties/issues", Bound::Items(MAX_ISSUES)),
    ("/Error/properties/message", Bound::Text(MAX_MESSAGE_CHARS)),
    ("/Error/properties/requestId", REQUEST_ID),
    ("/ExplainData/properties/cost", Bound::Integer(0, MAX_CHARGE)),
    ("/ExplainData/properties/fields", Bound::Items(MAX_ITEMS)),
    (
        "/ExplainData/properties/fields/items",
        Bound::Text(MAX_ITEM_CHARS),
    ),
    ("/ExplainData/properties/filters", Bound::Items(PROPERTIES.len())),
    ("/ExplainData/properties/limit", PAGE_SIZE),
    ("/ExplainData/properties/page", Bound::Integer(1, i64::MAX)),
    (
        "/ExplainedAlternative/properties/allOf",
        Bound::Items(MAX_TEXT_CHARS),
    ),
    ("/ExplainedAlternative/properties/text", COMPOSED),
    ("/ExplainedFilter/properties/anyOf", Bound::Items(MAX_TERMS)),
    ("/ExplainedFilter/properties/fields", Bound::Items(MAX_ITEMS)),
    (
        "/ExplainedFilter/properties/fields/items",
        Bound::Text(MAX_ITEM_CHARS),
    ),
    ("/ExplainedFilter/properties/filter", Bound::Words(filters)),
    ("/ExplainedPlace/properties/country", Bound::Text(MAX_SHORT_CHARS)),
    (
        "/ExplainedPlace/properties/countryCode",
        Bound::Form("^[A-Z]{2}$", 2),
    ),
    ("/ExplainedPlace/properties/name", Bound::Text(MAX_SHORT_CHARS)),
    ("/ExplainedPlace/properties/region", Bound::Text(MAX_SHORT_CHARS)),
    (
        "/ExplainedPlaces/properties/candidates",
        Bound::Items(MAX_EXPLAINED_PLACES),
    ),
    ("/ExplainedPlaces/properties/more", Bound::Integer(0, 1_000_000)),
    ("/ExplainedTerm/properties/otherForms", Bound::Items(1)),
    ("/ExplainedTerm/properties/otherForms/items", COMPOSED),
    ("/ExplainedTerm/properties/value", COMPOSED),
    ("/Issue/properties/hint", Bound::Text(MAX_MESSAGE_CHARS)),
    ("/Issue/properties/message", Bound::Text(MAX_MESSAGE_CHARS)),
    ("/Issue/properties/path", Bound::Items(MAX_DEPTH)),
    ("/IssuePathSegment/oneOf/0", Bound::Form(ANY_TEXT, MAX_STEP_CHARS)),
    ("/IssuePathSegment/oneOf/1", Bound::Index),
    ("/Location/properties/city", Bound::Text(MAX_SHORT_CHARS)),
    ("/Location/properties/country", Bound::Text(MAX_SHORT_CHARS)),
    ("/Location/properties/countryCode", Bound::Form("^[A-Z]{2}$", 2)),
    ("/Location/properties/region", Bound::Text(MAX_SHORT_CHARS)),
    ("/PeopleSearchData/properties/limit", PAGE_SIZE),
    ("/PeopleSearchData/properties/nextCursor", CURSOR),
    ("/PeopleSearchData/properties/page", Bound::Integer(1, i64::MAX)),
    ("/PeopleSearchData/properties/rows", Bound::Page(MAX_LIMIT)),
    ("/PeopleSearchData/properties/total", Bound::Integer(0, i64::MAX)),
    ("/Person/properties/email", Bound::Text(MAX_EMAIL_CHARS)),
    ("/Person/properties/firstName", Bound::Text(MAX_SHORT_CHARS)),
    ("/Person/properties/fullName", Bound::Text(MAX_NAME_CHARS)),
    ("/Person/properties/jobTitle", Bound::Text(MAX_LINE_CHARS)),
    ("/Person/properties/lastName", Bound::Text(MAX_SHORT_CHARS)),
    (
        "/PersonCompany/properties/businessTypes",
        Bound::Items(MAX_BUSINESS_TYPES),
    ),
    (
        "/PersonCompany/properties/businessTypes/items",
        Bound::Text(MAX_LABEL_CHARS),
    ),
    ("/PersonCompany/properties/domain", Bound::Text(MAX_LINE_CHARS)),
    ("/PersonCompany/properties/name", Bound::Text(MAX_NAME_CHARS)),
    (
        "/PersonCompany/properties/website",
        Bound::Text(MAX_WEBSITE_CHARS),
    ),
    (
        "/SuggestData/properties/suggestions",
        Bound::Page(suggestions::MAX_LIMIT),
    ),
    ("/Suggestion/properties/companies", Bound::Integer(0, i64::MAX)),
    ("/Suggestion/properties/filter", Bound::Text(MAX_TEXT_CHARS)),
    ("/Suggestion/properties/people", Bound::Integer(0, i64::MAX)),
    ("/Suggestion/properties/value", Bound::Text(MAX_TEXT_CHARS)),
];

pub(super) const REQUEST_ID: Bound = Bound::Form("^[A-Za-z0-9._-]+$", request_id::MAX_CHARS);
/// Where a page of the ledger ends.
pub(super) const ENTRY_CURSOR: Bound = Bound::Form("^[1-9][0-9]*$", "9223372036854775807".len());
/// What was written, after Unicode NFKC: one character becomes 18 at most.
const COMPOSED: Bound = Bound::Text(MAX_TEXT_CHARS * 18);
const PAGE_SIZE: Bound = Bound::Integer(1, MAX_LIMIT);

impl Bound {
    /// A schema that says no more than this.
    pub(super) fn schema(self) -> Value {
        let kind = match self {
            Self::Text(_) | Self::Form(..) | Self::Words(_) => "string",
            Self::Integer(..) | Self::Index => "integer",
            Self::Items(_) | Self::Page(_) => "array",
        };
        let mut schema = Map::from_iter([("type".to_owned(), kind.into())]);
        self.write(&mut schema);
        schema.into()
    }

    fn write(self, schema: &mut Map<String, Value>) {
        let bounds = match self {
            Self::Text(most) => json!({"maxLength": most, "pattern": NO_NUL}),
            Self::Form(pattern, most) => json!({"maxLength": most, "pattern": pattern}),
            Self::Words(words) => json!({"enum": words()}),
            Self::Integer(least, greatest) => {
                let format = if i32::try_from(greatest).is_ok() {
                    "int32"
                } else {
                    "int64"
                };
                json!({"minimum": least, "maximum": greatest, "format": format})
            }
            Self::Items(most) => json!({"maxItems": most}),
            Self::Page(most) => json!({"maxItems": most}),
            Self::Index => json!({"minimum": 0, "maximum": MAX_ITEMS - 1, "format": "int32"}),
        };
        if let Value::Object(bounds) = bounds {
            schema.extend(bounds);
        }
    }
}

/// Writes all bounds into the schemas.
pub(super) fn write(schemas: &mut Value) {
    for (place, bound) in BOUNDS {
        if let Some(Value::Object(schema)) = schemas.pointer_mut(place) {
            bound.write(schema);
        }
    }
    write_lengths(schemas);
}

/// A standard form bounds a text, which not every reader of the document knows.
fn write_lengths(schema: &mut Value) {
    if let Some((_, length)) = FORMATS.iter().find(|(format, _)| schema["format"] == *format) {
        schema["maxLength"] = (*length).into();
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(write_lengths),
        Value::Array(items) => items.iter_mut().for_each(write_lengths),
        _ => {}
    }
}

/// The filters of a search.
fn filters() -> Vec<&'static str> {
    let filters = PROPERTIES.iter().filter(|property| property.is_filter());
    filters.map(|property| property.name).collect()
}

/// What either kind of records may be sorted by.
fn sort_fields() -> Vec<&'static str> {
    let mut fields = words(sort_names(RecordKind::Company));
    for field in words(sort_names(RecordKind::Person)) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}
