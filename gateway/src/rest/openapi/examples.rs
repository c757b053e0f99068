//! Examples. Those of responses are written by the types that are answered, so that they can't be out of date.

use proto::error_code::ErrorCode;
use proto::search::v1;
use proto::search_properties::PROPERTIES;
use proto::search_query::{DEFAULT_LIMIT, RecordKind, applied_sort_message, field_names};
use proto::violation::summary;
use serde_json::{Map, Value, json};

use super::{OPENAPI_VERSION, OPERATIONS, TITLE, VERSION};
use crate::body::key_body;
use crate::body::search_body;
use crate::credits::CreditsBody;
use crate::error::{Error, Issue, message};
use crate::rest::count::{CountData, CountResponse};
use crate::rest::credits::{CreditsData, CreditsEntry, CreditsResponse, EntryType, PaidOperation};
use crate::rest::explain::{
    Comparison, ExplainData, ExplainResponse, ExplainedAlternative, ExplainedFilter, ExplainedPlace,
    ExplainedPlaces, ExplainedTerm, KindOfPlace,
};
use crate::rest::keys::{
    ApiKeyCreated, ApiKeyList, ApiKeyPublic, ApiKeyRenamed, ApiKeyRevoked, CREATED, REGENERATED, REVOKED,
};
use crate::rest::search::{AppliedSort, Direction, PagingMode, SearchResponse, data};
use crate::rest::suggest::{SuggestData, SuggestResponse, Suggestion};
use crate::row::Selection;

pub(super) const REQUEST_ID: &str = "0198c2d4-7a10-7c3e-9f52-3b1d8e6f4a20";
pub(super) const KEY_ID: &str = "0198c2d4-52b7-7a61-8d0e-6f4a203b1d8e";
const SECRET: &str = "dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV0lYb4h";

/// A search, by the properties whose own examples make up its body.
struct Search {
    name: &'static str,
    summary: &'static str,
    properties: &'static [&'static str],
}

const PEOPLE: [Search; 2] = [
    Search {
        name: "byTitle",
        summary: "People by title and place",
        properties: &["jobTitles", "location", "limit"],
    },
    Search {
        name: "everything",
        summary: "Everybody, walked by cursor",
        properties: &["cursor"],
    },
];

const COMPANIES: [Search; 2] = [
    Search {
        name: "byType",
        summary: "Companies of a type with a website",
        properties: &["businessType", "websiteStatus", "location", "sort", "limit"],
    },
    Search {
        name: "everything",
        summary: "Every company, walked by cursor",
        properties: &["cursor"],
    },
];

impl Search {
    /// Examples are JSON, held by a test.
    fn body(&self) -> Value {
        let chosen = PROPERTIES
            .iter()
            .filter(|property| self.properties.contains(&property.name));
        let parsed =
            chosen.filter_map(|property| Some((property.name, serde_json::from_str(property.example).ok()?)));
        parsed
            .map(|(name, value): (_, Value)| (name.to_owned(), value))
            .collect::<Map<_, _>>()
            .into()
    }

    /// What is answered if there is one record, which is found.
    fn answer(&self, kind: RecordKind) -> Value {
        let query = search_body::parse(self.body().to_string().as_bytes(), kind).unwrap_or_default();
        let selection = Selection::of(&query, field_names(kind));
        let row = match kind {
            RecordKind::Company => selection.company(company(!query.location.is_empty())),
            RecordKind::Person => selection.person(person()),
        };
        let mode = if query.cursor.is_some() {
            v1::PaginationMode::Cursor
        } else {
            v1::PaginationMode::Page
        };
        let page = v1::PageInfo {
            total: 1,
            page: 1,
            limit: query.limit.unwrap_or(DEFAULT_LIMIT),
            next_cursor: None,
            pagination_mode: mode.into(),
            sort: Some(applied_sort_message(&query)),
        };
        let credits = CreditsBody {
            cost: 1,
            balance: 999,
        };
        let answer = data(kind, vec![row], page).map(|data| SearchResponse {
            success: true,
            data,
            credits,
        });
        json!(answer)
    }
}

/// What a body is, by the name of its schema.
pub(super) fn body(schema: &str) -> &'static str {
    match schema {
        "CreateKeyRequest" => "A name for the key; the whole body may be left out.",
        "RenameKeyRequest" => "The new name.",
        _ => "What is searched for, in which order, and which page of it.",
    }
}

