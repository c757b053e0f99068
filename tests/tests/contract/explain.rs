//! Explaining: an extension of the contract. How a search would be understood, without searching.

use std::collections::BTreeSet;

use proto::search::v1::CompanyRecord;
use proto::search::v1::import_record::Change;
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, Answer, company, world};

fn explain(account: &Account, kind: &str, body: &Value) -> Value {
    let answer = account.post(&format!("/{kind}/explain"), body).expect(200);
    answer.body["data"].clone()
}

#[test]
fn each_filter_is_told_after_normalisation() {
    let data = explain(
        &world().account(),
        "companies",
        &json!({
            "businessType": "Gyms, \"yoga studios\"",
            "companyName": "Müller GmbH",
            "companyDomain": "https://www.Example.co.uk/x",
            "excludeKeywords": "Franchises",
            "websiteStatus": "no",
        }),
    );
    let word = |kind: &str, value: &str| json!({"match": kind, "value": value, "otherForms": []});
    assert_eq!(
        data["filters"],
        json!([
            {
                "filter": "businessType", "fields": ["businessTypes", "tags"], "excludes": false,
                "anyOf": [
                    {"text": "Gyms", "allOf": [word("word", "gym")]},
                    {"text": "\"yoga studios\"", "allOf": [word("phrase", "yoga studios")]},
                ],
            },
            {
                "filter": "websiteStatus", "fields": ["website"], "excludes": true,
                "anyOf": [{"text": "no", "allOf": [word("present", "")]}],
            },
            {
                "filter": "companyName", "fields": ["name"], "excludes": false,
                "anyOf": [{"text": "Müller GmbH", "allOf": [
                    {"match": "exactWord", "value": "muller", "otherForms": ["mueller"]},
                ]}],
            },
            {
                "filter": "companyDomain", "fields": ["domain"], "excludes": false,
                "anyOf": [{"text": "https://www.Example.co.uk/x", "allOf": [word("domain", "example.co.uk")]}],
            },
            {
                "filter": "excludeKeywords", "fields": ["name", "businessTypes", "tags", "description"], "excludes": true,
                "anyOf": [{"text": "Franchises", "allOf": [word("word", "franchise")]}],
            },
        ])
    );
}

#[test]
fn places_are_told_with_their_candidates() {
    let data = explain(
        &world().account(),
        "people",
        &json!({"location": "Springfield, IL; Nowhereville"}),
    );
    let alternatives = data["filters"][0]["anyOf"].as_array().unwrap();
    let [springfield, nowhere] = &alternatives[..] else {
        panic!("two alternatives")
    };
    assert_eq!(springfield["text"], "Springfield, IL");
    let city = &springfield["allOf"][0];
    assert_eq!(
        (&city["match"], &city["value"]),
        (&json!("place"), &json!("springfield"))
    );
    let candidates = city["places"]["candidates"].as_array().unwrap();
    assert_eq!(
        candidates[0],
        json!({
            "type": "city", "name": "Springfield", "region": "Illinois", "country": "United States", "countryCode": "US",
            "isLeft": true,
        })
    );
    assert!(
        candidates[1..].iter().all(|place| place["isLeft"] == false),
        "{candidates:?}"
    );
    assert!(city["places"]["more"].is_number());
    assert_eq!(
        nowhere["allOf"],
        json!([{"match": "exactWord", "value": "nowhereville", "otherForms": []}]),
        "what is no place is looked for as a word"
    );
}

#[test]
fn order_page_fields_and_cost_are_told_as_they_would_be_applied() {
    let account = world().account();
    let data = explain(&account, "companies", &json!({}));
    assert_eq!(data["filters"], json!([]));
    assert_eq!(data["sort"], json!({"field": "infoUpdatedAt", "dir": "desc"}));
    assert_eq!((&data["page"], &data["limit"]), (&json!(1), &json!(25)));
    assert_eq!(
        (&data["paginationMode"], &data["cost"]),
        (&json!("page"), &json!(1))
    );
    let word = world().word();
    let berlin = CompanyRecord {
        city: Some("Berlin".to_owned()),
        ..company(&word, &word)
    };
    world().operator.import([Change::Company(berlin)]);
    let found = account.companies(&json!({"companyName": word, "location": "Berlin"}));
    let row: BTreeSet<_> = found.rows()[0]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let fields = data["fields"].as_array().unwrap().iter();
    assert_eq!(
        fields.map(|name| name.as_str().unwrap()).collect::<BTreeSet<_>>(),
        row
    );
    let data = explain(
        &account,
        "people",
        &json!({"jobTitles": ["cto"], "cursor": null, "limit": 7, "fields": ["company.name", "email"]}),
    );
    assert_eq!(data["sort"], json!({"field": "relevance", "dir": "desc"}));
    assert_eq!(
        (&data["limit"], &data["paginationMode"]),
        (&json!(7), &json!("cursor"))
    );
    assert_eq!(data["fields"], json!(["id", "email", "company.name"]));
    assert_eq!(
        data["filters"][0]["anyOf"][0]["allOf"][0]["value"], "chief technology officer",
        "short forms are written out"
    );
}

#[test]
fn a_person_is_asked_for_by_what_is_the_companys() {
    let data = explain(
        &world().account(),
        "people",
        &json!({"businessType": "bakery", "excludeKeywords": "intern", "businessEmail": "acme.com"}),
    );
    let fields: Vec<_> = data["filters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|filter| &filter["fields"])
        .collect();
    assert_eq!(
        fields,
        [
            &json!(["company.businessTypes", "company.tags"]),
            &json!(["company.businessEmail", "email"]),
            &json!([
                "jobTitle",
                "company.name",
                "company.businessTypes",
                "company.tags",
                "company.description"
            ]),
        ]
    );
}

#[test]
fn an_explanation_is_free_and_limited_like_a_search() {
    let account = world().poor_account();
    world().operator.set_rate(&account.id, 1, 60);
    let first = account.post("/people/explain", &json!({})).expect(200);
    assert_eq!(first.number("x-ratelimit-remaining"), 0);
    let _ = account
        .post("/companies/explain", &json!({}))
        .refused(429, "RATE_LIMIT_EXCEEDED");
    assert!(world().operator.ledger(&account.id).is_empty());
}

#[test]
fn an_explanation_is_refused_as_the_search_would_be() {
    let account = world().account();
    for kind in ["people", "companies"] {
        let path = format!("/{kind}/explain");
        for body in [
            json!({"companyNam": "x", "limit": 251, "jobTitles": ["*"]}),
            json!({"cursor": "A".repeat(80)}),
            json!([]),
        ] {
            let expected = account.search(kind, &body).issues();
            assert_eq!(account.post(&path, &body).issues(), expected, "{body}");
        }
        let stranger = account.request(Method::POST, &path).json(&json!({}));
        let _ = Answer::of(stranger).refused(401, "INVALID_API_KEY");
    }
}
