//! What the gateways are told over Redis, and what happens when Redis is away.

use std::time::Duration;

use futures::{Stream, StreamExt as _};
use keys::announce::Announcer;
use keys::keys::Keys;
use proto::key_change::{CHANNEL, KeyChange};
use proto::rate::Rate;
use runtime::ambient::Ambient;
use sqlx::PgPool;
use tokio::net::TcpListener;

use crate::fixture::{account, create, keys, keys_with, opens, redis_url};

/// Everything that is announced from now on, by tests that run beside this one too.
pub(crate) async fn announced() -> impl Stream<Item = KeyChange> + Unpin {
    let client = redis::Client::open(redis_url().expose()).unwrap();
    let mut pubsub = client.get_async_pubsub().await.unwrap();
    pubsub.subscribe(CHANNEL).await.unwrap();
    let messages = pubsub.into_on_message();
    let changes =
        messages.map(|message| KeyChange::decode(&message.get_payload::<String>().unwrap()).unwrap());
    Box::pin(changes)
}

/// The next announcement, which is waited for in vain for a minute at most.
pub(crate) async fn next(changes: &mut (impl Stream<Item = KeyChange> + Unpin)) -> KeyChange {
    let change = tokio::time::timeout(Duration::from_mins(1), changes.next()).await;
    change.expect("there is an announcement").unwrap()
}

async fn expect(changes: &mut (impl Stream<Item = KeyChange> + Unpin), expected: KeyChange) {
    while next(changes).await != expected {}
}

#[sqlx::test]
async fn what_outdates_an_answer_is_announced(pool: PgPool) {
    // Ids that no test beside this one has.
    let keys = keys_with(&pool, Ambient::system());
    let acme = account(&format!("acme {}", keys.ambient.uuid_v7()));
    let (key, _) = create(&keys, &acme, "x").await;
    let mut changes = announced().await;
    keys.regenerate(acme.clone(), key.id).await.unwrap();
    expect(&mut changes, KeyChange::Key(key.id.to_string())).await;
    keys.revoke(acme.clone(), key.id).await.unwrap();
    expect(&mut changes, KeyChange::Key(key.id.to_string())).await;
    // Again: the first announcement may have been lost.
    keys.revoke(acme.clone(), key.id).await.unwrap();
    expect(&mut changes, KeyChange::Key(key.id.to_string())).await;
    let rate = Rate::new(1, Duration::from_secs(1));
    keys.set_rate(acme.clone(), rate).await.unwrap();
    expect(&mut changes, KeyChange::Account(acme.to_string())).await;
    keys.set_rate(acme.clone(), None).await.unwrap();
    expect(&mut changes, KeyChange::Account(acme.to_string())).await;
}

#[sqlx::test]
async fn changes_are_made_without_redis(pool: PgPool) {
    // One Redis that refuses connections, one that takes them and never answers.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ports = [
        closed.local_addr().unwrap().port(),
        silent.local_addr().unwrap().port(),
    ];
    drop(closed);
    let (keys, acme) = (keys(&pool), account("acme"));
    for port in ports {
        let url = format!("redis://127.0.0.1:{port}");
        let keys = Keys {
            announcer: Announcer::new(redis::Client::open(url).unwrap()).unwrap(),
            ..keys.clone()
        };
        let (key, first) = create(&keys, &acme, "x").await;
        let (_, second) = keys.regenerate(acme.clone(), key.id).await.unwrap();
        assert_eq!(opens(&keys, &first).await, None);
        assert_eq!(opens(&keys, &second).await, Some(key.id));
        keys.revoke(acme.clone(), key.id).await.unwrap();
        assert_eq!(opens(&keys, &second).await, None);
        let rate = Rate::new(1, Duration::from_secs(1));
        keys.set_rate(acme.clone(), rate).await.unwrap();
        assert_eq!(keys.rate(&acme).await.unwrap(), rate);
    }
}
