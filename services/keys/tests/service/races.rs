//! What runs side by side on one key: one order of it explains every answer.
//!
//! A key that is only a value ([`Model`]) is told what two replicas were told at once. Each order in which it could have
//! happened is tried; at least one has to give every answer that was given, and what comes after has to go on from where
//! such an order ends.

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use keys::key::Key;
use keys::keys::{Keys, KeysError};
use proto::account::AccountId;
use proto::api_key::ApiKeySecret;
use runtime::ambient::Ambient;
use sqlx::PgPool;

use crate::fixture::{account, create, keys_with, start};

/// Keys that are raced on, each by so many rounds of so many operations at once.
const KEYS: u64 = 40;
const ROUNDS: usize = 3;
const AT_ONCE: usize = 6;

/// What was asked, as far as the answer depends on it.
#[derive(Clone, Debug)]
enum Operation {
    Rename(String),
    /// At this time.
    Revoke(DateTime<Utc>),
    Regenerate,
    List,
    /// Whether the secret with this prefix opens the key.
    Verify(String),
}

/// What was answered.
#[derive(Debug)]
enum Answer {
    /// The key, as it is after it or in the list.
    Key(Key),
    Revoked,
    Opens(bool),
}

/// A key that one thing happens to after the other.
#[derive(Clone, Debug, PartialEq)]
struct Model(Key);

impl Model {
    /// The key after an operation, if this is how it answers it.
    fn after(&self, operation: &Operation, answer: &Answer) -> Option<Self> {
        let Self(key) = self;
        let is_revoked = key.revoked_at.is_some();
        let next = match (operation, answer) {
            (Operation::Rename(_) | Operation::Regenerate, Answer::Revoked) => {
                return is_revoked.then(|| self.clone());
            }
            (Operation::Verify(prefix), Answer::Opens(opens)) => {
                return (*opens == (!is_revoked && key.prefix == *prefix)).then(|| self.clone());
            }
            (Operation::List, Answer::Key(_)) => key.clone(),
            (Operation::Rename(name), Answer::Key(_)) if !is_revoked => Key {
                name: name.clone(),
                ..key.clone()
            },
            (Operation::Regenerate, Answer::Key(told)) if !is_revoked && told.prefix != key.prefix => Key {
                prefix: told.prefix.clone(),
                ..key.clone()
            },
            (Operation::Revoke(now), Answer::Key(_)) => Key {
                revoked_at: key.revoked_at.or(Some(*now)),
                ..key.clone()
            },
            _ => return None,
        };
        matches!(answer, Answer::Key(told) if *told == next).then_some(Self(next))
    }

    /// Adds what the key can be after all of this happened at once.
    fn follow(&self, happened: &[&(Operation, Answer)], ends: &mut Vec<Self>) {
        if happened.is_empty() && !ends.contains(self) {
            ends.push(self.clone());
        }
        for (place, (operation, answer)) in happened.iter().enumerate() {
            if let Some(next) = self.after(operation, answer) {
                let others = [&happened[..place], &happened[place + 1..]].concat();
                next.follow(&others, ends);
            }
        }
    }
}

/// A key that is raced on, the secrets that were ever told of it, and what it may be by now.
struct Race {
    account: AccountId,
    key: Key,
    secrets: Vec<ApiKeySecret>,
    models: Vec<Model>,
}

impl Race {
    /// Does all of this at once. Some order has to explain the answers.
    async fn at_once(&mut self, operations: Vec<(&Keys, Operation)>) {
        let asked = operations
            .iter()
            .map(|(keys, operation)| self.answer(keys, operation));
        let (answers, told): (Vec<_>, Vec<_>) = join_all(asked).await.into_iter().unzip();
        self.secrets.extend(told.into_iter().flatten());
        let operations = operations.into_iter().map(|(_, operation)| operation);
        let happened: Vec<_> = operations.zip(answers).collect();
        let mut ends = Vec::new();
        for model in &self.models {
            model.follow(&happened.iter().collect::<Vec<_>>(), &mut ends);
        }
        let models = &self.models;
        assert!(
            !ends.is_empty(),
            "from {models:#?} no order explains {happened:#?}"
        );
        self.models = ends;
    }

