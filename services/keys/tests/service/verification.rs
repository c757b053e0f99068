//! Whose secret it is, and what is kept of it.

use std::time::Duration;

use keys::secret::{Peppers, generate};
use proto::rate::Rate;
use sqlx::PgPool;

use crate::fixture::{account, create, keys, opens, pepper};

#[sqlx::test]
async fn a_secret_opens_its_own_key_and_no_other(pool: PgPool) {
    let keys = keys(&pool);
    let (one, one_secret) = create(&keys, &account("acme"), "one").await;
    let (two, two_secret) = create(&keys, &account("other"), "two").await;
    let found = keys.verify(one_secret.expose()).await.unwrap().unwrap();
    assert_eq!((found.id, found.account_id.as_str()), (one.id, "acme"));
    let found = keys.verify(two_secret.expose()).await.unwrap().unwrap();
    assert_eq!((found.id, found.account_id.as_str()), (two.id, "other"));
}

#[sqlx::test]
async fn what_is_of_no_worth_opens_nothing(pool: PgPool) {
    let keys = keys(&pool);
    let (_, secret) = create(&keys, &account("acme"), "x").await;
    let unknown = generate(&keys.ambient);
    let (cut, longer) = (&secret.expose()[..41], format!("{}0", secret.expose()));
    for text in [
        "",
        "dsk_",
        "x",
        unknown.expose(),
        secret.prefix(),
        cut,
        &longer,
        "dsk_\0",
    ] {
        assert!(keys.verify(text).await.unwrap().is_none(), "{text:?}");
    }
}

#[sqlx::test]
async fn the_answer_tells_the_rate_of_the_account(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (_, secret) = create(&keys, &acme, "x").await;
    let rate = Rate::new(7, Duration::from_millis(1_500)).unwrap();
    let told = async || keys.verify(secret.expose()).await.unwrap().unwrap().rate;
    assert_eq!(told().await, None);
    keys.set_rate(acme.clone(), Some(rate)).await.unwrap();
    assert_eq!(told().await, Some(rate));
    assert_eq!(keys.rate(&acme).await.unwrap(), Some(rate));
    assert_eq!(keys.rate(&account("other")).await.unwrap(), None);
    for (requests, window) in [(1, Duration::from_secs(1)), (1_000_000, Duration::from_hours(24))] {
        let rate = Rate::new(requests, window);
        keys.set_rate(acme.clone(), rate).await.unwrap();
        assert_eq!(told().await, rate);
    }
    keys.set_rate(acme.clone(), None).await.unwrap();
    assert_eq!(told().await, None);
    // Taking away what is not there is no fault.
    keys.set_rate(acme, None).await.unwrap();
}

#[sqlx::test]
async fn the_database_holds_no_secret(pool: PgPool) {
    let (keys, acme) = (keys(&pool), account("acme"));
    let (key, first) = create(&keys, &acme, "x").await;
    let (_, second) = keys.regenerate(acme, key.id).await.unwrap();
    let (row, hash): (String, Vec<u8>) = sqlx::query_as("SELECT keys::text, secret_hash FROM keys")
        .fetch_one(&pool)
        .await
        .unwrap();
    for secret in [&first, &second] {
        // Neither the hidden part as text, nor as the hexadecimal digits that Postgres shows bytes in.
        let hidden = &secret.expose()[12..];
        let digits: String = sqlx::query_scalar("SELECT encode(convert_to($1, 'UTF8'), 'hex')")
            .bind(hidden)
            .fetch_one(&pool)
            .await
            .unwrap();
        assert!(!row.contains(hidden) && !row.contains(&digits), "{row}");
    }
    assert_eq!(hash, pepper("current").hash(&second).hash);
    assert_ne!(hash, pepper("other").hash(&second).hash);
}

#[sqlx::test]
async fn a_pepper_is_changed_without_a_key_refused(pool: PgPool) {
    let acme = account("acme");
    let with = |current: &str, previous: Option<&str>| {
        let mut keys = keys(&pool);
        keys.peppers = Peppers {
            current: pepper(current),
            previous: previous.map(pepper),
        };
        keys
    };
    let old = with("old", None);
    let (used, used_secret) = create(&old, &acme, "used").await;
    old.ambient.advance(chrono::TimeDelta::seconds(1));
    let (_, idle_secret) = create(&old, &acme, "idle").await;

    // Every replica learns the new one, then they swap: keys of either open at both.
    let (learnt, swapped) = (with("old", Some("new")), with("new", Some("old")));
    for keys in [&learnt, &swapped] {
        assert_eq!(opens(keys, &used_secret).await, Some(used.id));
    }
    swapped.usage.flush(&swapped.store).await.unwrap();
    for keys in [&learnt, &swapped] {
        assert_eq!(opens(keys, &used_secret).await, Some(used.id));
        assert!(opens(keys, &idle_secret).await.is_some());
    }

    // The old one is dropped: what was used meanwhile works, and the rows told what would not.
    let new = with("new", None);
    assert_eq!(opens(&new, &used_secret).await, Some(used.id));
    assert_eq!(opens(&new, &idle_secret).await, None);
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM keys WHERE pepper_id = $1")
        .bind(pepper("old").id())
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(left, 1);
}
