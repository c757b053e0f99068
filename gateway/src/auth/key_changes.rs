//! Changes of keys, as the keys service announces them on Redis.
//!
//! Changes are counted. A kept answer notes the count when its question was asked; it is outdated once something that it
//! speaks of has changed at a later count. So it does not matter in which order an announcement and the answer to a
//! question asked before it arrive.
//!
//! While nobody listens (before the first connection, after a lost one) announcements are missed: whenever listening
//! begins, everything kept before is outdated. A connection that has gone silent is noticed by a ping a second.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use futures::StreamExt as _;
use proto::key_change::{CHANNEL, KeyChange};
use redis::RedisError;
use tokio::time::timeout;

/// From one attempt to connect to the next.
const RECONNECT_EVERY: Duration = Duration::from_millis(250);

/// Silence after which the connection is tried, and longest wait for the answer.
const PING_AFTER: Duration = Duration::from_secs(1);

/// Longest attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Most changes remembered; when there are more, everything kept is outdated and counting goes on.
const MAX_REMEMBERED: usize = 10_000;

/// What has changed, and when.
#[derive(Debug, Default)]
pub struct KeyChanges(RwLock<State>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    /// Everything asked before this count is outdated.
    floor: u64,
    /// The count of the last change of a key.
    keys: HashMap<String, u64>,
    /// The count of the last change of an account.
    accounts: HashMap<String, u64>,
}

impl State {
    fn last(&self, subject: &KeyChange) -> u64 {
        let last = match subject {
            KeyChange::Key(id) => self.keys.get(id),
            KeyChange::Account(id) => self.accounts.get(id),
        };
        last.copied().unwrap_or(0)
    }

    fn outdate_everything(&mut self) {
        self.count += 1;
        self.floor = self.count;
        self.keys.clear();
        self.accounts.clear();
    }
}

impl KeyChanges {
    /// How many changes there have been.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).count
    }

    /// Whether an answer that speaks of these, to a question asked at this count, is outdated.
    #[must_use]
    pub fn outdate(&self, asked_at: u64, subjects: &[KeyChange]) -> bool {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        asked_at < state.floor || subjects.iter().any(|subject| state.last(subject) > asked_at)
    }

    /// Listens to the announcements for ever, connecting again whenever the connection is lost.
    pub async fn listen(&self, redis: &redis::Client) {
        let mut told = false;
        loop {
            let error = match self.listen_once(redis, &mut told).await {
                Ok(()) => "the connection ended".to_owned(),
                Err(error) => error.to_string(),
            };
            if !told {
                tracing::warn!(
                    error,
                    "changes of API keys are not heard: a revocation takes up to 5 s"
                );
                metrics::gauge!(crate::meters::KEY_CHANGES_HEARD).set(0.0);
                told = true;
            }
            tokio::time::sleep(RECONNECT_EVERY).await;
        }
    }

    async fn listen_once(&self, redis: &redis::Client, told: &mut bool) -> Result<(), RedisError> {
        let connecting = async {
            let mut subscription = redis.get_async_pubsub().await?;
            subscription.subscribe(CHANNEL).await?;
            Ok::<_, RedisError>(subscription)
        };
        let subscription = timeout(CONNECT_TIMEOUT, connecting)
            .await
            .map_err(|_| silent())??;
        let (mut sink, mut messages) = subscription.split();
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .outdate_everything();
        tracing::info!("changes of API keys are heard");
        metrics::gauge!(crate::meters::KEY_CHANGES_HEARD).set(1.0);
        *told = false;
        loop {
            match timeout(PING_AFTER, messages.next()).await {
                Ok(Some(message)) => self.note(message.get_payload::<String>().ok().as_deref()),
                Ok(None) => return Ok(()),
                Err(_) => timeout(PING_AFTER, sink.ping::<()>())
                    .await
                    .map_err(|_| silent())??,
            }
        }
    }

    /// Notes an announcement. One that can't be read may be about anything.
    fn note(&self, payload: Option<&str>) {
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Some(change) = payload.and_then(KeyChange::decode) else {
            return state.outdate_everything();
        };
        if state.keys.len() + state.accounts.len() >= MAX_REMEMBERED {
            state.outdate_everything();
        }
        state.count += 1;
        let count = state.count;
        match change {
            KeyChange::Key(id) => state.keys.insert(id, count),
            KeyChange::Account(id) => state.accounts.insert(id, count),
        };
    }
}

