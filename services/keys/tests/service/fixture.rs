//! What the tests stand on: a service on the test's own database, and the shared Redis.

use std::future::Future;
use std::time::Duration;

use chrono::{DateTime, TimeZone as _, Utc};
use keys::announce::Announcer;
use keys::key::{Key, KeyId};
use keys::keys::Keys;
use keys::secret::{Pepper, Peppers};
use keys::store::Store;
use keys::usage::Usage;
use proto::account::{self, AccountId};
use proto::api_key::ApiKeySecret;
use runtime::ambient::Ambient;
use runtime::secret::Secret;
use runtime::shutdown::Shutdown;
use sqlx::PgPool;

/// Most active keys in the tests.
pub(crate) const MAX_ACTIVE_KEYS: u32 = 50;

/// Where the shared Redis is.
pub(crate) fn redis_url() -> Secret {
    #[expect(clippy::disallowed_methods, reason = "tests are told where Redis is")]
    let url = std::env::var("DS_TEST__REDIS_URL");
    Secret::new(url.expect("DS_TEST__REDIS_URL is not set: run ./dev test, which starts a Redis"))
}

/// A point in time.
pub(crate) fn start() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 28, 12, 0, 0).unwrap()
}

/// The service, with a clock that stands still.
pub(crate) fn keys(pool: &PgPool) -> Keys {
    keys_with(pool, Ambient::fixed(start(), 1))
}

/// The service, with this clock.
pub(crate) fn keys_with(pool: &PgPool, ambient: Ambient) -> Keys {
    Keys {
        store: Store::new(pool.clone()),
        announcer: Announcer::new(redis::Client::open(redis_url().expose()).unwrap()).unwrap(),
        usage: Usage::default(),
        peppers: Peppers {
            current: pepper("current"),
            previous: None,
        },
        max_active_keys: MAX_ACTIVE_KEYS,
        ambient,
        shutdown: Shutdown::new(),
    }
}

/// A pepper of this name.
pub(crate) fn pepper(name: &str) -> Pepper {
    Pepper::new(Secret::new(format!(
        "the {name} pepper of the tests, long enough"
    )))
}

/// An account.
pub(crate) fn account(id: &str) -> AccountId {
    account::check(id).unwrap()
}

/// A key of the account with this name.
pub(crate) async fn create(keys: &Keys, account: &AccountId, name: &str) -> (Key, ApiKeySecret) {
    keys.create(account.clone(), name.to_owned()).await.unwrap()
}

/// The key with this id, as the list shows it.
pub(crate) async fn listed(keys: &Keys, account: &AccountId, id: KeyId) -> Key {
    let all = keys.list(account).await.unwrap();
    all.into_iter().find(|key| key.id == id).unwrap()
}

/// The id of the key that the secret opens.
pub(crate) async fn opens(keys: &Keys, secret: &ApiKeySecret) -> Option<KeyId> {
    keys.verify(secret.expose()).await.unwrap().map(|found| found.id)
}

/// Waits until the condition holds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    for _ in 0..6_000 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain until {what}");
}
