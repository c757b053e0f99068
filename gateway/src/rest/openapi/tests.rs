use std::collections::HashSet;

use proto::error_code;
use proto::search_properties::PROPERTIES;
use proto::search_query::{QUERY_PROPERTIES, RecordKind};

use super::bounds::BOUNDS;
use super::responses::RATE_HEADERS;
use super::*;
use crate::body::search_body;

fn served() -> Value {
    serde_json::from_slice(document()).unwrap()
}

/// Calls back with every object of the document.
fn each_object(value: &Value, call: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            call(object);
            object.values().for_each(|value| each_object(value, call));
        }
        Value::Array(items) => items.iter().for_each(|value| each_object(value, call)),
        _ => {}
    }
}

#[test]
fn it_is_openapi_3_1_of_version_1_0_0_below_api_v1() {
    let document = served();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "1.0.0");
    assert_eq!(document["servers"][0]["url"], "/api/v1");
}

#[test]
fn null_is_a_type_and_no_keyword_of_3_0() {
    each_object(&served(), &mut |object| {
        assert!(!object.contains_key("nullable"), "{object:?}");
    });
    let schemas = &served()["components"]["schemas"];
    let nullable = json!(["string", "null"]);
    assert_eq!(
        schemas["CompanySearchData"]["properties"]["nextCursor"]["type"],
        nullable
    );
    assert_eq!(
        schemas["PeopleSearchRequest"]["properties"]["cursor"]["type"],
        nullable
    );
    assert_eq!(
        schemas["ApiKeyPublic"]["properties"]["revokedAt"]["type"],
        nullable
    );
}

#[test]
fn every_reference_leads_somewhere_and_every_component_is_referred_to() {
    let document = served();
    let mut references = HashSet::new();
    each_object(&document, &mut |object| {
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            references.insert(reference.to_owned());
        }
    });
    for reference in &references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for section in ["parameters", "headers", "responses", "schemas"] {
        for name in document["components"][section].as_object().unwrap().keys() {
            let reference = format!("#/components/{section}/{name}");
            assert!(references.contains(&reference), "{reference} is not used");
        }
    }
}

#[test]
fn operations_are_the_specifications_and_the_extensions_with_unique_ids() {
    let document = served();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            found.push(format!(
                "{} {method} {path}",
                operation["operationId"].as_str().unwrap()
            ));
        }
    }
    found.sort();
    let expected = [
        "countCompanies post /companies/count",
        "countPeople post /people/count",
        "createKey post /keys",
        "explainCompanies post /companies/explain",
        "explainPeople post /people/explain",
        "getCredits get /credits",
        "getOpenApi get /openapi.json",
        "listKeys get /keys",
        "regenerateKey post /keys/{id}/regenerate",
        "renameKey patch /keys/{id}",
        "revokeKey delete /keys/{id}",
        "searchCompanies post /companies/search",
        "searchPeople post /people/search",
        "suggest get /suggest/{vocabulary}",
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_error_code_that_reaches_a_caller_is_described() {
    let document = served();
    let text = document.to_string();
    for code in error_code::ALL
        .into_iter()
        .filter(|code| *code != error_code::ErrorCode::GrantIdReused)
    {
        assert!(text.contains(&format!("`{}`", code.as_str())), "{code:?}");
    }
    let codes = &document["components"]["schemas"]["Error"]["properties"]["code"]["enum"];
    assert_eq!(codes.as_array().unwrap().len(), error_code::ALL.len() - 1);
}

#[test]
fn requests_take_the_specifications_properties_and_no_others() {
    let document = served();
    for name in [
        "CompanySearchRequest",
        "PeopleSearchRequest",
        "CreateKeyRequest",
        "RenameKeyRequest",
    ] {
        assert_eq!(
            document["components"]["schemas"][name]["additionalProperties"],
            false
        );
    }
    assert_eq!(PROPERTIES.map(|property| property.name), QUERY_PROPERTIES);
    let described = document["components"]["schemas"]["PeopleSearchRequest"]["properties"]
        .as_object()
        .unwrap();
    assert_eq!(described.len(), QUERY_PROPERTIES.len());
    assert_eq!(described["limit"]["maximum"], 250);
    let limit = described["limit"]["description"].as_str().unwrap();
    assert!(limit.ends_with(" 25 unless given."), "{limit}");
}

#[test]
fn every_example_of_a_request_is_a_valid_one() {
    for property in &PROPERTIES {
        let body = format!("{{\"{}\": {}}}", property.name, property.example);
        for kind in [RecordKind::Company, RecordKind::Person] {
            assert!(search_body::parse(body.as_bytes(), kind).is_ok(), "{body}");
        }
    }
    let document = served();
    for (path, kind) in [
        ("/people/search", RecordKind::Person),
        ("/companies/search", RecordKind::Company),
        ("/people/count", RecordKind::Person),
        ("/companies/explain", RecordKind::Company),
    ] {
        let content = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"];
        for example in content["examples"].as_object().unwrap().values() {
            let body = example["value"].to_string();
            assert!(search_body::parse(body.as_bytes(), kind).is_ok(), "{body}");
        }
    }
}

#[test]
fn a_row_that_was_picked_is_described_too() {
    let schemas = &served()["components"]["schemas"];
    assert_eq!(schemas["Company"]["required"], json!(["id"]));
    assert_eq!(schemas["Person"]["required"], json!(["id"]));
}

/// Calls back with every value below a member of this name, by its own name.
fn each_named(document: &Value, member: &str, call: &mut impl FnMut(&str, &Value)) {
    each_object(document, &mut |object| {
        for (name, value) in object
            .get(member)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            call(name, value);
        }
    });
}