fn silent() -> RedisError {
    RedisError::from((redis::ErrorKind::Io, "it does not answer in time"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use runtime::ambient::Ambient;
    use runtime::shutdown::Shutdown;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::AbortHandle;

    use super::*;

    fn key(id: &str) -> KeyChange {
        KeyChange::Key(id.to_owned())
    }

    #[test]
    fn an_answer_is_outdated_by_a_later_change_of_what_it_speaks_of_alone() {
        let changes = KeyChanges::default();
        let subjects = [key("k"), KeyChange::Account("a".to_owned())];
        let before = changes.count();
        assert!(!changes.outdate(before, &subjects));
        changes.note(Some("key other"));
        changes.note(Some("account k"));
        assert!(!changes.outdate(before, &subjects));
        changes.note(Some("key k"));
        assert!(changes.outdate(before, &subjects), "asked before the change");
        let between = changes.count();
        assert!(!changes.outdate(between, &subjects), "asked after the change");
        changes.note(Some("account a"));
        assert!(changes.outdate(between, &subjects));
    }

    #[test]
    fn what_cant_be_read_or_remembered_outdates_everything() {
        let changes = KeyChanges::default();
        let before = changes.count();
        changes.note(Some("???"));
        assert!(changes.outdate(before, &[]));
        let before = changes.count();
        for number in 0..=MAX_REMEMBERED {
            changes.note(Some(&format!("key {number}")));
        }
        assert!(changes.outdate(before, &[]));
        let state = changes.0.read().unwrap();
        assert!(state.keys.len() <= MAX_REMEMBERED);
    }

    /// Leads to the Redis at this URL, with its password if there is one, until it is cut.
    async fn line_to(url: &str, lines: &Shutdown) -> (redis::Client, Arc<Mutex<Vec<AbortHandle>>>) {
        let rest = url.strip_prefix("redis://").unwrap().trim_end_matches('/');
        let (user, address) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (user, address) = (user.to_owned(), address.to_owned());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = listener.local_addr().unwrap();
        let client = redis::Client::open(format!("redis://{user}@{near}")).unwrap();
        let open = Arc::new(Mutex::new(Vec::new()));
        let (opened, spawner) = (Arc::clone(&open), lines.clone());
        lines.spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let address = address.clone();
                let line = spawner.spawn(async move {
                    let mut far = TcpStream::connect(address).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
                opened.lock().unwrap().push(line.abort_handle());
            }
        });
        (client, open)
    }

    async fn until(holds: impl Fn() -> bool) {
        let held = async {
            while !holds() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_mins(1), held)
            .await
            .expect("waited in vain");
    }

    #[tokio::test]
    async fn announcements_are_heard_and_a_lost_connection_is_made_anew() {
        #[expect(
            clippy::disallowed_methods,
            reason = "where the test's Redis is, is told by the environment"
        )]
        let url =
            std::env::var("DS_TEST__REDIS_URL").expect("DS_TEST__REDIS_URL is not set: run `./dev test`");
        let lines = Shutdown::new();
        let (client, open) = line_to(&url, &lines).await;
        let changes = Arc::new(KeyChanges::default());
        let listening = Arc::clone(&changes);
        let listener = lines.spawn(async move { listening.listen(&client).await });
        let subject = [key(&Ambient::system().uuid_v7().to_string())];
        // Listening begins with everything outdated.
        until(|| changes.outdate(0, &[])).await;
        let before = changes.count();
        let redis = redis::Client::open(url).unwrap();
        let mut publisher = redis.get_multiplexed_async_connection().await.unwrap();
        let publish = redis::cmd("PUBLISH")
            .arg(CHANNEL)
            .arg(subject[0].encode())
            .to_owned();
        let () = publish.query_async(&mut publisher).await.unwrap();
        until(|| changes.outdate(before, &subject)).await;
        // Cut off, it comes back, with everything kept outdated.
        let before = changes.count();
        open.lock().unwrap().drain(..).for_each(|line| line.abort());
        until(|| changes.outdate(before, &[])).await;
        listener.abort();
    }
}
