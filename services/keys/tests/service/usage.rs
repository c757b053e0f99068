//! When keys were last used.

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use keys::key::Use;
use sqlx::PgPool;

use crate::fixture::{account, create, keys, listed, opens, start, until};

#[sqlx::test]
async fn uses_are_written_together_and_the_latest_is_told(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (one, one_secret) = create(&keys, &acme, "one").await;
    let (two, two_secret) = create(&keys, &acme, "two").await;
    let (three, _) = create(&keys, &acme, "three").await;
    join_all((0..200).map(|_| opens(&keys, &one_secret))).await;
    keys.ambient.advance(TimeDelta::seconds(3));
    opens(&keys, &one_secret).await;
    opens(&keys, &two_secret).await;
    // No write for a request.
    assert_eq!(listed(&keys, &acme, one.id).await.last_used_at, None);
    keys.usage.flush(&keys.store).await.unwrap();
    let latest = Some(start() + TimeDelta::seconds(3));
    assert_eq!(listed(&keys, &acme, one.id).await.last_used_at, latest);
    assert_eq!(listed(&keys, &acme, two.id).await.last_used_at, latest);
    assert_eq!(listed(&keys, &acme, three.id).await.last_used_at, None);
}

#[sqlx::test]
async fn a_later_use_noted_by_another_replica_stays(pool: PgPool) {
    let acme = account("acme");
    let (early, late) = (keys(&pool), keys(&pool));
    let (key, secret) = create(&early, &acme, "x").await;
    late.ambient.advance(TimeDelta::seconds(9));
    opens(&late, &secret).await;
    opens(&early, &secret).await;
    late.usage.flush(&late.store).await.unwrap();
    early.usage.flush(&early.store).await.unwrap();
    let told = listed(&early, &acme, key.id).await.last_used_at;
    assert_eq!(told, Some(start() + TimeDelta::seconds(9)));
}

#[sqlx::test]
async fn a_use_of_a_replaced_secret_is_not_noted_on_its_successor(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, old) = create(&keys, &acme, "x").await;
    opens(&keys, &old).await;
    let (_, new) = keys.regenerate(acme.clone(), key.id).await.unwrap();
    keys.usage.flush(&keys.store).await.unwrap();
    assert_eq!(listed(&keys, &acme, key.id).await.last_used_at, None);
    // The new secret's use counts, also when the old one's waits beside it, in whatever order they came.
    opens(&keys, &new).await;
    let old_use = Use {
        generation: 0,
        at: start() + TimeDelta::hours(1),
        rehashed: None,
    };
    keys.usage.note(key.id, old_use);
    keys.usage.flush(&keys.store).await.unwrap();
    assert_eq!(listed(&keys, &acme, key.id).await.last_used_at, Some(start()));
}

#[sqlx::test]
async fn a_use_before_a_revocation_is_told(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, secret) = create(&keys, &acme, "x").await;
    opens(&keys, &secret).await;
    keys.revoke(acme.clone(), key.id).await.unwrap();
    keys.usage.flush(&keys.store).await.unwrap();
    assert_eq!(listed(&keys, &acme, key.id).await.last_used_at, Some(start()));
}

#[sqlx::test]
async fn a_write_that_fails_is_made_up_for_by_the_next(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, secret) = create(&keys, &acme, "x").await;
    opens(&keys, &secret).await;
    sqlx::query("ALTER TABLE keys RENAME TO keys_away")
        .execute(&pool)
        .await
        .unwrap();
    assert!(keys.usage.flush(&keys.store).await.is_err());
    sqlx::query("ALTER TABLE keys_away RENAME TO keys")
        .execute(&pool)
        .await
        .unwrap();
    keys.usage.flush(&keys.store).await.unwrap();
    assert_eq!(listed(&keys, &acme, key.id).await.last_used_at, Some(start()));
}

#[sqlx::test]
async fn replicas_that_write_the_same_keys_do_not_block_each_other(pool: PgPool) {
    let acme = account("acme");
    let replicas: Vec<_> = (0..4).map(|_| keys(&pool)).collect();
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(create(&replicas[0], &acme, "x").await.0.id);
    }
    for round in 1..=20 {
        for replica in &replicas {
            for id in &ids {
                let at = start() + TimeDelta::seconds(round);
                replica.usage.note(
                    *id,
                    Use {
                        generation: 0,
                        at,
                        rehashed: None,
                    },
                );
            }
        }
        for written in join_all(replicas.iter().map(|replica| replica.usage.flush(&replica.store))).await {
            written.unwrap();
        }
    }
    for key in replicas[0].list(&acme).await.unwrap() {
        assert_eq!(key.last_used_at, Some(start() + TimeDelta::seconds(20)));
    }
}

#[sqlx::test]
async fn uses_are_written_by_themselves_until_the_process_drains(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, secret) = create(&keys, &acme, "x").await;
    let writing = keys.shutdown.spawn(keys.usage.clone().keep_writing(
        keys.store.clone(),
        Duration::from_millis(20),
        keys.shutdown.clone(),
    ));
    opens(&keys, &secret).await;
    until("the use is written", async || {
        listed(&keys, &acme, key.id).await.last_used_at.is_some()
    })
    .await;
    keys.shutdown.begin();
    writing.await.unwrap();
}
