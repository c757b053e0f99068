//! The feed of changes, and the snapshots an index reads.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use futures::TryStreamExt as _;
use runtime::ambient::Ambient;
use sqlx::{PgConnection, PgPool};
use tokio::task::JoinSet;

use super::{changes, company, now, of_companies, of_people, person, put};
use crate::plan::Kind;
use crate::record::{Employee, Person, PlaceText};
use crate::store::Store;
use crate::store::changes::{Feed, Lag, NewChange, append};
use crate::store::write::Batch;
use crate::workforce::MAX_EMPLOYEE_VALUES;

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

/// Held against Postgres's own order, of more different values than a document holds.
#[sqlx::test]
async fn of_very_many_titles_and_places_a_company_is_told_by_the_first(pool: PgPool) {
    let (store, ambient) = (Store::new(pool.clone()), Ambient::fixed(now(), 1));
    let letters = ["a", "B", "é", "Z", "\u{1F600}", "\u{FFFD}"];
    let people = (0..2 * MAX_EMPLOYEE_VALUES).map(|number| {
        let letter = letters[number % letters.len()].to_owned();
        let of = |part: &str, every: usize| (number % every > 0).then(|| format!("{letter}{part}{number}"));
        let place = PlaceText {
            city: of("city", 3),
            region: of("region", 2),
            country: (number % 5 > 0).then(|| "DE".to_owned()),
        };
        Person {
            job_title: of("title", 7),
            place,
            ..person(&ambient, &number.to_string(), Some("c"))
        }
    });
    store.write(&of_people(people), now()).await.unwrap();
    let most = i64::try_from(MAX_EMPLOYEE_VALUES).unwrap();
    let titles: Vec<String> = sqlx::query_scalar(
        "SELECT job_title FROM people WHERE job_title IS NOT NULL
         GROUP BY job_title ORDER BY job_title COLLATE \"C\" LIMIT $1",
    )
    .bind(most)
    .fetch_all(&pool)
    .await
    .unwrap();
    let places: Vec<(Option<String>, Option<String>, Option<String>)> = sqlx::query_as(
        "SELECT city, region, country FROM people WHERE num_nonnulls(city, region, country) > 0
         GROUP BY city, region, country
         ORDER BY city COLLATE \"C\", region COLLATE \"C\", country COLLATE \"C\" LIMIT $1",
    )
    .bind(most)
    .fetch_all(&pool)
    .await
    .unwrap();
    assert_eq!(
        (titles.len(), places.len()),
        (MAX_EMPLOYEE_VALUES, MAX_EMPLOYEE_VALUES)
    );
    let titles = titles
        .into_iter()
        .map(|title| (Some(title), PlaceText::default()));
    let places = places.into_iter().map(|(city, region, country)| {
        let place = PlaceText {
            city,
            region,
            country,
        };
        (None, place)
    });
    let expected: Vec<Employee> = titles
        .chain(places)
        .map(|(job_title, place)| Employee { job_title, place })
        .collect();
    let mut snapshot = store.snapshot().await.unwrap();
    let employees = snapshot.employees(&["c"]).await.unwrap();
    assert!(employees["c"] == expected);
}

#[sqlx::test]
async fn people_of_no_company_that_is_there_are_alone(pool: PgPool) {
    let (store, ambient) = (Store::new(pool), Ambient::fixed(now(), 1));
    store
        .write(&of_companies([company(&ambient, "there")]), now())
        .await
        .unwrap();
    let people = (0..25).map(|number| {
        let company = [None, Some("there"), Some("gone")][number % 3];
        person(&ambient, &format!("{number:02}"), company)
    });
    store.write(&of_people(people), now()).await.unwrap();
    let mut snapshot = store.snapshot().await.unwrap();
    snapshot.find_people_alone().await.unwrap();
    let mut alone = Vec::new();
    loop {
        let page = snapshot.next_people_alone(5).await.unwrap();
        assert!(page.len() <= 5);
        if page.is_empty() {
            break;
        }
        alone.extend(page.into_iter().map(|person| person.external_id));
        // Other reads in between do not disturb it.
        let of = snapshot
            .people_of(&["there"])
            .try_collect::<Vec<_>>()
            .await
            .unwrap();
        assert_eq!(of.len(), 8);
    }
    alone.sort_unstable();
    let expected = (0..25)
        .filter(|number| number % 3 != 1)
        .map(|number| format!("{number:02}"));
    assert_eq!(alone, expected.collect::<Vec<_>>());
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
    let mut companies = Vec::new();
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
    let (mut people, mut pages) = (BTreeSet::new(), 0);
    snapshot.find_people_alone().await.unwrap();
    while let Some(page) = Some(snapshot.next_people_alone(10).await.unwrap()).filter(|page| !page.is_empty())
    {
        pages += 1;
        people.extend(page.into_iter().map(|person| person.id));
    }
    assert_eq!((companies.len(), people.len(), pages), (25, 25, 3));
    assert!(companies.is_sorted_by(|a, b| a < b));
    assert_eq!(snapshot.feed().await.unwrap().position, position);
}
