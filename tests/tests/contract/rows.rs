//! Section 6: rows.

use proto::search::v1::import_record::Change;
use proto::search::v1::{CompanyRecord, PersonRecord};
use serde_json::{Value, json};
use system_tests::{company, person, world};

const COMPANY: [&str; 14] = [
    "id",
    "name",
    "domain",
    "website",
    "businessTypes",
    "description",
    "tags",
    "businessEmail",
    "businessPhone",
    "location",
    "employeeCount",
    "foundedDate",
    "newBusiness",
    "infoUpdatedAt",
];
const PERSON: [&str; 10] = [
    "id",
    "fullName",
    "firstName",
    "lastName",
    "jobTitle",
    "email",
    "emailStatus",
    "location",
    "company",
    "infoUpdatedAt",
];

fn keys(row: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

fn full_company(tag: &str) -> CompanyRecord {
    CompanyRecord {
        domain: Some("Acme.Example".into()),
        website: Some("https://www.acme.example/de".into()),
        business_types: vec!["Tools".into(), "Anvils".into()],
        description: Some("Makes \"anvils\"\nand tools.".into()),
        tags: vec![tag.to_owned()],
        business_email: Some("info@acme.example".into()),
        business_phone: Some("+44 20 7946 0958".into()),
        city: Some("München".into()),
        region: Some("BY".into()),
        country: Some("DE".into()),
        employee_count: Some(1_200),
        founded_date: Some("1999-05-04".into()),
        info_updated_at: Some(system_tests::timestamp("2026-01-02T03:04:05.678Z")),
        ..company(tag, "Acme GmbH")
    }
}

#[test]
fn a_full_company_is_shown_as_it_was_given() {
    let (account, tag) = (world().account(), world().word());
    world().operator.import([Change::Company(full_company(&tag))]);
    let answer = account.companies(&json!({"searchTags": [tag]}));
    let row = &answer.rows()[0];
    assert_eq!(keys(row), sorted(&COMPANY));
    let mut shown = row.clone();
    shown.as_object_mut().unwrap().remove("id");
    assert_eq!(
        shown,
        json!({
            "name": "Acme GmbH", "domain": "acme.example", "website": "https://www.acme.example/de",
            "businessTypes": ["Tools", "Anvils"], "description": "Makes \"anvils\"\nand tools.", "tags": [tag],
            "businessEmail": "info@acme.example", "businessPhone": "+44 20 7946 0958",
            "location": {"city": "München", "region": "BY", "country": "Germany", "countryCode": "DE"},
            "employeeCount": 1200, "foundedDate": "1999-05-04", "newBusiness": false,
            "infoUpdatedAt": "2026-01-02T03:04:05.678Z",
        })
    );
}

#[test]
fn what_is_missing_is_null_or_an_empty_list() {
    let (account, tag) = (world().account(), world().word());
    let bare = CompanyRecord {
        tags: vec![tag.clone()],
        ..company(&tag, "Bare")
    };
    let someone = PersonRecord {
        company_external_id: Some(tag.clone()),
        ..person(&tag, "Bare Person")
    };
    world()
        .operator
        .import([Change::Company(bare), Change::Person(someone)]);
    let row = account.companies(&json!({"searchTags": [tag]})).rows()[0].clone();
    assert_eq!(keys(&row), sorted(&COMPANY));
    for name in [
        "domain",
        "website",
        "description",
        "businessEmail",
        "businessPhone",
        "employeeCount",
        "foundedDate",
    ] {
        assert_eq!(row[name], Value::Null, "{name}");
    }
    assert_eq!(row["businessTypes"], json!([]));
    let nowhere = json!({"city": null, "region": null, "country": null, "countryCode": null});
    assert_eq!(row["location"], nowhere);
    let row = account.people(&json!({"searchTags": [tag]})).rows()[0].clone();
    assert_eq!(keys(&row), sorted(&PERSON));
    for name in ["firstName", "lastName", "jobTitle", "email"] {
        assert_eq!(row[name], Value::Null, "{name}");
    }
    assert_eq!(row["emailStatus"], "none");
    assert_eq!(row["location"], nowhere);
    assert_eq!(row["company"]["name"], "Bare");
    assert_eq!(
        keys(&row["company"]),
        ["businessTypes", "domain", "id", "name", "website"]
    );
}

#[test]
fn a_person_without_a_company_has_null() {
    let (account, title) = (world().account(), world().word());
    let alone = PersonRecord {
        job_title: Some(title.clone()),
        first_name: Some("Ada".into()),
        last_name: Some("Example".into()),
        full_name: None,
        ..person(&title, "")
    };
    world().operator.import([Change::Person(alone)]);
    let row = account.people(&json!({"jobTitles": [title]})).rows()[0].clone();
    assert_eq!(row["company"], Value::Null);
    assert_eq!(row["fullName"], "Ada Example");
    let row = account
        .people(&json!({"jobTitles": [title], "fields": ["company.name"]}))
        .rows()[0]
        .clone();
    assert_eq!(row["company"], Value::Null);
}

#[test]
fn a_locked_address_is_null_and_a_revealed_one_is_shown_to_whom_revealed_it() {
    let (account, tag) = (world().account(), world().word());
    let address = format!("{tag}@mail.example");
    let someone = PersonRecord {
        email: Some(address.clone()),
        job_title: Some(tag.clone()),
        ..person(&tag, "Locked")
    };
    world().operator.import([Change::Person(someone)]);
    let query = json!({"jobTitles": [tag]});
    let answer = account.people(&query).expect(200);
    let row = &answer.rows()[0];
    assert_eq!(
        (&row["email"], &row["emailStatus"]),
        (&Value::Null, &json!("locked"))
    );
    assert!(
        !answer.body.to_string().contains("mail.example"),
        "no part of it is shown"
    );
    let id = row["id"].as_str().unwrap().to_owned();
    world().operator.reveal(&account.id, &id);
    world().operator.reveal(&account.id, &id);
    let row = account.people(&query).rows()[0].clone();
    assert_eq!(
        (&row["email"], &row["emailStatus"]),
        (&json!(address), &json!("revealed"))
    );
    let row = world().account().people(&query).rows()[0].clone();
    assert_eq!(
        (&row["email"], &row["emailStatus"]),
        (&Value::Null, &json!("locked"))
    );
}

#[test]
fn fields_pick_names_and_paths_and_the_id_always_comes() {
    let (account, tag) = (world().account(), world().word());
    let someone = PersonRecord {
        company_external_id: Some(tag.clone()),
        ..person(&tag, "Someone")
    };
    world()
        .operator
        .import([Change::Company(full_company(&tag)), Change::Person(someone)]);
    let pick = |kind: &str, fields: Value| {
        account
            .search(kind, &json!({"searchTags": [tag], "fields": fields}))
            .rows()[0]
            .clone()
    };
    assert_eq!(keys(&pick("companies", json!(["name"]))), ["id", "name"]);
    assert_eq!(keys(&pick("companies", json!(["id"]))), ["id"]);
    assert_eq!(
        keys(&pick("companies", json!(["name", "name", "domain"]))),
        ["domain", "id", "name"]
    );
    assert_eq!(
        pick("companies", json!(["location.country", "location.city"]))["location"],
        json!({"city": "München", "country": "Germany"})
    );
    let row = pick("people", json!(["company.name", "email"]));
    assert_eq!(keys(&row), ["company", "email", "id"]);
    assert_eq!(row["company"], json!({"name": "Acme GmbH"}));
    assert_eq!(row["email"], Value::Null);
    assert_eq!(
        keys(&pick("people", json!(["company", "company.name"]))["company"]),
        ["businessTypes", "domain", "id", "name", "website"]
    );
    for name in COMPANY {
        assert!(
            pick("companies", json!([name])).get(name).is_some(),
            "{name} was asked for"
        );
    }
    for name in PERSON {
        assert!(
            pick("people", json!([name])).get(name).is_some(),
            "{name} was asked for"
        );
    }
}

#[test]
fn a_year_of_founding_is_shown_as_a_year() {
    let (account, tag) = (world().account(), world().word());
    let old = CompanyRecord {
        founded_date: Some("1819".into()),
        tags: vec![tag.clone()],
        ..company(&tag, "Old")
    };
    world().operator.import([Change::Company(old)]);
    assert_eq!(
        account.companies(&json!({"searchTags": [tag]})).rows()[0]["foundedDate"],
        "1819"
    );
}