#[test]
fn everything_is_described() {
    let document = served();
    let is_described = |value: &Value| {
        let reference = value["$ref"].as_str();
        let place = reference.and_then(|reference| reference.strip_prefix('#'));
        let referred = place.and_then(|place| document.pointer(place));
        [Some(value), referred]
            .into_iter()
            .flatten()
            .any(|value| value["description"].as_str().is_some_and(|text| !text.is_empty()))
    };
    for member in ["properties", "headers", "responses", "schemas", "securitySchemes"] {
        each_named(&document, member, &mut |name, value| {
            assert!(is_described(value), "{member}: {name} is not described");
        });
    }
    for operation in &OPERATIONS {
        assert!(!operation.summary.is_empty() && !operation.description.is_empty());
        let described = &document["paths"][operation.path][operation.method];
        for parameter in described["parameters"].as_array().unwrap() {
            assert!(is_described(parameter), "{}: {parameter}", operation.id);
        }
    }
}

#[test]
fn every_bound_is_that_of_a_value() {
    let schemas = served()["components"]["schemas"].clone();
    for (place, bound) in BOUNDS {
        let schema = schemas
            .pointer(place)
            .unwrap_or_else(|| panic!("{place} is not there"));
        let bound = bound.schema();
        let kind = &schema["type"];
        let is_of_kind = *kind == bound["type"]
            || kind
                .as_array()
                .is_some_and(|kinds| kinds.contains(&bound["type"]));
        assert!(is_of_kind, "{place}: {schema} is no {bound}");
    }
}

#[test]
fn every_request_and_every_response_has_an_example() {
    let document = served();
    each_named(&document, "content", &mut |_, content| {
        let has_example = !content["example"].is_null() || !content["examples"].is_null();
        assert!(has_example, "{content}");
    });
}

/// Generators take a property with one as always there, so that no request could be made without it.
#[test]
fn nothing_has_a_default_but_in_words() {
    each_object(&served(), &mut |object| {
        assert!(!object.contains_key("default"), "{object:?}");
    });
}

#[test]
fn whoever_is_limited_is_told_of_the_rate() {
    let document = served();
    for operation in &OPERATIONS {
        let responses = document["paths"][operation.path][operation.method]["responses"]
            .as_object()
            .unwrap();
        let is_limited = responses.contains_key("429");
        assert_eq!(
            is_limited,
            matches!(operation.credential(), Credential::ApiKey | Credential::Either),
            "{}: business data is limited, the management of keys is not",
            operation.id
        );
        for (status, response) in responses {
            let response = response["$ref"].as_str().map_or(response, |reference| {
                document.pointer(reference.trim_start_matches('#')).unwrap()
            });
            // These are answered before the rate is looked at.
            let expected = is_limited && !["401", "405"].contains(&status.as_str());
            for name in RATE_HEADERS {
                let told = !response["headers"][name].is_null();
                assert_eq!(told, expected, "{} {status}: {name}", operation.id);
            }
        }
    }
}
