//! The examples of the OpenAPI document are what is sent and answered: each one of a request is sent to a system that holds the
//! records of the examples, and what comes back is the example of the response, but for what differs each time.

use std::collections::BTreeSet;

use devstack::Options;
use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, PersonRecord};
use reqwest::Method;
use reqwest::blocking::RequestBuilder;
use serde_json::{Value, json};
use system_tests::{Account, Answer, World, timestamp, world};

/// What is another one each time, unless it is null.
const DIFFERENT_EACH_TIME: [&str; 8] = [
    "id",
    "keyPrefix",
    "secret",
    "createdAt",
    "revokedAt",
    "lastUsedAt",
    "balance",
    "requestId",
];

/// Our own failures, which nobody brings about from outside.
const FAILURES: [&str; 3] = ["Internal", "Unavailable", "Timeout"];

fn document(account: &Account) -> Value {
    Answer::of(account.request(Method::GET, "/openapi.json"))
        .expect(200)
        .body
}

fn content<'a>(document: &'a Value, operation: (&str, &str), status: u16) -> &'a Value {
    let (method, path) = operation;
    let response = &document["paths"][path][method]["responses"][status.to_string()];
    let reference = response["$ref"].as_str();
    let response = reference.map_or(response, |reference| {
        document.pointer(reference.trim_start_matches('#')).unwrap()
    });
    &response["content"]["application/json"]
}

/// The same without what differs each time.
fn lasting(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let member = |(name, value): (&String, &Value)| {
                let differs = DIFFERENT_EACH_TIME.contains(&name.as_str()) && !value.is_null();
                let value = if differs { json!("another") } else { lasting(value) };
                (name.clone(), value)
            };
            object.iter().map(member).collect()
        }
        Value::Array(items) => items.iter().map(lasting).collect(),
        other => other.clone(),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().filter_map(text).collect()
}

fn company_record(row: &Value) -> CompanyRecord {
    CompanyRecord {
        external_id: "example".to_owned(),
        name: text(&row["name"]).unwrap(),
        domain: text(&row["domain"]),
        website: text(&row["website"]),
        business_types: texts(&row["businessTypes"]),
        description: text(&row["description"]),
        tags: texts(&row["tags"]),
        business_email: text(&row["businessEmail"]),
        business_phone: text(&row["businessPhone"]),
        city: text(&row["location"]["city"]),
        region: text(&row["location"]["region"]),
        country: text(&row["location"]["countryCode"]),
        employee_count: row["employeeCount"].as_i64(),
        founded_date: text(&row["foundedDate"]),
        info_updated_at: Some(timestamp(row["infoUpdatedAt"].as_str().unwrap())),
    }
}

fn person_record(row: &Value) -> PersonRecord {
    assert_eq!(row["emailStatus"], "locked");
    PersonRecord {
        external_id: "example".to_owned(),
        company_external_id: Some("example".to_owned()),
        first_name: text(&row["firstName"]),
        last_name: text(&row["lastName"]),
        full_name: text(&row["fullName"]),
        job_title: text(&row["jobTitle"]),
        email: Some("robin@example.com".to_owned()),
        city: text(&row["location"]["city"]),
        region: text(&row["location"]["region"]),
        country: text(&row["location"]["countryCode"]),
        info_updated_at: Some(timestamp(row["infoUpdatedAt"].as_str().unwrap())),
    }
}

#[test]
fn searches_are_answered_as_their_examples_say() {
    // Of its own: there are no other records than those of the examples.
    let world = World::start(Options::new());
    let account = world.account();
    let document = document(&account);
    let told = |path: &str| content(&document, ("post", path), 200)["examples"].clone();
    let row = |path: &str| told(path)["everything"]["value"]["data"]["rows"][0].clone();
    let answer = world.operator.import([
        Change::Company(company_record(&row("/companies/search"))),
        Change::Person(person_record(&row("/people/search"))),
    ]);
    assert!(answer.rejected.is_empty(), "{:?}", answer.rejected);
    for kind in ["people", "companies"] {
        let path = format!("/{kind}/search");
        let body = &document["paths"][&path]["post"]["requestBody"]["content"]["application/json"];
        let requests = body["examples"].as_object().unwrap();
        assert!(requests.len() > 1, "{path} has examples");
        for (name, request) in requests {
            let got = account.search(kind, &request["value"]).expect(200).body;
            let told = &told(&path)[name]["value"];
            assert_eq!(lasting(&got), lasting(told), "{path}: {name}");
        }
    }
}

