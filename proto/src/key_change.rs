//! What the keys service announces on Redis, so that whoever keeps its answers forgets the outdated ones.
//!
//! An announcement is an aid to speed: it is published after the change is committed, may be lost, and may come
//! twice. Whoever keeps answers keeps none for longer than 5 s.

/// The pub/sub channel.
pub const CHANNEL: &str = "keys.changed";

/// A change that outdates kept answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyChange {
    /// The key with this id was revoked, or has another secret.
    Key(String),
    /// The account with this id has another rate.
    Account(String),
}

impl KeyChange {
    /// The payload: a word, a space, the id.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            Self::Key(id) => format!("key {id}"),
            Self::Account(id) => format!("account {id}"),
        }
    }

    /// Reads a payload; none if it is of another form.
    #[must_use]
    pub fn decode(payload: &str) -> Option<Self> {
        match payload.split_once(' ')? {
            ("key", id) => Some(Self::Key(id.to_owned())),
            ("account", id) => Some(Self::Account(id.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_survive_the_wire() {
        for change in [
            KeyChange::Key("0197".to_owned()),
            KeyChange::Account("two words, \"quotes\"".to_owned()),
        ] {
            assert_eq!(KeyChange::decode(&change.encode()), Some(change));
        }
        for payload in ["", "key", "name x", "{}"] {
            assert_eq!(KeyChange::decode(payload), None, "{payload:?}");
        }
    }
}
