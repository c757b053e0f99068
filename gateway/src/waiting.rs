//! Those that we wait for, in the order in which the waiting began.
//!
//! What a client has to do next (to ask something on its connection, to send the rest of a body) may never come, and costs
//! us memory until then. So there is room for a number of them, and where there is no more room, the one that has been
//! waited for longest gives way to a new one: who does what is expected has done so long before, and however many do
//! nothing, they are in the way of one another only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All that are waited for. Cheap to clone; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    begun: u64,
    /// By the order in which they began.
    places: BTreeMap<u64, Arc<Notify>>,
}

/// One that is waited for, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    waiting: Waiting,
    number: u64,
}

impl Waiting {
    /// One more is waited for. If it has to give way, this is notified, once.
    #[must_use]
    pub(crate) fn begin(&self, gives_way: Arc<Notify>) -> Place {
        let mut queue = self.lock();
        let number = queue.begun;
        queue.begun += 1;
        queue.places.insert(number, gives_way);
        drop(queue);
        Place {
            waiting: self.clone(),
            number,
        }
    }

    /// How many are waited for.
    #[must_use]
    pub(crate) fn count(&self) -> usize {
        self.lock().places.len()
    }

    /// The one that has been waited for longest gives way. Whether there was one.
    pub(crate) fn end_longest(&self) -> bool {
        let longest = self.lock().places.pop_first();
        if let Some((_, gives_way)) = &longest {
            gives_way.notify_one();
        }
        longest.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.lock().places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn the_longest_gives_way_and_who_is_done_is_not_asked_to() {
        let waiting = Waiting::default();
        let signals = [(); 3].map(|()| Arc::new(Notify::new()));
        let mut places: Vec<_> = signals
            .iter()
            .map(|signal| waiting.begin(Arc::clone(signal)))
            .collect();
        let notified = || {
            signals
                .each_ref()
                .map(|signal| signal.notified().now_or_never().is_some())
        };
        drop(places.remove(0));
        assert_eq!(waiting.count(), 2);
        assert!(waiting.end_longest());
        assert_eq!(notified(), [false, true, false]);
        assert_eq!(waiting.count(), 1);
        // Who began anew is the last.
        places.push(waiting.begin(Arc::clone(&signals[0])));
        assert!(waiting.end_longest());
        assert_eq!(notified(), [false, false, true]);
        drop(places);
        assert!(!waiting.end_longest());
        assert_eq!(notified(), [false, false, false]);
    }
}
