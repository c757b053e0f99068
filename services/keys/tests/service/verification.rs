//! Whose secret it is, and what is kept of it.

use std::time::Duration;

use keys::secret::generate;
use proto::rate::Rate;
use sqlx::PgPool;

use crate::fixture::{account, create, keys, pepper};

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
