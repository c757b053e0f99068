//! Examples. Those of responses are written by the types that are answered, so that they can't be out of date.

use proto::error_code::ErrorCode;
use proto::search::v1;
use proto::search_query::{RecordKind, field_names};
use proto::violation::{Violation, ViolationCode, summary};
use serde_json::{Map, Value, json};

use crate::body::search_body::PROPERTIES;
use crate::credits::CreditsBody;
use crate::error::{Error, Issue, message};
use crate::rest::count::{CountData, CountResponse};
use crate::rest::credits::{CreditsData, CreditsEntry, CreditsResponse, EntryType, PaidOperation};
use crate::rest::explain::{
    Comparison, ExplainData, ExplainResponse, ExplainedAlternative, ExplainedFilter, ExplainedPlace,
    ExplainedPlaces, ExplainedTerm, KindOfPlace,
};
use crate::rest::keys::{ApiKeyCreated, ApiKeyList, ApiKeyPublic, ApiKeyRenamed, ApiKeyRevoked};
use crate::rest::search::{AppliedSort, Direction, PagingMode, SearchData, SearchResponse};
use crate::row::{Row, Selection};

pub(super) const REQUEST_ID: &str = "0198c2d4-7a10-7c3e-9f52-3b1d8e6f4a20";
pub(super) const KEY_ID: &str = "0198c2d4-52b7-7a61-8d0e-6f4a203b1d8e";
const SECRET: &str = "dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV0lYb4h";

/// Of a body, by the name of its schema.
pub(super) fn requests(schema: &str) -> Value {
    let given = |names: &[&str]| -> Map<String, Value> {
        let chosen = PROPERTIES
            .iter()
            .filter(|property| names.contains(&property.name));
        let parsed =
            chosen.filter_map(|property| Some((property.name, serde_json::from_str(property.example).ok()?)));
        parsed
            .map(|(name, value): (_, Value)| (name.to_owned(), value))
            .collect()
    };
    match schema {
        "PeopleSearchRequest" => json!({
            "byTitle": {
                "summary": "People by title and place", "value": given(&["jobTitles", "location", "limit"]),
            },
            "everything": {"summary": "Everybody, walked by cursor", "value": given(&["cursor"])},
        }),
        "CompanySearchRequest" => json!({
            "byType": {
                "summary": "Companies of a type with a website",
                "value": given(&["businessType", "websiteStatus", "location", "sort", "limit"]),
            },
            "everything": {"summary": "Every company, walked by cursor", "value": given(&["cursor"])},
        }),
        _ => json!({"named": {"summary": "With a name", "value": {"name": "Production"}}}),
    }
}

/// Of a response, by the operation.
pub(super) fn response(operation: &str) -> Option<Value> {
    let message = "Keep the secret now: it is not shown again".to_owned();
    let created = ApiKeyCreated {
        success: true,
        key: key(None),
        secret: SECRET.to_owned(),
        message,
    };
    let revoked_at = Some("2026-11-28T10:00:00.000Z".to_owned());
    Some(match operation {
        "searchPeople" => json!(search(RecordKind::Person)),
        "searchCompanies" => json!(search(RecordKind::Company)),
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
        "listKeys" => json!(ApiKeyList {
            success: true,
            keys: vec![key(None)]
        }),
        "createKey" | "regenerateKey" => json!(created),
        "renameKey" => json!(ApiKeyRenamed {
            success: true,
            key: key(None)
        }),
        "revokeKey" => json!(ApiKeyRevoked {
            success: true,
            key: key(revoked_at),
            message: "Key revoked".to_owned()
        }),
        _ => return None,
    })
}

/// Of a refusal.
pub(super) fn error(code: ErrorCode) -> Value {
    let violations = if code == ErrorCode::ValidationError {
        vec![
            Violation::at("companyNam", ViolationCode::UnrecognizedKey, "is not known")
                .hint("did you mean `companyName`?"),
            Violation::at("limit", ViolationCode::TooBig, "is 300, more than 250"),
        ]
    } else {
        Vec::new()
    };
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

fn search(kind: RecordKind) -> SearchResponse<Row> {
    let selection = Selection::of(&v1::SearchQuery::default(), field_names(kind));
    let row = match kind {
        RecordKind::Company => selection.company(company()),
        RecordKind::Person => selection.person(person()),
    };
    SearchResponse {
        success: true,
        data: SearchData {
            rows: vec![row],
            total: 1,
            page: 1,
            limit: 25,
            next_cursor: None,
            pagination_mode: PagingMode::Page,
            sort: AppliedSort {
                field: "infoUpdatedAt",
                dir: Direction::Desc,
            },
        },
        credits: CreditsBody {
            cost: 1,
            balance: 999,
        },
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

fn company() -> v1::Company {
    v1::Company {
        id: "0198c2d4-1111-7a61-8d0e-6f4a203b1d8e".to_owned(),
        name: "Example Tools Inc.".to_owned(),
        domain: Some("example.com".to_owned()),
        website: Some("https://www.example.com".to_owned()),
        business_types: vec!["software".to_owned()],
        tags: vec!["b2b".to_owned()],
        business_email: Some("info@example.com".to_owned()),
        location: Some(place()),
        employee_count: Some(42),
        founded_date: Some("2019-05-02".to_owned()),
        info_updated_at: Some(UPDATED),
        ..v1::Company::default()
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
        ..v1::Person::default()
    }
}
