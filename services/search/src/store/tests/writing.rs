//! Batches of records.

use std::collections::{BTreeSet, HashMap};

use chrono::{NaiveDate, TimeDelta};
use futures::TryStreamExt as _;
use runtime::ambient::Ambient;
use sqlx::PgPool;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{changes, company, delete, now, of_companies, of_people, person, put};
use crate::plan::Kind;
use crate::record::{Company, CompanyNumber, Founded, Person, PlaceText};
use crate::store::write::{Batch, Written};
use crate::store::{Store, StoreError};

#[sqlx::test]
async fn records_are_read_back_as_they_were_written(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let full = company(&ambient, "full");
    let day = Company {
        founded: Some(Founded::Day(NaiveDate::from_ymd_opt(2026, 2, 28).unwrap())),
        ..company(&ambient, "day")
    };
    let bare = Company {
        domain: None,
        website: None,
        business_types: vec![],
        description: None,
        business_email: None,
        business_phone: None,
        place: PlaceText::default(),
        employee_count: None,
        founded: None,
        ..company(&ambient, "bare")
    };
    let person = person(&ambient, "p", Some("full"));
    let batch = Batch {
        companies: [&bare, &day, &full].into_iter().cloned().map(put).collect(),
        people: vec![put(person.clone())],
        ..Batch::default()
    };
    let written = store.write(&batch, now()).await.unwrap();
    assert_eq!((written.stored, written.unchanged, written.deleted), (4, 0, 0));

    let mut snapshot = store.snapshot().await.unwrap();
    for expected in [full, day, bare] {
        let mut read = snapshot.companies(&[&expected.external_id]).await.unwrap();
        assert!(read[0].number.take().is_some());
        assert_eq!(read, [expected]);
    }
    assert_eq!(
        snapshot.people(&[person.id]).await.unwrap(),
        std::slice::from_ref(&person)
    );
    let of: Vec<Person> = snapshot.people_of(&["full"]).try_collect().await.unwrap();
    assert_eq!(of, [person]);
    assert_eq!(snapshot.feed().await.unwrap().position, written.position);
}

#[sqlx::test]
async fn what_changes_nothing_writes_nothing(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let known = company(&ambient, "c");
    let someone = person(&ambient, "p", Some("c"));
    let batch = Batch {
        companies: vec![put(known.clone())],
        people: vec![put(someone.clone())],
        ..Batch::default()
    };
    let first = store.write(&batch, now()).await.unwrap();
    let again = store.write(&batch, now()).await.unwrap();
    assert_eq!(
        again,
        Written {
            stored: 0,
            unchanged: 2,
            deleted: 0,
            position: first.position
        }
    );

    // Without a time of the source, only another value is a difference; with one, the time itself is.
    let later = now() + TimeDelta::days(1);
    let mut touched = put(Company {
        info_updated_at: later,
        ..known.clone()
    });
    touched.updated_at_given = false;
    let batch = Batch {
        companies: vec![touched.clone()],
        ..Batch::default()
    };
    assert_eq!(store.write(&batch, later).await.unwrap().unchanged, 1);
    let read = |store: Store| async move {
        let mut read = store.snapshot().await.unwrap().companies(&["c"]).await.unwrap();
        assert_eq!(
            read[0].number.take(),
            Some(CompanyNumber(1)),
            "it keeps its number"
        );
        read
    };
    assert_eq!(read(store.clone()).await, std::slice::from_ref(&known));
    touched.record.name = "Other".into();
    let batch = Batch {
        companies: vec![touched],
        ..Batch::default()
    };
    assert_eq!(store.write(&batch, later).await.unwrap().stored, 1);
    assert_eq!(read(store.clone()).await[0].info_updated_at, later);
    let back = of_companies([Company {
        name: "Other".into(),
        ..known.clone()
    }]);
    assert_eq!(store.write(&back, later).await.unwrap().stored, 1);
    let read = read(store).await;
    assert_eq!((read[0].info_updated_at, read[0].id), (now(), known.id));
}

#[sqlx::test]
async fn a_known_record_keeps_its_id(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let first = person(&ambient, "p", None);
    store.write(&of_people([first.clone()]), now()).await.unwrap();
    let replaced = Person {
        job_title: None,
        ..person(&ambient, "p", Some("c"))
    };
    assert_ne!(first.id, replaced.id);
    store.write(&of_people([replaced]), now()).await.unwrap();
    let read = store.snapshot().await.unwrap().people(&[first.id]).await.unwrap();
    assert_eq!(read[0].company_external_id.as_deref(), Some("c"));
}

