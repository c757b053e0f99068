//! Who waits to be charged, and whose turn it is.
//!
//! - **Fair.** Accounts take turns. A group has charges of every account whose turn has come, as many of each as of the
//!   others while all have some; what is left of it goes to those that have more. An account that sends ten thousand
//!   charges makes another one wait for one group, not for ten thousand charges.
//! - **In order.** Of one account the first to come is the first to go, and only one group at a time has charges of it:
//!   its groups would only wait for each other's row lock.
//! - **Apart.** An account whose row was found to be held by somebody else ([`Queue::put_back`]) is next taken alone, and
//!   only where the caller can afford to wait.
//! - **Bounded.** Where there is no room, the account with most charges in the queue loses its latest.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// What waits, by whose it is.
#[derive(Debug)]
pub struct Queue<K, T> {
    lines: HashMap<K, Line<T>>,
    /// Whose turn it is, the next one first.
    turns: VecDeque<K>,
    /// Who is to be taken alone.
    apart: VecDeque<K>,
    room: usize,
    waiting: usize,
    arrivals: u64,
}

/// What waits of one account. It is there while something waits, or is being worked on.
#[derive(Debug)]
struct Line<T> {
    waiting: VecDeque<Arrived<T>>,
    is_taken: bool,
}

/// Something that waits, and the how manyeth it was to come.
#[derive(Debug)]
struct Arrived<T> {
    arrival: u64,
    item: T,
}

/// What is to be done together.
#[derive(Debug)]
pub struct Group<K, T> {
    /// Whose they are. To be given back by [`Queue::finish`].
    pub accounts: Vec<K>,
    /// In the order in which they came.
    pub items: Vec<T>,
    /// One account whose row is to be waited for.
    pub is_apart: bool,
}

impl<K: Clone + Eq + Hash, T> Queue<K, T> {
    /// An empty queue with room for so many.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self {
            lines: HashMap::new(),
            turns: VecDeque::new(),
            apart: VecDeque::new(),
            room: room.max(1),
            waiting: 0,
            arrivals: 0,
        }
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// How many wait.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Puts it at the end of its account's line. What has to go for it, if there was no room: it may be itself.
    #[must_use = "what had to go is owed an answer"]
    pub fn push(&mut self, account: K, item: T) -> Option<T> {
        let displaced = if self.waiting < self.room {
            None
        } else {
            let own = self.lines.get(&account).map_or(0, |line| line.waiting.len());
            let longest = self.lines.iter_mut().max_by_key(|(_, line)| line.waiting.len());
            match longest {
                Some((_, line)) if line.waiting.len() > own + 1 => line.waiting.pop_back(),
                _ => return Some(item),
            }
        };
        let line = self.lines.entry(account.clone()).or_insert_with(|| {
            self.turns.push_back(account);
            Line {
                waiting: VecDeque::new(),
                is_taken: false,
            }
        });
        self.arrivals += 1;
        line.waiting.push_back(Arrived {
            arrival: self.arrivals,
            item,
        });
        if displaced.is_none() {
            self.waiting += 1;
        }
        displaced.map(|arrived| arrived.item)
    }

    /// The next group, of at most so many; none while nobody's turn has come. An account that is to be taken alone is
    /// only taken if the caller can wait for it.
    pub fn take(&mut self, at_most: usize, can_wait: bool) -> Option<Group<K, T>> {
        let at_most = at_most.max(1);
        let is_apart = can_wait && !self.apart.is_empty();
        let accounts: Vec<K> = if is_apart {
            self.apart.pop_front().into_iter().collect()
        } else {
            self.turns.drain(..self.turns.len().min(at_most)).collect()
        };
        if accounts.is_empty() {
            return None;
        }
        let mut arrived = Vec::new();
        let mut hungry: Vec<&K> = accounts.iter().collect();
        while arrived.len() < at_most && !hungry.is_empty() {
            let share = ((at_most - arrived.len()) / hungry.len()).max(1);
            hungry.retain(|account| {
                let Some(line) = self.lines.get_mut(*account) else {
                    return false;
                };
                line.is_taken = true;
                let count = share.min(line.waiting.len()).min(at_most - arrived.len());
                arrived.extend(line.waiting.drain(..count));
                !line.waiting.is_empty()
            });
        }
        self.waiting -= arrived.len();
        arrived.sort_by_key(|arrived: &Arrived<T>| arrived.arrival);
        Some(Group {
            accounts,
            items: arrived.into_iter().map(|arrived| arrived.item).collect(),
            is_apart,
        })
    }

    /// Puts back what was taken and could not be done, since others are at its account: to the head of its line, to be
    /// taken alone. The account is still to be given back.
    pub fn put_back(&mut self, account: &K, items: Vec<T>) {
        let Some(line) = self.lines.get_mut(account) else {
            return;
        };
        self.waiting += items.len();
        for item in items.into_iter().rev() {
            // It came before all that wait.
            line.waiting.push_front(Arrived { arrival: 0, item });
        }
    }

    /// Gives back an account of a group that is done with: it may have a turn again, or is next taken alone.
    pub fn finish(&mut self, account: K, is_apart: bool) {
        let Some(line) = self.lines.get_mut(&account) else {
            return;
        };
        line.is_taken = false;
        if line.waiting.is_empty() {
            self.lines.remove(&account);
        } else if is_apart {
            self.apart.push_back(account);
        } else {
            self.turns.push_back(account);
        }
    }
}

#[cfg(test)]
mod tests;
