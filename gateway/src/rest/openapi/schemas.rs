//! Schemas: of bodies by the tables that parse them, of responses by their types.

use proto::search_properties::{DIRECTIONS, Kind, PROPERTIES, Property};
use proto::search_query::{MAX_ITEM_CHARS, MAX_ITEMS, MAX_TEXT_CHARS, RecordKind, field_names, sort_names};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::bounds::{self, Bound, CURSOR};
use super::{OPENAPI_VERSION, words};
use crate::body::key_body;
use crate::error::Error;
use crate::rest::count::CountResponse;
use crate::rest::credits::CreditsResponse;
use crate::rest::explain::ExplainResponse;
use crate::rest::keys::{ApiKeyCreated, ApiKeyList, ApiKeyRenamed, ApiKeyRevoked};
use crate::rest::search::SearchResponse;
use crate::rest::suggest::SuggestResponse;
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

/// What the bodies of searches are made of: the body, the order, the name of a field.
const COMPANY_NAMES: [&str; 3] = ["CompanySearchRequest", "CompanySort", "CompanyField"];
const PEOPLE_NAMES: [&str; 3] = ["PeopleSearchRequest", "PeopleSort", "PersonField"];

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
    add::<SuggestResponse>(&mut schemas, &SuggestResponse::name());
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
            *items = reference(row);
        }
    }
    for (name, required) in PARTIAL {
        if let Some(schema) = schemas.get_mut(name) {
            schema["required"] = json!(required);
        }
    }
    for (kind, [request, sort, field]) in [
        (RecordKind::Company, COMPANY_NAMES),
        (RecordKind::Person, PEOPLE_NAMES),
    ] {
        schemas.insert(request.to_owned(), search_request(kind));
        schemas.insert(sort.to_owned(), sort_schema(kind));
        schemas.insert(field.to_owned(), field_schema(kind));
    }
    schemas.insert("CreateKeyRequest".to_owned(), key_request(&[]));
    schemas.insert("RenameKeyRequest".to_owned(), key_request(&[key_body::NAME]));
    schemas.insert("OpenApiDocument".to_owned(), document());
    schemas
        .iter_mut()
        .for_each(|(name, schema)| say_success(name, schema));
    let mut schemas = schemas.into();
    list_examples(&mut schemas);
    lift_descriptions(&mut schemas);
    bounds::write(&mut schemas);
    schemas
}

/// What can be relied on in any OpenAPI document of this version.
fn document() -> Value {
    let member = |kind: &str, description: &str| json!({"type": kind, "description": description});
    let mut openapi = member("string", "The version of OpenAPI.");
    openapi["const"] = OPENAPI_VERSION.into();
    json!({
        "type": "object",
        "description": "An OpenAPI document.",
        // More is in it, by the specification of OpenAPI.
        "additionalProperties": true,
        "required": ["openapi", "info", "paths", "components"],
        "properties": {
            "openapi": openapi,
            "info": member("object", "Name, version and text of the interface."),
            "paths": member("object", "The operations, by path and method."),
            "components": member("object", "What the operations refer to."),
        },
    })
}

/// Each answer says whether it is one or a refusal, so that either is told from the other by a type.
fn say_success(name: &str, schema: &mut Value) {
    if let Some(success) = schema.pointer_mut("/properties/success") {
        success["const"] = (name != Error::name()).into();
    }
}

/// JSON Schema has lists of examples; the derivation writes what OpenAPI had before.
fn list_examples(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("type")
                && let Some(example) = object.remove("example")
            {
                object.insert("examples".to_owned(), json!([example]));
            }
            object.values_mut().for_each(list_examples);
        }
        Value::Array(items) => items.iter_mut().for_each(list_examples),
        _ => {}
    }
}

/// Of what may be null, the derivation says within one of two alternatives what it is.
fn lift_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if !object.contains_key("description")
                && let Some(alternative) = object.get_mut("oneOf").and_then(|all| all.get_mut(0))
                && let Some(description) = alternative
                    .as_object_mut()
                    .and_then(|alternative| alternative.remove("description"))
            {
                object.insert("description".to_owned(), description);
            }
            object.values_mut().for_each(lift_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(lift_descriptions),
        _ => {}
    }
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
    let [_, sort, field] = match kind {
        RecordKind::Company => COMPANY_NAMES,
        RecordKind::Person => PEOPLE_NAMES,
    };
    let mut schema = match &property.kind {
        Kind::Text(_) => Bound::Text(MAX_TEXT_CHARS).schema(),
        Kind::Date(_) => json!({"type": "string", "format": "date"}),
        Kind::Texts(_) => list_of(Bound::Text(MAX_ITEM_CHARS).schema()),
        Kind::Choice(_, choices) => json!({"type": "string", "enum": words(choices)}),
        Kind::Integer { maximum, .. } => Bound::Integer(1, *maximum).schema(),
        Kind::Cursor => {
            let mut schema = CURSOR.schema();
            schema["type"] = json!(["string", "null"]);
            schema
        }
        Kind::Sort => reference(sort),
        Kind::Fields => list_of(reference(field)),
    };
    schema["description"] = match &property.kind {
        // In words: generators of clients take a property with a `default` as one that is always there, in requests too.
        Kind::Integer { default, .. } => format!("{} {default} unless given.", property.doc).into(),
        _ => property.doc.into(),
    };
    // Each example is JSON, held by a test.
    schema["examples"] = json!([serde_json::from_str::<Value>(property.example).unwrap_or_default()]);
    schema
}

fn list_of(item: Value) -> Value {
    let mut schema = Bound::Items(MAX_ITEMS).schema();
    schema["items"] = item;
    schema
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn sort_schema(kind: RecordKind) -> Value {
    json!({
        "type": "object",
        "description": "An order.",
        "additionalProperties": false,
        "properties": {
            "field": {
                "type": "string",
                "description": "What to sort by; ties are broken by `id`, records without a value come last.",
                "enum": words(sort_names(kind)),
            },
            "dir": {
                "type": "string",
                "description": "`asc` for names and titles unless given, else `desc`; `relevance` knows only `desc`.",
                "enum": words(DIRECTIONS),
            },
        },
    })
}

fn field_schema(kind: RecordKind) -> Value {
    json!({
        "type": "string",
        "description": "Name of a field of a row, or the path to one within it.",
        "enum": field_names(kind),
    })
}

fn key_request(required: &[&str]) -> Value {
    let unless_given = if required.is_empty() {
        format!(" `{}` unless given.", proto::key::DEFAULT_NAME)
    } else {
        String::new()
    };
    let bounds = format!(
        "1-{} characters after trimming, no control characters.{unless_given}",
        proto::key::MAX_NAME_CHARACTERS
    );
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
                "description": bounds,
                "examples": ["Production"],
            },
        },
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}
