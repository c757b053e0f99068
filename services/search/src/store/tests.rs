//! The store on a real Postgres, a database for each test.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use futures::TryStreamExt as _;
use proto::account::AccountId;
use runtime::ambient::Ambient;
use sqlx::{PgConnection, PgPool};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::changes::{Feed, Lag, NewChange, append};
use super::write::{Batch, Delete, Put, Written};
use super::{Store, StoreError};
use crate::plan::Kind;
use crate::record::{Company, Founded, Person, PlaceText};

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn company(ambient: &Ambient, external_id: &str) -> Company {
    Company {
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
        let read = snapshot.companies(&[&expected.external_id]).await.unwrap();
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
    let read = |store: Store| async move { store.snapshot().await.unwrap().companies(&["c"]).await.unwrap() };
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
async fn deleting_a_person_deletes_what_was_revealed_of_them(pool: PgPool) {
    let (store, ambient) = (Store::new(pool.clone()), Ambient::fixed(now(), 1));
    let someone = person(&ambient, "p", None);
    store.write(&of_people([someone.clone()]), now()).await.unwrap();
    let revealed = store
        .reveal(&account("account"), someone.id, now())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(revealed.email, someone.email);
    let again = store
        .reveal(&account("account"), someone.id, now() + TimeDelta::hours(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(again, revealed, "the first reveal stands");

    let among = |name: &'static str| {
        let store = store.clone();
        async move { store.revealed_among(&account(name), &[someone.id]).await.unwrap() }
    };
    assert_eq!(among("account").await.get(&someone.id), someone.email.as_ref());
    assert!(among("other").await.is_empty());
    assert_eq!(
        store.revealed(&account("account")).await.unwrap(),
        [(someone.id, someone.email.clone().unwrap())]
    );

    let gone = Batch {
        deleted_people: vec![delete("p")],
        ..Batch::default()
    };
    store.write(&gone, now()).await.unwrap();
    assert!(among("account").await.is_empty());
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM reveals")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(left, 0);
    assert_eq!(
        store
            .reveal(&account("account"), someone.id, now())
            .await
            .unwrap(),
        None,
        "nobody is there any more"
    );
}

#[sqlx::test]
async fn a_reveal_of_someone_without_an_address_is_noted(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let someone = Person {
        email: None,
        ..person(&ambient, "p", None)
    };
    store.write(&of_people([someone.clone()]), now()).await.unwrap();
    assert_eq!(
        store
            .reveal(&account("a"), someone.id, now())
            .await
            .unwrap()
            .unwrap()
            .email,
        None
    );
    assert!(
        store
            .revealed_among(&account("a"), &[someone.id])
            .await
            .unwrap()
            .is_empty()
    );
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
    assert_eq!(
        store.snapshot().await.unwrap().companies(&["a"]).await.unwrap(),
        [good]
    );
    assert_eq!(store.feed().await.unwrap().position, 1);
}

/// Writers that take their time before and after they draw numbers, in all orders; a reader that reads all the while.
#[sqlx::test]
async fn a_reader_never_skips_a_change(pool: PgPool) {
    const WRITERS: u64 = 4;
    const BATCHES: usize = 25;
    let store = Store::new(pool.clone());
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let pool = pool.clone();
        writers.spawn(async move {
            let ambient = Ambient::fixed(now(), writer);
            for _ in 0..BATCHES {
                let mut random = [0; 4];
                ambient.fill(&mut random);
                let mut transaction = pool.begin().await.unwrap();
                stall(&mut transaction, random[0]).await;
                let new = (0..=random[1] % 5).map(|_| NewChange {
                    kind: Kind::Person,
                    record_id: ambient.uuid_v7(),
                    companies: vec![],
                });
                append(&mut transaction, &new.collect::<Vec<_>>(), now())
                    .await
                    .unwrap();
                stall(&mut transaction, random[2]).await;
                // Some never commit: gaps are no changes to wait for.
                if random[3] % 5 > 0 {
                    transaction.commit().await.unwrap();
                }
            }
        });
    }
    let mut read = Vec::new();
    loop {
        let over = writers.is_empty();
        let position = read.last().copied().unwrap_or(0);
        let mut snapshot = store.snapshot().await.unwrap();
        let changes = snapshot.changes_after(position, 50).await.unwrap();
        if over && changes.is_empty() {
            break;
        }
        read.extend(changes.into_iter().map(|change| change.seq));
        while let Some(result) = writers.try_join_next() {
            result.unwrap();
        }
    }
    let all: Vec<i64> = changes(&store, 0)
        .await
        .into_iter()
        .map(|(seq, ..)| seq)
        .collect();
    assert_eq!(read, all, "what was read on the way is all there is");
    assert!(all.len() > BATCHES);
}

async fn stall(transaction: &mut PgConnection, random: u8) {
    let seconds = f64::from(random % 8) / 1000.0;
    sqlx::query("SELECT pg_sleep($1)")
        .bind(seconds)
        .execute(transaction)
        .await
        .unwrap();
}

/// The same with transactions that draw their numbers and then take their time: without the lock a reader would see
/// the later number first.
#[sqlx::test]
async fn numbers_can_be_seen_in_their_order_only(pool: PgPool) {
    let (store, ambient) = (Store::new(pool.clone()), Ambient::fixed(now(), 1));
    let mut slow = pool.begin().await.unwrap();
    let change = NewChange {
        kind: Kind::Company,
        record_id: ambient.uuid_v7(),
        companies: vec!["slow".into()],
    };
    let first = append(&mut slow, &[change], now()).await.unwrap();
    let mut fast = JoinSet::new();
    let batch = of_companies([company(&ambient, "fast")]);
    let writer = store.clone();
    fast.spawn(async move { writer.write(&batch, now()).await.unwrap() });
    // The other writer is there and waits for the lock.
    loop {
        let waiting: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        if waiting == 1 {
            break;
        }
        assert!(
            fast.try_join_next().is_none(),
            "it must not come through before the slow one"
        );
        tokio::task::yield_now().await;
    }
    assert_eq!(changes(&store, 0).await, []);
    slow.commit().await.unwrap();
    let written = fast.join_next().await.unwrap().unwrap();
    assert!(written.position > first);
    let seen: Vec<i64> = changes(&store, 0)
        .await
        .into_iter()
        .map(|(seq, ..)| seq)
        .collect();
    assert_eq!(seen, [first, written.position]);
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
    let mut last: std::collections::HashMap<Uuid, String> = std::collections::HashMap::new();
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

#[sqlx::test]
async fn the_feed_is_dropped_from_the_front(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let empty = store.feed().await.unwrap();
    assert_eq!((empty.pruned_to, empty.position), (0, 0));
    assert_eq!(store.lag(0, now()).await.unwrap(), Lag::default());
    for number in 0..6 {
        // One clock is behind: the third change looks young.
        let at = now() + TimeDelta::minutes(if number == 2 { 60 } else { number });
        store
            .write(&of_companies([company(&ambient, &number.to_string())]), at)
            .await
            .unwrap();
    }
    let lag = store.lag(1, now() + TimeDelta::minutes(10)).await.unwrap();
    assert_eq!(
        lag,
        Lag {
            changes: 5,
            age: Some(TimeDelta::minutes(9))
        }
    );

    assert_eq!(store.prune(now(), 100).await.unwrap(), 0);
    assert_eq!(store.prune(now() + TimeDelta::minutes(5), 1).await.unwrap(), 1);
    assert_eq!(store.prune(now() + TimeDelta::minutes(5), 100).await.unwrap(), 1);
    assert_eq!(
        store.prune(now() + TimeDelta::minutes(5), 100).await.unwrap(),
        0,
        "the front stays a front"
    );
    let feed = store.feed().await.unwrap();
    assert_eq!((feed.pruned_to, feed.position), (2, 6));
    assert!(!feed.can_follow(1) && feed.can_follow(2) && feed.can_follow(6) && !feed.can_follow(7));

    assert_eq!(store.prune(now() + TimeDelta::days(1), 100).await.unwrap(), 4);
    let feed: Feed = store.feed().await.unwrap();
    assert_eq!(
        (feed.pruned_to, feed.position),
        (6, 6),
        "the position outlives the changes"
    );
    let written = store
        .write(&of_companies([company(&ambient, "new")]), now())
        .await
        .unwrap();
    assert_eq!(written.position, 7);
}

#[sqlx::test]
async fn a_companys_people_are_told_by_their_different_titles_and_places(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let titled = |id: &str, title: Option<&str>, city: Option<&str>| Person {
        job_title: title.map(str::to_owned),
        place: PlaceText {
            city: city.map(str::to_owned),
            ..PlaceText::default()
        },
        ..person(&ambient, id, Some("c"))
    };
    let people = [
        titled("1", Some("Baker"), Some("Rome")),
        titled("2", Some("Baker"), Some("Oslo")),
        titled("3", None, Some("Oslo")),
        titled("4", Some("Driver"), None),
        person(&ambient, "5", None),
    ];
    store.write(&of_people(people), now()).await.unwrap();
    let employees = store
        .snapshot()
        .await
        .unwrap()
        .employees(&["c", "none"])
        .await
        .unwrap();
    assert_eq!(employees.len(), 1);
    let told: Vec<_> = employees["c"]
        .iter()
        .map(|employee| (employee.job_title.as_deref(), employee.place.city.as_deref()))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    assert_eq!(
        told,
        [
            (None, Some("Oslo")),
            (None, Some("Rome")),
            (Some("Baker"), None),
            (Some("Driver"), None)
        ]
    );
}

#[sqlx::test]
async fn pages_of_a_snapshot_hold_each_record_once_whatever_is_written_meanwhile(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    let ids: Vec<String> = (0..25).map(|number| format!("{number:02}")).collect();
    let batch = Batch {
        companies: ids.iter().map(|id| put(company(&ambient, id))).collect(),
        people: ids.iter().map(|id| put(person(&ambient, id, None))).collect(),
        ..Batch::default()
    };
    store.write(&batch, now()).await.unwrap();
    let mut snapshot = store.snapshot().await.unwrap();
    let position = snapshot.feed().await.unwrap().position;
    store
        .write(&of_people([person(&ambient, "late", None)]), now())
        .await
        .unwrap();
    let (mut companies, mut people) = (Vec::new(), Vec::new());
    while let Some(page) = Some(
        snapshot
            .companies_page(companies.last().copied(), 10)
            .await
            .unwrap(),
    )
    .filter(|page| !page.is_empty())
    {
        companies.extend(page.into_iter().map(|company| company.id));
    }
    while let Some(page) =
        Some(snapshot.people_page(people.last().copied(), 10).await.unwrap()).filter(|page| !page.is_empty())
    {
        people.extend(page.into_iter().map(|person| person.id));
    }
    assert_eq!((companies.len(), people.len()), (25, 25));
    assert!(companies.is_sorted_by(|a, b| a < b) && people.is_sorted_by(|a, b| a < b));
    assert_eq!(snapshot.feed().await.unwrap().position, position);
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
            .bind(super::array_literal(&items))
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(read, items);
    }
}
