//! One pepper in place of another.

use chrono::TimeDelta;
use keys::keys::Keys;
use keys::pepper_change::Progress;
use keys::secret::Peppers;
use runtime::ambient::Ambient;
use sqlx::PgPool;

use crate::fixture::{account, create, keys_with, opens, pepper, start};

/// A replica with these peppers, whose random source is its own: two replicas make no secret twice.
fn with(pool: &PgPool, current: &str, previous: Option<&str>) -> Keys {
    let seed = current
        .bytes()
        .chain(previous.unwrap_or_default().bytes())
        .map(u64::from);
    let mut keys = keys_with(pool, Ambient::fixed(start(), seed.sum()));
    keys.peppers = Peppers {
        current: pepper(current),
        previous: previous.map(pepper),
    };
    keys
}

/// How many keys a replica counts with the current pepper, the previous one, neither.
async fn counted(keys: &Keys) -> (u32, u32, u32) {
    let progress = Progress::of(&keys.store, &keys.peppers).await.unwrap();
    (progress.current, progress.previous, progress.unknown)
}

#[sqlx::test]
async fn a_pepper_is_changed_without_a_key_refused_and_the_end_is_told(pool: PgPool) {
    let acme = account("acme");
    let old = with(&pool, "old", None);
    let (used, used_secret) = create(&old, &acme, "used").await;
    old.ambient.advance(TimeDelta::seconds(1));
    let (idle, idle_secret) = create(&old, &acme, "idle").await;
    old.ambient.advance(TimeDelta::seconds(1));
    let (revoked, _) = create(&old, &acme, "revoked").await;
    old.revoke(acme.clone(), revoked.id).await.unwrap();
    assert_eq!(counted(&old).await, (2, 0, 0));

    // Every replica learns the new one, then they swap: keys of either open at both.
    let (learnt, swapped) = (with(&pool, "old", Some("new")), with(&pool, "new", Some("old")));
    assert_eq!(counted(&swapped).await, (0, 2, 0));
    for keys in [&learnt, &swapped] {
        assert_eq!(opens(keys, &used_secret).await, Some(used.id));
    }
    swapped.usage.flush(&swapped.store).await.unwrap();
    let (made, made_secret) = create(&swapped, &account("other"), "made meanwhile").await;
    for keys in [&learnt, &swapped] {
        assert_eq!(opens(keys, &used_secret).await, Some(used.id));
        assert_eq!(opens(keys, &made_secret).await, Some(made.id));
        assert!(opens(keys, &idle_secret).await.is_some());
    }
    assert_eq!(counted(&swapped).await, (2, 1, 0));
    assert_eq!(counted(&learnt).await, (1, 2, 0));

    // The old one is dropped: what was used meanwhile works, and the count told what would not.
    let new = with(&pool, "new", None);
    assert_eq!(opens(&new, &used_secret).await, Some(used.id));
    assert_eq!(opens(&new, &idle_secret).await, None);
    assert_eq!(counted(&new).await, (2, 0, 1));

    // Put back, it makes the key work again; regenerated, the key needs it no more.
    assert_eq!(opens(&swapped, &idle_secret).await, Some(idle.id));
    let (_, secret) = new.regenerate(acme, idle.id).await.unwrap();
    assert_eq!(opens(&new, &secret).await, Some(idle.id));
    assert_eq!(counted(&new).await, (3, 0, 0));
}

#[sqlx::test]
async fn peppers_of_another_database_are_refused(pool: PgPool) {
    let acme = account("acme");
    let (ours, wrong) = (with(&pool, "ours", None), with(&pool, "wrong", Some("wrong too")));
    let check = async |keys: &Keys| Progress::of(&keys.store, &keys.peppers).await.unwrap().check();
    for keys in [&ours, &wrong] {
        assert!(check(keys).await.is_ok(), "there is no key yet");
    }
    let (key, _) = create(&ours, &acme, "x").await;
    assert!(check(&ours).await.is_ok());
    assert!(check(&wrong).await.is_err());
    let changed = with(&pool, "new", Some("ours"));
    assert!(check(&changed).await.is_ok());
    // The way out when a pepper is lost.
    ours.revoke(acme, key.id).await.unwrap();
    assert!(check(&wrong).await.is_ok());
}
