//! Callers that go away.

use proto::key_change::KeyChange;
use runtime::ambient::Ambient;
use sqlx::PgPool;

use crate::announcements::{announced, next};
use crate::fixture::{account, create, keys, keys_with, listed, until};

#[sqlx::test]
async fn a_revocation_whose_caller_has_left_is_made_and_announced(pool: PgPool) {
    let keys = keys_with(&pool, Ambient::system());
    let acme = account("acme");
    let mut changes = announced().await;
    let mut expected = std::collections::HashSet::new();
    for _ in 0..50 {
        let (key, _) = create(&keys, &acme, "x").await;
        expected.insert(KeyChange::Key(key.id.to_string()));
        let mut call = Box::pin(keys.revoke(acme.clone(), key.id));
        assert!(futures::poll!(&mut call).is_pending());
        drop(call);
    }
    while !expected.is_empty() {
        expected.remove(&next(&mut changes).await);
    }
    let listed = keys.list(&acme).await.unwrap();
    assert!(listed.iter().all(|key| key.revoked_at.is_some()));
}

#[sqlx::test]
async fn abandoned_calls_leave_no_connection_and_no_lock(pool: PgPool) {
    let (mut keys, acme) = (keys(&pool), account("acme"));
    keys.max_active_keys = 10_000;
    let (key, _) = create(&keys, &acme, "x").await;
    for _ in 0..500 {
        let mut calls = (
            Box::pin(keys.create(acme.clone(), "abandoned".to_owned())),
            Box::pin(keys.regenerate(acme.clone(), key.id)),
            Box::pin(keys.rename(acme.clone(), key.id, "abandoned".to_owned())),
        );
        assert!(futures::poll!(&mut calls.0).is_pending());
        assert!(futures::poll!(&mut calls.1).is_pending());
        assert!(futures::poll!(&mut calls.2).is_pending());
    }
    until("all work has come to its end", async || {
        keys.list(&acme).await.unwrap().len() == 501
    })
    .await;
    assert_eq!(listed(&keys, &acme, key.id).await.name, "abandoned");
    until("every connection is back", async || {
        pool.num_idle() == pool.size() as usize
    })
    .await;
    let locks: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database
         WHERE locktype = 'advisory' AND datname = current_database()",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(locks, 0);
}
