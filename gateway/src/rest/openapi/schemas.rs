//! Schemas: of bodies by the tables that parse them, of responses by their types.

use proto::search_query::{MAX_ITEM_CHARS, MAX_ITEMS, MAX_TEXT_CHARS, RecordKind, field_names, sort_names};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::body::key_body;
use crate::body::search_body::{DIRECTIONS, Kind, PROPERTIES, Property};
use crate::error::Error;
use crate::rest::count::CountResponse;
use crate::rest::credits::CreditsResponse;
use crate::rest::explain::ExplainResponse;
use crate::rest::keys::{ApiKeyCreated, ApiKeyList, ApiKeyRenamed, ApiKeyRevoked};
use crate::rest::search::SearchResponse;
use crate::row::{CompanyRow, PersonRow};

/// Names of types, as the derivation makes them, and as they are published.
const NAMES: [(&str, &str); 4] = [
    ("SearchData_CompanyRow", "CompanySearchData"),
    ("SearchData_PersonRow", "PeopleSearchData"),
    ("CompanyRow", "Company"),
    ("PersonRow", "Person"),
];

/// Rows and what is in them: by `fields`, a caller may leave out all but the id.
const PARTIAL: [(&str, &[&str]); 4] = [
    ("Company", &["id"]),
    ("Person", &["id"]),
    ("Location", &[]),
    ("PersonCompany", &[]),
];

/// Every schema.
pub(super) fn all() -> Value {
    let mut schemas = Map::new();
    add::<Error>(&mut schemas, &Error::name());
    add::<CompanyRow>(&mut schemas, "Company");
    add::<PersonRow>(&mut schemas, "Person");
    add::<SearchResponse<CompanyRow>>(&mut schemas, "CompanySearchResponse");
    add::<SearchResponse<PersonRow>>(&mut schemas, "PeopleSearchResponse");
    add::<CountResponse>(&mut schemas, &CountResponse::name());
    add::<ExplainResponse>(&mut schemas, &ExplainResponse::name());
    add::<CreditsResponse>(&mut schemas, &CreditsResponse::name());
    add::<ApiKeyList>(&mut schemas, &ApiKeyList::name());
    add::<ApiKeyCreated>(&mut schemas, &ApiKeyCreated::name());
    add::<ApiKeyRenamed>(&mut schemas, &ApiKeyRenamed::name());
    add::<ApiKeyRevoked>(&mut schemas, &ApiKeyRevoked::name());
    // The derivation writes the rows of a generic page out; they have a name.
    for (data, row) in [("CompanySearchData", "Company"), ("PeopleSearchData", "Person")] {
        if let Some(items) = schemas
            .get_mut(data)
            .and_then(|data| data.pointer_mut("/properties/rows/items"))
        {
            *items = json!({"$ref": format!("#/components/schemas/{row}")});
        }
    }
    for (name, required) in PARTIAL {
        if let Some(schema) = schemas.get_mut(name) {
            schema["required"] = json!(required);
        }
    }
    schemas.insert(
        "CompanySearchRequest".to_owned(),
        search_request(RecordKind::Company),
    );
    schemas.insert(
        "PeopleSearchRequest".to_owned(),
        search_request(RecordKind::Person),
    );
    schemas.insert("CreateKeyRequest".to_owned(), key_request(&[]));
    schemas.insert("RenameKeyRequest".to_owned(), key_request(&[key_body::NAME]));
    let document = json!({
        "type": "object",
        "description": "An OpenAPI document.",
        "required": ["openapi", "info"],
        "properties": {"openapi": {"type": "string", "example": "3.1.0"}, "info": {"type": "object"}},
    });
    schemas.insert("OpenApiDocument".to_owned(), document);
    schemas.into()
}

/// A type, by this name, and all that it refers to.
fn add<T: ToSchema>(schemas: &mut Map<String, Value>, name: &str) {
    let mut found: Vec<(String, RefOr<Schema>)> = vec![(name.to_owned(), T::schema())];
    T::schemas(&mut found);
    for (name, schema) in found {
        // A schema is made of what JSON is made of.
        let mut schema = serde_json::to_value(schema).unwrap_or_default();
        publish_names(&mut schema);
        schemas.insert(published(&name), schema);
    }
}

fn published(name: &str) -> String {
    NAMES
        .iter()
        .find(|(made, _)| *made == name)
        .map_or(name, |(_, published)| published)
        .to_owned()
}

/// References by the published names.
fn publish_names(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get_mut("$ref")
                && let Some((place, name)) = reference.rsplit_once('/')
            {
                *reference = format!("{place}/{}", published(name));
            }
            object.values_mut().for_each(publish_names);
        }
        Value::Array(items) => items.iter_mut().for_each(publish_names),
        _ => {}
    }
}

fn search_request(kind: RecordKind) -> Value {
    let properties = PROPERTIES
        .iter()
        .map(|property| (property.name.to_owned(), describe(property, kind)));
    json!({
        "type": "object",
        "description": "Filters, order and page of a search. All properties are optional; different filters are \
                        AND-ed; `{}` asks for everything.",
        "additionalProperties": false,
        "properties": properties.collect::<Map<_, _>>(),
    })
}

fn describe(property: &Property, kind: RecordKind) -> Value {
    let mut schema = match &property.kind {
        Kind::Text(_) => json!({"type": "string", "maxLength": MAX_TEXT_CHARS}),
        Kind::Date(_) => json!({"type": "string", "format": "date"}),
        Kind::Texts(_) => json!({
            "type": "array", "maxItems": MAX_ITEMS, "items": {"type": "string", "maxLength": MAX_ITEM_CHARS},
        }),
        Kind::Choice(_, choices) => json!({"type": "string", "enum": words(choices)}),
        Kind::Integer { maximum, default, .. } => {
            json!({"type": "integer", "minimum": 1, "maximum": maximum, "default": default})
        }
        Kind::Cursor => json!({"type": ["string", "null"], "minLength": 1}),
        Kind::Sort => json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "field": {
                    "type": "string",
                    "description": "What to sort by; ties are broken by `id`, records without a value come last.",
                    "enum": words(sort_names(kind)),
                },
                "dir": {
                    "type": "string",
                    "description": "`asc` for names and titles unless given, else `desc`; `relevance` knows only \
                                    `desc`.",
                    "enum": words(DIRECTIONS),
                },
            },
        }),
        Kind::Fields => json!({
            "type": "array", "maxItems": MAX_ITEMS, "items": {"type": "string", "enum": field_names(kind)},
        }),
    };
    schema["description"] = property.doc.into();
    // Each example is JSON, held by a test.
    schema["examples"] = json!([serde_json::from_str::<Value>(property.example).unwrap_or_default()]);
    schema
}

fn words<T>(choices: &'static [(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(word, _)| *word).collect()
}

fn key_request(required: &[&str]) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": "A name for a key.",
        "additionalProperties": false,
        "properties": {
            key_body::NAME: {
                "type": "string",
                "minLength": 1,
                // No `maxLength`: the spaces around a name don't count.
                "pattern": proto::key::NAME_PATTERN,
                "description": format!("1-{} characters after trimming, no control characters.", proto::key::MAX_NAME_CHARACTERS),
                "examples": ["Production"],
            },
        },
    });
    if required.is_empty() {
        schema["properties"][key_body::NAME]["default"] = proto::key::DEFAULT_NAME.into();
    } else {
        schema["required"] = json!(required);
    }
    schema
}
