//! The limiter of this process alone, for the time that the shared one is away.
//!
//! While the shared one answers, its states are noted here, so that the take-over goes on from where the accounts stand
//! instead of giving each of them a new allowance.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::gcra::{self, Decision, Pace};

/// Most accounts remembered. When it is reached, those whose allowance is full are forgotten, which changes nothing for
/// them; if that is not enough, all are.
const MAX_ACCOUNTS: usize = 100_000;

/// When the allowance of each account is full again, in microseconds since the start.
#[derive(Debug)]
pub(super) struct LocalLimiter {
    start: Instant,
    full_at_us: Mutex<HashMap<String, u64>>,
}

impl LocalLimiter {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            full_at_us: Mutex::default(),
        }
    }

    /// Decides on a request of the account.
    pub(super) fn take(&self, account_id: &str, pace: Pace) -> Decision {
        let now_us = self.now_us();
        let mut states = self.full_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        let decision = gcra::decide(pace, now_us, states.get(account_id).copied().unwrap_or(0));
        set(&mut states, account_id, now_us, decision);
        decision
    }

    /// Notes what the shared limiter decided. Its answers may come in another order than it gave them in: the one that
    /// reaches furthest counts.
    pub(super) fn note(&self, account_id: &str, mut decision: Decision) {
        let now_us = self.now_us();
        let mut states = self.full_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        let noted_us = states
            .get(account_id)
            .map_or(0, |full_at_us| full_at_us.saturating_sub(now_us));
        decision.ahead_us = decision.ahead_us.max(noted_us);
        set(&mut states, account_id, now_us, decision);
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

fn set(states: &mut HashMap<String, u64>, account_id: &str, now_us: u64, decision: Decision) {
    let full_at_us = now_us.saturating_add(decision.ahead_us);
    if let Some(state) = states.get_mut(account_id) {
        *state = full_at_us;
        return;
    }
    if states.len() >= MAX_ACCOUNTS {
        states.retain(|_, full_at_us| *full_at_us > now_us);
        if states.len() >= MAX_ACCOUNTS {
            states.clear();
        }
    }
    states.insert(account_id.to_owned(), full_at_us);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_limits_each_account_by_itself() {
        let (limiter, pace) = (LocalLimiter::new(), Pace::of(3, 86_400_000));
        let passes = |account: &str| limiter.take(account, pace).passes;
        assert_eq!([(); 5].map(|()| passes("a")), [true, true, true, false, false]);
        assert!(passes("b"));
    }

    #[test]
    fn it_goes_on_from_what_the_shared_one_decided() {
        let (limiter, pace) = (LocalLimiter::new(), Pace::of(3, 86_400_000));
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
        let (limiter, pace) = (LocalLimiter::new(), Pace::of(3, 86_400_000));
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
        let limiter = LocalLimiter::new();
        for account in 0..=MAX_ACCOUNTS + 10 {
            limiter.note(
                &account.to_string(),
                Decision {
                    passes: true,
                    ahead_us: 60_000_000,
                },
            );
        }
        assert!(limiter.full_at_us.lock().unwrap().len() <= MAX_ACCOUNTS);
    }
}