/// Gives each property of an answer that has no example the one of the answer's own.
pub(super) fn write(schemas: &mut Value) {
    let answers = OPERATIONS.iter().filter_map(|operation| {
        let told = responses(operation.id);
        let first = || told["examples"].as_object()?.values().next()?.get("value");
        let example = told.get("example").or_else(first)?;
        let (_, _, schema) = operation.success;
        Some((schema, example.clone()))
    });
    let refused = error(ErrorCode::ValidationError, true);
    for (schema, example) in answers.chain([("Error", refused)]).collect::<Vec<_>>() {
        let place = format!("/{schema}/properties");
        let properties = schemas.pointer_mut(&place).and_then(Value::as_object_mut);
        for (name, property) in properties.into_iter().flatten() {
            let has_one = ["example", "examples", "const"]
                .iter()
                .any(|keyword| property.get(keyword).is_some());
            if let Some(value) = example.get(name).filter(|_| !has_one) {
                property["examples"] = json!([value]);
            }
        }
    }
}

/// Of a body, by the name of its schema.
pub(super) fn requests(schema: &str) -> Value {
    match schema {
        "PeopleSearchRequest" => named(&PEOPLE, Search::body),
        "CompanySearchRequest" => named(&COMPANIES, Search::body),
        _ => json!({"named": {"summary": "With a name", "value": {"name": "Production"}}}),
    }
}

fn named(searches: &[Search], value: impl Fn(&Search) -> Value) -> Value {
    let described = |search: &Search| {
        let example = json!({"summary": search.summary, "value": value(search)});
        (search.name.to_owned(), example)
    };
    searches.iter().map(described).collect::<Map<_, _>>().into()
}

/// Of an operation's response: those to the examples of its request, by the same names, or one.
pub(super) fn responses(operation: &str) -> Value {
    match operation {
        "searchPeople" => json!({"examples": named(&PEOPLE, |search| search.answer(RecordKind::Person))}),
        "searchCompanies" => {
            json!({"examples": named(&COMPANIES, |search| search.answer(RecordKind::Company))})
        }
        _ => response(operation).map_or_else(|| json!({}), |example| json!({"example": example})),
    }
}

fn response(operation: &str) -> Option<Value> {
    let with_secret = |message: &str| ApiKeyCreated {
        success: true,
        key: key(None),
        secret: SECRET.to_owned(),
        message: message.to_owned(),
    };
    let revoked_at = Some("2026-11-28T10:00:00.000Z".to_owned());
    Some(match operation {
        "countPeople" | "countCompanies" => json!(CountResponse {
            success: true,
            data: CountData { total: 1 }
        }),
        "explainPeople" | "explainCompanies" => json!(ExplainResponse {
            success: true,
            data: explanation()
        }),
        "getCredits" => json!(CreditsResponse {
            success: true,
            data: statement()
        }),
        "suggest" => json!(SuggestResponse {
            success: true,
            data: suggestions()
        }),
        "listKeys" => json!(ApiKeyList {
            success: true,
            keys: vec![key(None)]
        }),
        "createKey" => json!(with_secret(CREATED)),
        "regenerateKey" => json!(with_secret(REGENERATED)),
        "renameKey" => json!(ApiKeyRenamed {
            success: true,
            key: key(None)
        }),
        "revokeKey" => json!(ApiKeyRevoked {
            success: true,
            key: key(revoked_at),
            message: REVOKED.to_owned()
        }),
        "getOpenApi" => json!({
            "openapi": OPENAPI_VERSION,
            "info": {"title": TITLE, "version": VERSION},
            "paths": {},
            "components": {},
        }),
        _ => return None,
    })
}

