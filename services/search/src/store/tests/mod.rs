//! The store on a real Postgres, a database for each test.

use chrono::{DateTime, Utc};
use proto::account::AccountId;
use runtime::ambient::Ambient;
use uuid::Uuid;

use super::Store;
use super::write::{Batch, Delete, Put};
use crate::record::{Company, Founded, Person, PlaceText};

mod feed;
mod reveals;
mod writing;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn company(ambient: &Ambient, external_id: &str) -> Company {
    Company {
        number: None,
        id: ambient.uuid_v7(),
        external_id: external_id.to_owned(),
        name: format!("Company {external_id}"),
        domain: Some("acme.example".into()),
        website: Some("https://acme.example/about".into()),
        business_types: vec!["Bakery, \"artisan\"".into(), "Café \\ bar".into()],
        description: Some("Bread; since 1880".into()),
        tags: vec![],
        business_email: Some("info@acme.example".into()),
        business_phone: Some("+49 30 901820".into()),
        place: PlaceText {
            city: Some("Köln".into()),
            region: None,
            country: Some("DE".into()),
        },
        employee_count: Some(12),
        founded: Some(Founded::Year(1880)),
        info_updated_at: now(),
    }
}

fn person(ambient: &Ambient, external_id: &str, company: Option<&str>) -> Person {
    Person {
        id: ambient.uuid_v7(),
        external_id: external_id.to_owned(),
        company_external_id: company.map(str::to_owned),
        full_name: format!("Person {external_id}"),
        first_name: Some("Person".into()),
        last_name: None,
        job_title: Some("Baker".into()),
        email: Some(format!("{external_id}@people.example")),
        place: PlaceText::default(),
        info_updated_at: now(),
    }
}

fn account(id: &str) -> AccountId {
    proto::account::check(id).unwrap()
}

fn put<R>(record: R) -> Put<R> {
    Put {
        record,
        updated_at_given: true,
        lines: 1,
    }
}

fn delete(external_id: &str) -> Delete {
    Delete {
        external_id: external_id.to_owned(),
        lines: 1,
    }
}

fn of_companies(companies: impl IntoIterator<Item = Company>) -> Batch {
    Batch {
        companies: companies.into_iter().map(put).collect(),
        ..Batch::default()
    }
}

fn of_people(people: impl IntoIterator<Item = Person>) -> Batch {
    Batch {
        people: people.into_iter().map(put).collect(),
        ..Batch::default()
    }
}

/// The changes after a position: number, record, companies.
async fn changes(store: &Store, after: i64) -> Vec<(i64, Uuid, Vec<String>)> {
    let mut snapshot = store.snapshot().await.unwrap();
    let changes = snapshot.changes_after(after, 1_000_000).await.unwrap();
    changes
        .into_iter()
        .map(|change| (change.seq, change.record_id, change.companies))
        .collect()
}
