//! What can be done with keys.

use std::future::Future;

use proto::account::AccountId;
use proto::api_key::ApiKeySecret;
use proto::key_change::KeyChange;
use proto::rate::Rate;
use runtime::ambient::Ambient;
use runtime::shutdown::Shutdown;
use tokio::task::JoinError;
use tracing::Instrument as _;

use crate::announce::Announcer;
use crate::key::{FoundKey, Key, KeyId, NewKey, NewSecret, Use};
use crate::secret::{self, Peppers};
use crate::store::{Store, StoreError};
use crate::usage::Usage;

/// Why something could not be done with a key.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The account has no such key.
    #[error("the account has no such key")]
    NotFound,
    /// The key is revoked, and nothing can be done with it.
    #[error("the key is revoked")]
    Revoked,
    /// The account has as many active keys as it may.
    #[error("the account has {max_active_keys} active keys and may not have more")]
    LimitReached {
        /// How many it may have.
        max_active_keys: u32,
    },
    /// The database did not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The work broke off.
    #[error("the work broke off")]
    BrokenOff(#[from] JoinError),
}

/// The keys of all accounts. Cheap to clone.
///
/// Whatever writes runs in a task of its own, which the caller only waits for: a caller that goes away leaves no
/// transaction half way, and no revocation without its announcement.
#[derive(Clone)]
pub struct Keys {
    /// Where they are kept.
    pub store: Store,
    /// How changes are told.
    pub announcer: Announcer,
    /// When they were used.
    pub usage: Usage,
    /// What secrets are hashed with.
    pub peppers: Peppers,
    /// Most active keys of an account.
    pub max_active_keys: u32,
    /// Time and randomness.
    pub ambient: Ambient,
    /// Starts the tasks.
    pub shutdown: Shutdown,
}

impl Keys {
    /// All keys of the account, newest first.
    pub async fn list(&self, account: &AccountId) -> Result<Vec<Key>, KeysError> {
        Ok(self.store.list(account).await?)
    }

    /// Makes a key with this name, which has been checked.
    pub async fn create(&self, account: AccountId, name: String) -> Result<(Key, ApiKeySecret), KeysError> {
        let keys = self.clone();
        self.to_its_end(async move {
            let (secret, new_secret) = keys.new_secret();
            let key = NewKey {
                id: KeyId::new(keys.ambient.uuid_v7()),
                name,
                secret: new_secret,
                created_at: keys.ambient.now(),
            };
            let max_active_keys = keys.max_active_keys;
            let added = keys.store.insert(&account, &key, max_active_keys).await?;
            let key = added.ok_or(KeysError::LimitReached { max_active_keys })?;
            Ok((key, secret))
        })
        .await
    }

    /// Renames an active key. The name has been checked.
    pub async fn rename(&self, account: AccountId, id: KeyId, name: String) -> Result<Key, KeysError> {
        let keys = self.clone();
        self.to_its_end(async move {
            match keys.store.rename(&account, id, &name).await? {
                Some(key) => Ok(key),
                None => Err(keys.why_not_active(&account, id).await),
            }
        })
        .await
    }

    /// Revokes a key for good; again gives the same answer.
    pub async fn revoke(&self, account: AccountId, id: KeyId) -> Result<Key, KeysError> {
        let keys = self.clone();
        self.to_its_end(async move {
            let now = keys.ambient.now();
            let revoked = keys.store.revoke(&account, id, now).await?;
            let key = revoked.ok_or(KeysError::NotFound)?;
            // Again too: the first announcement may have been lost.
            keys.announcer.announce(&KeyChange::Key(id.to_string())).await;
            Ok(key)
        })
        .await
    }

    /// Gives an active key another secret; the one before stops. Of two at once the later one stays.
    pub async fn regenerate(&self, account: AccountId, id: KeyId) -> Result<(Key, ApiKeySecret), KeysError> {
        let keys = self.clone();
        self.to_its_end(async move {
            let (secret, new_secret) = keys.new_secret();
            let Some(key) = keys.store.replace_secret(&account, id, &new_secret).await? else {
                return Err(keys.why_not_active(&account, id).await);
            };
            keys.announcer.announce(&KeyChange::Key(id.to_string())).await;
            Ok((key, secret))
        })
        .await
    }

    /// The active key that this secret belongs to, whose use is noted; none if the secret is of no worth.
    pub async fn verify(&self, secret: &str) -> Result<Option<FoundKey>, KeysError> {
        let outcome = |outcome: &'static str| {
            metrics::counter!(crate::meters::VERIFICATIONS, "outcome" => outcome).increment(1);
        };
        let Some(secret) = ApiKeySecret::parse(secret) else {
            outcome("malformed");
            return Ok(None);
        };
        let hashes: Vec<_> = self.peppers.hashes(&secret).collect();
        let Some(found) = self.store.find(&hashes).await? else {
            outcome("unknown");
            return Ok(None);
        };
        let current = hashes
            .into_iter()
            .find(|hashed| hashed.pepper_id == self.peppers.current.id());
        let used = Use {
            generation: found.generation,
            at: self.ambient.now(),
            rehashed: current.filter(|current| current.pepper_id != found.pepper_id),
        };
        self.usage.note(found.id, used);
        outcome("active");
        Ok(Some(found))
    }

    /// The account's own rate; none if the default holds.
    pub async fn rate(&self, account: &AccountId) -> Result<Option<Rate>, KeysError> {
        Ok(self.store.rate(account).await?)
    }

    /// Gives the account a rate of its own, or the default again.
    pub async fn set_rate(&self, account: AccountId, rate: Option<Rate>) -> Result<(), KeysError> {
        let keys = self.clone();
        self.to_its_end(async move {
            keys.store.set_rate(&account, rate).await?;
            let change = KeyChange::Account(account.to_string());
            keys.announcer.announce(&change).await;
            Ok(())
        })
        .await
    }

    fn new_secret(&self) -> (ApiKeySecret, NewSecret) {
        let secret = secret::generate(&self.ambient);
        let new_secret = NewSecret {
            prefix: secret.prefix().to_owned(),
            hashed: self.peppers.current.hash(&secret),
        };
        (secret, new_secret)
    }

    /// Why the account has no such active key. Asked after the fact, which is soon enough: keys are never deleted, and
    /// never leave the state of being revoked.
    async fn why_not_active(&self, account: &AccountId, id: KeyId) -> KeysError {
        match self.store.exists(account, id).await {
            Ok(true) => KeysError::Revoked,
            Ok(false) => KeysError::NotFound,
            Err(error) => error.into(),
        }
    }

    async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, KeysError>> + Send + 'static,
    ) -> Result<T, KeysError> {
        self.shutdown.spawn(work.in_current_span()).await?
    }
}
