//! What a key is.

use std::fmt;

use chrono::{DateTime, Utc};
use proto::rate::Rate;
use uuid::Uuid;

use crate::secret::HashedSecret;

/// Id of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(Uuid);

impl KeyId {
    /// The id that is this UUID.
    #[must_use]
    pub const fn new(id: Uuid) -> Self {
        Self(id)
    }

    /// Reads an id as it was given out: lower case, with hyphens. Another spelling of the UUID is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = Self(Uuid::try_parse(text).ok()?);
        (id.to_string() == text).then_some(id)
    }

    /// The UUID.
    #[must_use]
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A key as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Id, for good.
    pub id: KeyId,
    /// Name, 1-100 characters.
    pub name: String,
    /// What may be shown of its secret.
    pub prefix: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When its present secret was last used.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked; none while it is active.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// A key to store.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Id.
    pub id: KeyId,
    /// Name, checked.
    pub name: String,
    /// Its secret, as it is kept.
    pub secret: NewSecret,
    /// Now.
    pub created_at: DateTime<Utc>,
}

/// A secret to store.
#[derive(Clone, Debug)]
pub struct NewSecret {
    /// What may be shown of it.
    pub prefix: String,
    /// What it is found by.
    pub hashed: HashedSecret,
}

/// The active key that a secret was found to belong to.
#[derive(Clone, Debug)]
pub struct FoundKey {
    /// Id.
    pub id: KeyId,
    /// Whose it is.
    pub account_id: String,
    /// How many secrets the key has had before this one.
    pub generation: i32,
    /// The pepper it was found with.
    pub pepper_id: String,
    /// The account's own rate.
    pub rate: Option<Rate>,
}

/// A use of a key, to be noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Which of the key's secrets was used.
    pub generation: i32,
    /// When.
    pub at: DateTime<Utc>,
    /// The hash to keep from now on, if the present one was made with a previous pepper.
    pub rehashed: Option<HashedSecret>,
}