    /// Does it. The secret that a regeneration tells comes along.
    async fn answer(&self, keys: &Keys, operation: &Operation) -> (Answer, Option<ApiKeySecret>) {
        let (account, id) = (self.account.clone(), self.key.id);
        let changed = match operation {
            Operation::Rename(name) => keys.rename(account, id, name.clone()).await,
            Operation::Revoke(_) => keys.revoke(account, id).await,
            Operation::Regenerate => match keys.regenerate(account, id).await {
                Ok((key, secret)) => {
                    assert_eq!(key.prefix, secret.prefix());
                    return (Answer::Key(key), Some(secret));
                }
                Err(error) => Err(error),
            },
            Operation::List => {
                let mut listed = keys.list(&account).await.unwrap();
                assert_eq!(listed.len(), 1);
                Ok(listed.remove(0))
            }
            Operation::Verify(prefix) => {
                let told = self.secrets.iter().find(|secret| secret.prefix() == prefix);
                let found = keys.verify(told.unwrap().expose()).await.unwrap();
                return (Answer::Opens(found.is_some()), None);
            }
        };
        match changed {
            Ok(key) => (Answer::Key(key), None),
            Err(KeysError::Revoked) => (Answer::Revoked, None),
            Err(other) => panic!("{operation:?}: {other:?}"),
        }
    }
}

#[sqlx::test]
async fn one_order_explains_every_answer(pool: PgPool) {
    // Each change dwells while it holds the row, so that the others wait for it.
    sqlx::raw_sql(
        "CREATE FUNCTION dwell() RETURNS trigger LANGUAGE plpgsql
         AS 'BEGIN PERFORM pg_sleep(random() * 0.004); RETURN NEW; END';
         CREATE TRIGGER dwell BEFORE UPDATE ON keys FOR EACH ROW EXECUTE FUNCTION dwell()",
    )
    .execute(&pool)
    .await
    .unwrap();
    // Their clocks differ: the time of a revocation tells whose it is.
    let replicas = [0, 1].map(|number| {
        let now = start() + TimeDelta::seconds(number);
        keys_with(&pool, Ambient::fixed(now, number.unsigned_abs()))
    });
    let mut revoked_by = [0; 2];
    for number in 0..KEYS {
        let chance = Ambient::fixed(start(), number);
        let below = |bound: u8| {
            let mut byte = [0];
            chance.fill(&mut byte);
            usize::from(byte[0] % bound)
        };
        let account = account(&format!("account {number}"));
        let (key, first) = create(&replicas[0], &account, "first").await;
        let mut race = Race {
            account,
            models: vec![Model(key.clone())],
            key,
            secrets: vec![first],
        };
        for round in 0..ROUNDS {
            let any = |place| {
                let keys = &replicas[below(2)];
                let operation = match below(8) {
                    0..3 => Operation::Regenerate,
                    3 | 4 => Operation::Rename(format!("{round} {place}")),
                    // Early ones would leave nothing to race.
                    5 if round > 0 => Operation::Revoke(keys.ambient.now()),
                    6 => Operation::List,
                    _ => {
                        let secret = &race.secrets[below(u8::MAX) % race.secrets.len()];
                        Operation::Verify(secret.prefix().to_owned())
                    }
                };
                (keys, operation)
            };
            race.at_once((0..AT_ONCE).map(any).collect()).await;
        }
        // At last, what there is to be seen of it.
        let prefixes = race.secrets.iter().map(|secret| secret.prefix().to_owned());
        let seen: Vec<_> = prefixes.map(Operation::Verify).chain([Operation::List]).collect();
        for operation in seen {
            race.at_once(vec![(&replicas[1], operation)]).await;
        }
        assert_eq!(race.models.len(), 1, "what is seen at last is one key");
        if let Some(revoked_at) = race.models[0].0.revoked_at {
            revoked_by[usize::from(revoked_at != start())] += 1;
        }
    }
    let both = revoked_by.iter().all(|count| *count > 0);
    assert!(both, "both replicas revoke: {revoked_by:?}");
}
