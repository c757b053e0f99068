//! Making, naming, revoking, regenerating.

use chrono::TimeDelta;
use futures::future::join_all;
use keys::key::KeyId;
use keys::keys::KeysError;
use sqlx::PgPool;

use crate::fixture::{MAX_ACTIVE_KEYS, account, create, keys, listed, opens, start};

#[sqlx::test]
async fn a_new_key_is_active_unused_and_shows_its_prefix(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, secret) = create(&keys, &acme, "my key").await;
    assert_eq!(key.id.as_uuid().get_version_num(), 7);
    assert_eq!(key.name, "my key");
    assert_eq!(key.prefix, secret.expose()[..12]);
    assert!(key.prefix.starts_with("dsk_"));
    assert_eq!(key.created_at, start());
    assert_eq!((key.last_used_at, key.revoked_at), (None, None));
    assert_eq!(opens(&keys, &secret).await, Some(key.id));
    assert_eq!(keys.list(&acme).await.unwrap(), [key]);
}

#[sqlx::test]
async fn the_list_is_newest_first_and_has_the_revoked_ones(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let mut expected = Vec::new();
    for name in ["one", "two", "three", "four"] {
        let (key, _) = create(&keys, &acme, name).await;
        expected.insert(0, key.id);
        keys.ambient.advance(TimeDelta::milliseconds(1));
    }
    keys.revoke(acme.clone(), expected[1]).await.unwrap();
    create(&keys, &account("other"), "not acme's").await;
    let listed = keys.list(&acme).await.unwrap();
    assert_eq!(listed.iter().map(|key| key.id).collect::<Vec<_>>(), expected);
    let revoked: Vec<_> = listed.iter().map(|key| key.revoked_at.is_some()).collect();
    assert_eq!(revoked, [false, true, false, false]);
    assert_eq!(keys.list(&account("nobody")).await.unwrap(), []);
}

#[sqlx::test]
async fn an_account_has_at_most_so_many_active_keys(pool: PgPool) {
    let (mut keys, acme) = (keys(&pool), account("acme"));
    keys.max_active_keys = 3;
    let (first, _) = create(&keys, &acme, "first").await;
    create(&keys, &acme, "second").await;
    create(&keys, &acme, "third").await;
    let refused = keys.create(acme.clone(), "fourth".to_owned()).await;
    assert!(matches!(
        refused,
        Err(KeysError::LimitReached { max_active_keys: 3 })
    ));
    // Another account has its own count, and a revoked key counts no more.
    create(&keys, &account("other"), "first").await;
    keys.revoke(acme.clone(), first.id).await.unwrap();
    create(&keys, &acme, "fourth").await;
    assert!(keys.create(acme.clone(), "fifth".to_owned()).await.is_err());
    assert_eq!(keys.list(&acme).await.unwrap().len(), 4);
}

#[sqlx::test]
async fn creations_side_by_side_do_not_pass_the_limit(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    for _ in 0..40 {
        create(&keys, &acme, "before").await;
    }
    // Each insertion dwells between its count and its end, so that whoever may count beside it does.
    sqlx::raw_sql(
        "CREATE FUNCTION dwell() RETURNS trigger LANGUAGE plpgsql
         AS 'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END';
         CREATE TRIGGER dwell BEFORE INSERT ON keys FOR EACH ROW EXECUTE FUNCTION dwell()",
    )
    .execute(&pool)
    .await
    .unwrap();
    let at_once = (0..50).map(|_| keys.create(acme.clone(), "at once".to_owned()));
    let results = join_all(at_once).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 10);
    for refused in results.into_iter().filter_map(Result::err) {
        assert!(matches!(refused, KeysError::LimitReached { .. }), "{refused:?}");
    }
    let listed = keys.list(&acme).await.unwrap();
    assert_eq!(listed.len(), MAX_ACTIVE_KEYS as usize);
}

#[sqlx::test]
async fn a_rename_changes_the_name_alone(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (before, secret) = create(&keys, &acme, "before").await;
    keys.ambient.advance(TimeDelta::hours(1));
    let renamed = keys
        .rename(acme.clone(), before.id, "after".to_owned())
        .await
        .unwrap();
    assert_eq!(renamed.name, "after");
    assert_eq!(
        keys::key::Key {
            name: before.name.clone(),
            ..renamed.clone()
        },
        before
    );
    assert_eq!(listed(&keys, &acme, before.id).await, renamed);
    assert_eq!(opens(&keys, &secret).await, Some(before.id));
}

#[sqlx::test]
async fn a_key_revoked_again_keeps_its_first_time(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, secret) = create(&keys, &acme, "x").await;
    keys.ambient.advance(TimeDelta::minutes(5));
    let first = keys.revoke(acme.clone(), key.id).await.unwrap();
    assert_eq!(first.revoked_at, Some(start() + TimeDelta::minutes(5)));
    keys.ambient.advance(TimeDelta::minutes(5));
    assert_eq!(keys.revoke(acme.clone(), key.id).await.unwrap(), first);
    assert_eq!(opens(&keys, &secret).await, None);
}