#[test]
fn keys_are_answered_as_their_examples_say() {
    let account = world().account();
    let document = document(&account);
    let body = &document["paths"]["/keys"]["post"]["requestBody"]["content"]["application/json"];
    let named = &body["examples"]["named"]["value"];
    let own = format!("/{}", account.key_id);
    let is_as_told = |operation: (&str, &str), answer: Answer| {
        let told = &content(&document, operation, answer.status)["example"];
        assert_eq!(lasting(&answer.body), lasting(told), "{operation:?}");
    };
    let renamed = account.keys(Method::PATCH, &own, Some(named.clone()));
    is_as_told(("patch", "/keys/{id}"), renamed.expect(200));
    is_as_told(("get", "/keys"), account.keys(Method::GET, "", None).expect(200));
    let created = account.keys(Method::POST, "", Some(named.clone()));
    is_as_told(("post", "/keys"), created.expect(201));
    let regenerated = account.keys(Method::POST, &format!("{own}/regenerate"), None);
    is_as_told(("post", "/keys/{id}/regenerate"), regenerated.expect(200));
    let revoked = account.keys(Method::DELETE, &own, None);
    is_as_told(("delete", "/keys/{id}"), revoked.expect(200));
}

/// Each refusal that a client can bring about, and a request that does.
fn refused() -> Vec<(&'static str, &'static str, u16, RequestBuilder)> {
    let (account, poor, slow) = (world().account(), world().poor_account(), world().account());
    world().operator.set_rate(&slow.id, 1, 86_400);
    let _ = slow.people(&json!({"limit": 1})).expect(200);
    let used = [("Idempotency-Key", "used")];
    let _ = account
        .search_with("people", &json!({"limit": 1}), &used)
        .expect(200);
    let revoked = account.keys(Method::POST, "", None).expect(201).body["key"]["id"].clone();
    let revoked = format!("/keys/{}", revoked.as_str().unwrap());
    let _ = account
        .keys(Method::DELETE, revoked.trim_start_matches("/keys"), None)
        .expect(200);
    let full = world().account();
    while full.keys(Method::POST, "", None).status == 201 {}

    let search = |account: &Account| {
        account
            .request(Method::POST, "/people/search")
            .header("X-API-Key", &account.key)
    };
    let keys = |method: Method, path: &str| account.request(method, path).bearer_auth(&account.jwt);
    let large = || format!("{{\"name\": \"{}\"}}", "a".repeat(1 << 20));
    let json_of =
        |request: RequestBuilder, body: String| request.header("Content-Type", "application/json").body(body);
    let nobodys = "/keys/0190a7c4-0000-7000-8000-000000000000";
    let (people, one) = ("/people/search", "/keys/{id}");
    vec![
        (
            "post",
            people,
            400,
            search(&account).json(&json!({"companyNam": "acme", "limit": 300})),
        ),
        (
            "post",
            people,
            401,
            account.request(Method::POST, people).json(&json!({})),
        ),
        ("post", people, 402, search(&poor).json(&json!({}))),
        ("post", people, 405, account.request(Method::GET, people)),
        ("post", people, 413, json_of(search(&account), large())),
        ("post", people, 415, search(&account).body("{}")),
        (
            "post",
            people,
            422,
            search(&account)
                .header("Idempotency-Key", "used")
                .json(&json!({"limit": 2})),
        ),
        ("post", people, 429, search(&slow).json(&json!({}))),
        (
            "patch",
            one,
            400,
            keys(Method::PATCH, nobodys).json(&json!({"name": " "})),
        ),
        ("patch", one, 401, account.request(Method::PATCH, nobodys)),
        (
            "patch",
            one,
            404,
            keys(Method::PATCH, nobodys).json(&json!({"name": "x"})),
        ),
        ("patch", one, 405, keys(Method::PUT, nobodys)),
        (
            "patch",
            one,
            409,
            keys(Method::PATCH, &revoked).json(&json!({"name": "x"})),
        ),
        ("patch", one, 413, json_of(keys(Method::PATCH, nobodys), large())),
        ("patch", one, 415, keys(Method::PATCH, nobodys).body("{}")),
        ("get", "/credits", 401, account.request(Method::GET, "/credits")),
        (
            "post",
            "/keys",
            409,
            full.request(Method::POST, "/keys").bearer_auth(&full.jwt),
        ),
    ]
}

#[test]
fn refusals_are_answered_as_their_examples_say() {
    let document = document(&world().account());
    let mut seen = BTreeSet::new();
    for (method, path, status, request) in refused() {
        let told = &content(&document, (method, path), status)["example"];
        let got = Answer::of(request).expect(status).body;
        assert_eq!(lasting(&got), lasting(told), "{method} {path}");
        let reference = &document["paths"][path][method]["responses"][status.to_string()]["$ref"];
        seen.extend(reference.as_str().map(str::to_owned));
    }
    let refusals = document["components"]["responses"].as_object().unwrap();
    let unseen: Vec<&String> = refusals
        .keys()
        .filter(|name| !FAILURES.iter().any(|failure| name.ends_with(failure)))
        .filter(|name| !seen.contains(&format!("#/components/responses/{name}")))
        .collect();
    assert_eq!(unseen, Vec::<&String>::new(), "examples that nobody has seen");
}
