//! What need not be written again while the index is behind.
//!
//! A step follows some changes and reads their records from a snapshot. In a bulk load the snapshot is far ahead of
//! these changes: the documents have in them what later changes say. Without a memory of that, each document would be
//! written two or three times: for its record's change, and for those of its company or its people. So it is remembered
//! of which feed position the snapshot was from which a document was written, and a later change up to that position
//! writes it no more.
//!
//! What can go wrong, and why nothing is skipped that has to be written:
//! - **What was written is dropped**, by an error of the index, or it is not certain whether it was: the memory goes
//!   with every step that does not end well, whatever the error. A new process begins without one. What is not
//!   remembered is written again, which changes nothing.
//! - **Another index takes over** (a rebuild): the memory is of one index, and is dropped with it. A rebuild has one of
//!   its own while it catches up.
//! - **The database is put back**, or is another one: its next changes have numbers that the memory takes for those it
//!   has seen. The memory goes if the feed is another, or ends before where it ended when last looked at; and behind
//!   each error and each rest, so that this would have to happen, and new changes to come as far, between two steps
//!   that both go well.
//! - **A document is written from an older state later.** It can't be: each step opens a snapshot of its own, after the
//!   one before has ended.
//! - **The snapshot knows more or less than its position says.** It can't: the order of the numbers is that of the
//!   commits ([`crate::store::changes`]), and a change is committed with its record.
//! - **A document depends on more than is looked at.** A company's is made of its own record and of those of its people;
//!   a person's change names the companies before and after, so every change of it names the company. A person's is made
//!   of their own record and their company's. A change of that company writes all its people but those written from a
//!   snapshot that has the change; one who worked elsewhere then came by a change behind it, which will write them.
//! - **A record is gone.** A person who was not there in a snapshot stays away: ids are not used again. That they were
//!   removed from the index is remembered like a writing. A company is remembered by its external id, for that is what
//!   people name. If it was deleted and came again, the one that is there has another id: what is remembered tells
//!   which, and a change of one with another id removes that one.
//! - **It grows.** What covers no change to come is dropped after each step: at rest nothing is left. At most
//!   [`MOST_AHEAD`] companies and as many people are remembered; then all is dropped of that kind.

use std::collections::HashMap;
use std::hash::Hash;

use uuid::Uuid;

use crate::store::changes::Feed;

/// Most records of a kind that are remembered: 80 MB at most for both kinds.
const MOST_AHEAD: usize = 450_000;

/// Longest external id of a company that is remembered, in bytes.
const MAX_ID_LEN: usize = 64;

/// The documents of one index that were written from snapshots ahead of what it has followed.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The feed when it was last looked at.
    feed: Option<Feed>,
    companies: HashMap<Box<str>, WrittenCompany>,
    /// Positions of the snapshots by ids of people.
    people: HashMap<Uuid, i64>,
}

/// The document of the company of an external id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrittenCompany {
    /// The company; none if there was none.
    pub(super) id: Option<Uuid>,
    /// Position of the snapshot.
    position: i64,
}

impl Ahead {
    /// Has to be told of the feed in each new snapshot.
    pub(super) fn look(&mut self, feed: Feed) {
        let goes_on = |before: Feed| before.id == feed.id && before.position <= feed.position;
        if !self.feed.is_some_and(goes_on) {
            *self = Self::default();
        }
        self.feed = Some(feed);
    }

    /// What was written of the company of this external id, if it has this change in it.
    pub(super) fn company(&self, external_id: &str, change: i64) -> Option<WrittenCompany> {
        let written = self.companies.get(external_id).copied();
        written.filter(|written| change <= written.position)
    }

    /// Whether what was written of this person has this change in it.
    pub(super) fn has_person(&self, id: Uuid, change: i64) -> bool {
        self.people.get(&id).is_some_and(|position| change <= *position)
    }

    /// The document of the company of this external id is being written from the last snapshot.
    pub(super) fn add_company(&mut self, external_id: &str, id: Option<Uuid>) {
        if external_id.len() <= MAX_ID_LEN {
            let position = self.position();
            let written = WrittenCompany { id, position };
            add(&mut self.companies, external_id.into(), written);
        }
    }

    /// This person's document is being written from the last snapshot, or removed because they are not in it.
    pub(super) fn add_person(&mut self, id: Uuid) {
        let position = self.position();
        add(&mut self.people, id, position);
    }

    /// Drops what covers only changes up to this one.
    pub(super) fn followed(&mut self, change: i64) {
        self.companies.retain(|_, written| change < written.position);
        self.people.retain(|_, position| change < *position);
    }

    /// That of the last snapshot; without one, before all changes.
    fn position(&self) -> i64 {
        self.feed.map_or(0, |feed| feed.position)
    }
}

fn add<K: Eq + Hash, V>(all: &mut HashMap<K, V>, key: K, value: V) {
    if all.len() >= MOST_AHEAD && !all.contains_key(&key) {
        all.clear();
    }
    all.insert(key, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(id: u128, position: i64) -> Feed {
        Feed {
            id: Uuid::from_u128(id),
            pruned_to: 0,
            position,
        }
    }

    fn ahead_at(position: i64) -> Ahead {
        let mut ahead = Ahead::default();
        ahead.look(feed(1, position));
        ahead.add_person(Uuid::from_u128(7));
        ahead.add_company("acme", Some(Uuid::from_u128(8)));
        ahead
    }

    /// Whether a change of this number needs no writing.
    fn covers(ahead: &Ahead, change: i64) -> bool {
        let person = ahead.has_person(Uuid::from_u128(7), change);
        assert_eq!(ahead.company("acme", change).is_some(), person);
        person
    }

    #[test]
    fn what_was_written_covers_the_changes_up_to_its_snapshot() {
        let mut ahead = ahead_at(10);
        assert!(covers(&ahead, 10) && !covers(&ahead, 11));
        assert_eq!(ahead.company("acme", 10).unwrap().id, Some(Uuid::from_u128(8)));
        assert!(!ahead.has_person(Uuid::from_u128(8), 1) && ahead.company("other", 1).is_none());
        ahead.look(feed(1, 20));
        assert!(covers(&ahead, 10) && !covers(&ahead, 11));
        ahead.followed(9);
        assert!(covers(&ahead, 10));
        ahead.followed(10);
        assert!(ahead.companies.is_empty() && ahead.people.is_empty());
    }

    #[test]
    fn of_another_feed_and_one_that_was_put_back_nothing_is_known() {
        for other in [feed(2, 10), feed(1, 9)] {
            let mut ahead = ahead_at(10);
            ahead.look(other);
            assert!(!covers(&ahead, 1), "{other:?}");
        }
    }

    #[test]
    fn no_more_than_so_many_are_remembered() {
        let mut ahead = ahead_at(10);
        ahead.add_company(&"long".repeat(MAX_ID_LEN), None);
        assert_eq!(ahead.companies.len(), 1);
        for number in 1..=MOST_AHEAD {
            ahead.add_person(Uuid::from_u128(number as u128));
        }
        // Known ones need no room.
        ahead.add_person(Uuid::from_u128(1));
        assert_eq!(ahead.people.len(), MOST_AHEAD);
        ahead.add_person(Uuid::from_u128(0));
        assert_eq!(ahead.people.len(), 1);
    }
}
