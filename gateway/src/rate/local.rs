//! A limiter of this process alone: of accounts for the time that the shared one is away, and of client addresses.
//!
//! While the shared one answers, its states are noted here, so that the take-over goes on from where the accounts stand
//! instead of giving each of them a new allowance.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::gcra::{self, Decision, Pace};

/// Most callers remembered. When it is reached, those whose allowance is full are forgotten, which changes nothing for
/// them; if they are less than half, all are, so that a crowd can't have each request look at everybody.
const MAX_CALLERS: usize = 100_000;

/// When the allowance of each caller is full again, in microseconds since the start.
#[derive(Debug)]
pub(crate) struct LocalLimiter<K> {
    start: Instant,
    full_at_us: Mutex<HashMap<K, u64>>,
}

impl<K: Eq + Hash> LocalLimiter<K> {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            full_at_us: Mutex::default(),
        }
    }

    /// Decides on a request of the caller.
    pub(crate) fn take<Q>(&self, caller: &Q, pace: Pace) -> Decision
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let now_us = self.now_us();
        let mut states = self.lock();
        let decision = gcra::decide(pace, now_us, states.get(caller).copied().unwrap_or(0));
        set(&mut states, caller, now_us, decision.ahead_us);
        decision
    }

    /// Gives back a request that passed and is not to count after all.
    pub(crate) fn give_back<Q>(&self, caller: &Q, pace: Pace)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some(full_at_us) = self.lock().get_mut(caller) {
            *full_at_us = full_at_us.saturating_sub(pace.interval_us());
        }
    }

    /// Microseconds until the allowance of the caller is full again, as far as it is known here.
    pub(super) fn ahead_us<Q>(&self, caller: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let full_at_us = self.lock().get(caller).copied().unwrap_or(0);
        full_at_us.saturating_sub(self.now_us())
    }

    /// Notes what the shared limiter decided. Its answers may come in another order than it gave them in: the one that
    /// reaches furthest counts.
    pub(super) fn note<Q>(&self, caller: &Q, decision: Decision)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let now_us = self.now_us();
        let mut states = self.lock();
        let noted_us = states
            .get(caller)
            .map_or(0, |full_at_us| full_at_us.saturating_sub(now_us));
        set(&mut states, caller, now_us, decision.ahead_us.max(noted_us));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, u64>> {
        self.full_at_us.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

fn set<K, Q>(states: &mut HashMap<K, u64>, caller: &Q, now_us: u64, ahead_us: u64)
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
{
    let full_at_us = now_us.saturating_add(ahead_us);
    if let Some(state) = states.get_mut(caller) {
        *state = full_at_us;
        return;
    }
    if states.len() >= MAX_CALLERS {
        states.retain(|_, full_at_us| *full_at_us > now_us);
        if states.len() > MAX_CALLERS / 2 {
            states.clear();
        }
    }
    states.insert(caller.to_owned(), full_at_us);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_limits_each_account_by_itself() {
        let (limiter, pace) = (LocalLimiter::<String>::new(), Pace::of(3, 86_400_000));
        let passes = |account: &str| limiter.take(account, pace).passes;
        assert_eq!([(); 5].map(|()| passes("a")), [true, true, true, false, false]);
        assert!(passes("b"));
    }

    #[test]
    fn what_is_given_back_passes_again() {
        let (limiter, pace) = (LocalLimiter::<String>::new(), Pace::of(2, 86_400_000));
        assert_eq!(
            [(); 3].map(|()| limiter.take("a", pace).passes),
            [true, true, false]
        );
        limiter.give_back("a", pace);
        limiter.give_back("b", pace);
        assert_eq!([(); 2].map(|()| limiter.take("a", pace).passes), [true, false]);
        assert_eq!(
            [(); 3].map(|()| limiter.take("b", pace).passes),
            [true, true, false]
        );
    }

    #[test]
    fn it_goes_on_from_what_the_shared_one_decided() {
        let (limiter, pace) = (LocalLimiter::<String>::new(), Pace::of(3, 86_400_000));
        limiter.note(
            "a",
            Decision {
                passes: true,
                ahead_us: 2 * pace.interval_us(),
            },
        );
        assert!(limiter.take("a", pace).passes);
        assert!(!limiter.take("a", pace).passes);
    }

    #[test]
    fn an_older_answer_gives_nothing_back() {
        let (limiter, pace) = (LocalLimiter::<String>::new(), Pace::of(3, 86_400_000));
        for taken in [3, 1] {
            let ahead_us = taken * pace.interval_us();
            limiter.note(
                "a",
                Decision {
                    passes: true,
                    ahead_us,
                },
            );
        }
        assert!(!limiter.take("a", pace).passes);
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let limiter = LocalLimiter::<String>::new();
        for account in 0..=MAX_CALLERS + 10 {
            limiter.note(
                &account.to_string(),
                Decision {
                    passes: true,
                    ahead_us: 60_000_000,
                },
            );
        }
        assert!(limiter.full_at_us.lock().unwrap().len() <= MAX_CALLERS);
    }
}
