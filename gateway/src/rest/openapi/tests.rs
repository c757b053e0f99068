use std::collections::HashSet;

use proto::error_code;
use proto::search_query::{QUERY_PROPERTIES, RecordKind};

use super::*;
use crate::body::search_body::{self, PROPERTIES};

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
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_error_code_that_reaches_a_caller_is_described() {
    let document = served();
    let text = document.to_string();
    for code in error_code::ALL
        .into_iter()
        .filter(|code| *code != ErrorCode::GrantIdReused)
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
    assert_eq!(described["limit"]["default"], 25);
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
