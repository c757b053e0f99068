//! Reveals.

use chrono::TimeDelta;
use runtime::ambient::Ambient;
use sqlx::PgPool;

use super::{account, delete, now, of_people, person};
use crate::record::Person;
use crate::store::Store;
use crate::store::write::Batch;

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