#[sqlx::test]
async fn a_moving_person_tells_both_companies(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let someone = person(&ambient, "p", Some("old"));
    store.write(&of_people([someone.clone()]), now()).await.unwrap();
    let moved = Person {
        company_external_id: Some("new".into()),
        ..someone.clone()
    };
    store.write(&of_people([moved.clone()]), now()).await.unwrap();
    let retitled = Person {
        job_title: None,
        ..moved
    };
    store.write(&of_people([retitled]), now()).await.unwrap();
    let gone = Batch {
        deleted_people: vec![delete("p")],
        ..Batch::default()
    };
    let written = store.write(&gone, now()).await.unwrap();
    assert_eq!((written.deleted, written.unchanged), (1, 0));
    let told: Vec<_> = changes(&store, 0)
        .await
        .into_iter()
        .map(|(_, id, companies)| (id, companies))
        .collect();
    let id = someone.id;
    assert_eq!(
        told,
        [
            (id, vec!["old".to_owned()]),
            (id, vec!["old".into(), "new".into()]),
            (id, vec!["new".into()]),
            (id, vec!["new".into()]),
        ]
    );
    // Deleting what is not there is no fault, and no change.
    let written = store.write(&gone, now()).await.unwrap();
    assert_eq!((written.deleted, written.unchanged, written.position), (0, 1, 4));
}

#[sqlx::test]
async fn a_bad_record_leaves_the_batch_unwritten(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let good = company(&ambient, "a");
    store.write(&of_companies([good.clone()]), now()).await.unwrap();
    for bad in [
        Company {
            name: "  ".into(),
            ..company(&ambient, "b")
        },
        Company {
            employee_count: Some(-1),
            ..company(&ambient, "b")
        },
        Company {
            place: PlaceText {
                country: Some("de".into()),
                ..PlaceText::default()
            },
            ..company(&ambient, "b")
        },
    ] {
        let batch = of_companies([
            Company {
                name: "Changed".into(),
                ..good.clone()
            },
            bad,
        ]);
        assert!(matches!(
            store.write(&batch, now()).await,
            Err(StoreError::Broken(_))
        ));
    }
    let mut read = store.snapshot().await.unwrap().companies(&["a"]).await.unwrap();
    read[0].number = None;
    assert_eq!(read, [good]);
    assert_eq!(store.feed().await.unwrap().position, 1);
}

#[sqlx::test]
async fn writers_of_the_same_records_in_any_order_all_come_through(pool: PgPool) {
    let store = Store::new(pool);
    let mut writers = JoinSet::new();
    for writer in 0..6_u64 {
        let store = store.clone();
        writers.spawn(async move {
            let ambient = Ambient::fixed(now(), writer);
            for round in 0..10 {
                let mut random = [0; 12];
                ambient.fill(&mut random);
                let ids: BTreeSet<String> = random.iter().map(|byte| format!("{:02}", byte % 20)).collect();
                let (dead, alive): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| id.ends_with('7'));
                let company_name = format!("{writer} {round}");
                let batch = Batch {
                    companies: alive
                        .iter()
                        .map(|id| {
                            put(Company {
                                name: company_name.clone(),
                                ..company(&ambient, id)
                            })
                        })
                        .chain([])
                        .collect(),
                    people: alive
                        .iter()
                        .map(|id| put(person(&ambient, id, Some(&company_name))))
                        .collect(),
                    deleted_companies: dead.iter().map(|id| delete(id)).collect(),
                    deleted_people: dead.iter().map(|id| delete(id)).collect(),
                };
                store.write(&batch, now()).await.unwrap();
            }
        });
    }
    while let Some(result) = writers.join_next().await {
        result.unwrap();
    }
    // Each person's changes chain up: the company before is the one that the change before told.
    let mut last: HashMap<Uuid, String> = HashMap::new();
    let mut snapshot = store.snapshot().await.unwrap();
    for change in snapshot.changes_after(0, 1_000_000).await.unwrap() {
        if change.kind == Kind::Person {
            let after = change.companies.last().unwrap().clone();
            if let Some(before) = last.insert(change.record_id, after) {
                assert_eq!(change.companies[0], before);
            }
        }
    }
}

#[sqlx::test(migrations = false)]
async fn array_literals_are_read_back_as_they_were(pool: PgPool) {
    for items in [
        vec![],
        vec![""],
        vec![
            "NULL",
            "null",
            "a,b",
            "{}",
            "\"",
            "\\",
            "\\\"",
            " x ",
            "Bäckerei",
            "株式会社",
            "\n\t",
        ],
    ] {
        let read: Vec<String> = sqlx::query_scalar("SELECT ($1::text)::text[]")
            .bind(crate::store::array_literal(&items))
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(read, items);
    }
}