#[sqlx::test]
async fn a_clock_that_is_behind_can_revoke(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, _) = create(&keys, &acme, "x").await;
    keys.ambient.advance(TimeDelta::seconds(-5));
    let revoked = keys.revoke(acme, key.id).await.unwrap();
    assert_eq!(revoked.revoked_at, Some(key.created_at));
}

#[sqlx::test]
async fn nothing_leaves_the_state_of_being_revoked(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, secret) = create(&keys, &acme, "x").await;
    let revoked = keys.revoke(acme.clone(), key.id).await.unwrap();
    let renamed = keys.rename(acme.clone(), key.id, "y".to_owned()).await;
    assert!(matches!(renamed, Err(KeysError::Revoked)), "{renamed:?}");
    let regenerated = keys.regenerate(acme.clone(), key.id).await;
    assert!(matches!(regenerated, Err(KeysError::Revoked)), "{regenerated:?}");
    assert_eq!(keys.list(&acme).await.unwrap(), [revoked]);
    assert_eq!(opens(&keys, &secret).await, None);
}

#[sqlx::test]
async fn a_regenerated_key_has_another_secret_never_used(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (before, old) = create(&keys, &acme, "x").await;
    assert_eq!(opens(&keys, &old).await, Some(before.id));
    keys.usage.flush(&keys.store).await.unwrap();
    assert!(listed(&keys, &acme, before.id).await.last_used_at.is_some());
    let (after, new) = keys.regenerate(acme.clone(), before.id).await.unwrap();
    assert_ne!(after.prefix, before.prefix);
    assert_eq!(after.prefix, new.prefix());
    assert_eq!(
        keys::key::Key {
            prefix: before.prefix.clone(),
            ..after.clone()
        },
        before
    );
    assert_eq!(keys.list(&acme).await.unwrap(), [after]);
    assert_eq!(opens(&keys, &old).await, None);
    assert_eq!(opens(&keys, &new).await, Some(before.id));
}

#[sqlx::test]
async fn of_regenerations_side_by_side_one_secret_works_and_was_told(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, first) = create(&keys, &acme, "x").await;
    let at_once = (0..20).map(|_| keys.regenerate(acme.clone(), key.id));
    let told = join_all(at_once).await;
    let mut working = Vec::new();
    for (told_key, secret) in told.into_iter().map(Result::unwrap) {
        assert_eq!(told_key.prefix, secret.prefix());
        if opens(&keys, &secret).await == Some(key.id) {
            working.push(told_key);
        }
    }
    assert_eq!(working.len(), 1);
    assert_eq!(keys.list(&acme).await.unwrap(), working);
    assert_eq!(opens(&keys, &first).await, None);
}

#[sqlx::test]
async fn a_revocation_beside_a_regeneration_stays(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    for _ in 0..20 {
        let (key, first) = create(&keys, &acme, "x").await;
        let (revoked, regenerated, renamed) = tokio::join!(
            keys.revoke(acme.clone(), key.id),
            keys.regenerate(acme.clone(), key.id),
            keys.rename(acme.clone(), key.id, "y".to_owned()),
        );
        assert!(revoked.unwrap().revoked_at.is_some());
        match regenerated {
            Ok((_, secret)) => assert_eq!(opens(&keys, &secret).await, None),
            Err(refused) => assert!(matches!(refused, KeysError::Revoked), "{refused:?}"),
        }
        if let Err(refused) = renamed {
            assert!(matches!(refused, KeysError::Revoked), "{refused:?}");
        }
        assert_eq!(opens(&keys, &first).await, None);
        assert!(listed(&keys, &acme, key.id).await.revoked_at.is_some());
    }
}

#[sqlx::test]
async fn keys_of_others_and_of_nobody_are_not_there_alike(pool: PgPool) {
    let (keys, acme, other) = (keys(&pool), account("acme"), account("other"));
    let (key, secret) = create(&keys, &acme, "x").await;
    let unknown = KeyId::new(keys.ambient.uuid_v7());
    for id in [key.id, unknown] {
        let refusals = [
            keys.rename(other.clone(), id, "y".to_owned()).await.err(),
            keys.revoke(other.clone(), id).await.err(),
            keys.regenerate(other.clone(), id).await.err(),
        ];
        for refusal in refusals {
            assert!(matches!(refusal, Some(KeysError::NotFound)), "{refusal:?}");
        }
    }
    assert_eq!(opens(&keys, &secret).await, Some(key.id));
    assert_eq!(keys.list(&acme).await.unwrap(), [key]);
}