/// Of a refusal.
pub(super) fn error(code: ErrorCode, is_search: bool) -> Value {
    let violations = match code {
        ErrorCode::ValidationError if is_search => {
            search_body::parse(br#"{"companyNam": "acme", "limit": 300}"#, RecordKind::Company).err()
        }
        ErrorCode::ValidationError => key_body::parse_rename(br#"{"name": " "}"#).err(),
        _ => None,
    };
    let violations = violations.unwrap_or_default();
    let message = if violations.is_empty() {
        message(code).to_owned()
    } else {
        summary(&violations)
    };
    json!(Error {
        success: false,
        code: code.as_str(),
        message,
        request_id: REQUEST_ID.to_owned(),
        issues: violations.into_iter().map(Issue::from).collect(),
    })
}

fn key(revoked_at: Option<String>) -> ApiKeyPublic {
    ApiKeyPublic {
        id: KEY_ID.to_owned(),
        name: "Production".to_owned(),
        key_prefix: "dsk_01234567".to_owned(),
        created_at: "2026-11-28T09:30:00.000Z".to_owned(),
        last_used_at: None,
        active: revoked_at.is_none(),
        revoked_at,
    }
}

fn explanation() -> ExplainData {
    let location = ExplainedTerm {
        compared: Comparison::Place,
        value: "munich".to_owned(),
        other_forms: Vec::new(),
        places: Some(ExplainedPlaces {
            candidates: vec![ExplainedPlace {
                kind: KindOfPlace::City,
                name: "Munich".to_owned(),
                region: Some("Bavaria".to_owned()),
                country: "Germany".to_owned(),
                country_code: "DE".to_owned(),
                is_left: true,
            }],
            more: 0,
        }),
    };
    ExplainData {
        filters: vec![ExplainedFilter {
            filter: "location".to_owned(),
            fields: vec!["location".to_owned()],
            excludes: false,
            any_of: vec![ExplainedAlternative {
                text: "Munich".to_owned(),
                all_of: vec![location],
            }],
        }],
        sort: AppliedSort {
            field: "infoUpdatedAt",
            dir: Direction::Desc,
        },
        page: 1,
        limit: 25,
        pagination_mode: PagingMode::Page,
        fields: vec!["id".to_owned(), "location".to_owned()],
        cost: 1,
    }
}

fn statement() -> CreditsData {
    let entry = |id, kind, operation, amount, balance| CreditsEntry {
        id,
        kind,
        operation,
        amount,
        balance,
        corrects: None,
        created_at: "2026-11-28T09:30:00.000Z".to_owned(),
    };
    let searched = Some(PaidOperation::SearchPeople);
    CreditsData {
        balance: 999,
        entries: vec![
            entry(18, EntryType::Charge, searched, -1, 999),
            entry(17, EntryType::Grant, None, 1_000, 1_000),
        ],
        next_cursor: None,
    }
}

fn suggestions() -> SuggestData {
    let suggestion = |value: &str, companies, people| Suggestion {
        value: value.to_owned(),
        filter: format!("\"{value}\""),
        companies,
        people,
    };
    SuggestData {
        suggestions: vec![
            suggestion("Head of Marketing", 7, 8),
            suggestion("Head of Maintenance", 1, 1),
        ],
    }
}

fn place() -> v1::Location {
    v1::Location {
        city: Some("Springfield".to_owned()),
        region: Some("Illinois".to_owned()),
        country: Some("United States".to_owned()),
        country_code: Some("US".to_owned()),
    }
}

const UPDATED: prost_types::Timestamp = prost_types::Timestamp {
    seconds: 1_795_000_000,
    nanos: 0,
};

/// Told to be found by its place, or not.
fn company(is_found_by_place: bool) -> v1::Company {
    let location_match = if is_found_by_place {
        v1::LocationMatch::Company
    } else {
        v1::LocationMatch::Unspecified
    };
    v1::Company {
        id: "0198c2d4-1111-7a61-8d0e-6f4a203b1d8e".to_owned(),
        name: "Example Tools Inc.".to_owned(),
        domain: Some("example.com".to_owned()),
        website: Some("https://www.example.com".to_owned()),
        business_types: vec!["software".to_owned()],
        tags: vec!["b2b".to_owned()],
        description: Some("Tools that make examples.".to_owned()),
        business_email: Some("info@example.com".to_owned()),
        business_phone: Some("+1 217-555-0142".to_owned()),
        location: Some(place()),
        employee_count: Some(42),
        founded_date: Some("2019-05-02".to_owned()),
        info_updated_at: Some(UPDATED),
        location_match: location_match.into(),
        new_business: false,
    }
}

fn person() -> v1::Person {
    v1::Person {
        id: "0198c2d4-2222-7a61-8d0e-6f4a203b1d8e".to_owned(),
        full_name: "Robin Example".to_owned(),
        first_name: Some("Robin".to_owned()),
        last_name: Some("Example".to_owned()),
        job_title: Some("CTO".to_owned()),
        email_status: v1::EmailStatus::Locked.into(),
        location: Some(place()),
        company: Some(v1::CompanySummary {
            id: "0198c2d4-1111-7a61-8d0e-6f4a203b1d8e".to_owned(),
            name: "Example Tools Inc.".to_owned(),
            domain: Some("example.com".to_owned()),
            website: Some("https://www.example.com".to_owned()),
            business_types: vec!["software".to_owned()],
        }),
        info_updated_at: Some(UPDATED),
        email: None,
    }
}
