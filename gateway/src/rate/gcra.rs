//! The rule of the rate limit: GCRA (the generic cell rate algorithm) in whole microseconds.
//!
//! An account's state is one time: when its allowance will be full again. Each request moves it on by the interval
//! (window / requests); a request that would move it further ahead of now than the burst (interval x requests) is
//! refused and moves nothing. So a full allowance passes at once, then one request an interval.
//!
//! The interval is rounded up to whole microseconds: the rate is never above what was set. A state that is further
//! ahead than the burst (the rate was changed, the clock was set back) counts as an empty allowance, so that no change
//! can shut an account out for longer than one interval.
//!
//! This is the model; `gcra.lua` is the same rule where all gateways share the state.

use proto::rate::Rate;

/// A rate in the numbers of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    requests: u64,
    window_us: u64,
}

impl From<Rate> for Pace {
    fn from(rate: Rate) -> Self {
        let window_us = rate.window().as_secs() * 1_000_000 + u64::from(rate.window().subsec_micros());
        Self {
            requests: rate.requests().into(),
            window_us,
        }
    }
}

impl Pace {
    /// Requests a window.
    #[must_use]
    pub const fn requests(self) -> u64 {
        self.requests
    }

    /// Length of the window in seconds, rounded up.
    #[must_use]
    pub const fn window_seconds(self) -> u64 {
        self.window_us.div_ceil(1_000_000)
    }

    /// Microseconds from one request to the next.
    #[must_use]
    pub const fn interval_us(self) -> u64 {
        self.window_us.div_ceil(self.requests)
    }

    /// Microseconds that a whole allowance takes to fill.
    #[must_use]
    pub const fn burst_us(self) -> u64 {
        self.interval_us() * self.requests
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it passes.
    pub passes: bool,
    /// Microseconds until the allowance is full again, this request counted.
    pub ahead_us: u64,
}

/// Decides on a request at `now_us` of an account whose allowance is full at `full_at_us`.
#[must_use]
pub fn decide(pace: Pace, now_us: u64, full_at_us: u64) -> Decision {
    let ahead_us = full_at_us.saturating_sub(now_us).min(pace.burst_us());
    let next = ahead_us + pace.interval_us();
    if next > pace.burst_us() {
        Decision {
            passes: false,
            ahead_us,
        }
    } else {
        Decision {
            passes: true,
            ahead_us: next,
        }
    }
}

/// A decision as the caller is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// The rate that holds for the account.
    pub pace: Pace,
    /// What became of the request.
    pub decision: Decision,
}

impl Allowance {
    /// Requests that would pass now.
    #[must_use]
    pub const fn remaining(self) -> u64 {
        self.pace.burst_us().saturating_sub(self.decision.ahead_us) / self.pace.interval_us()
    }

    /// Whole seconds until the allowance is full again, rounded up.
    #[must_use]
    pub const fn reset_seconds(self) -> u64 {
        self.decision.ahead_us.div_ceil(1_000_000)
    }

    /// Whole seconds until the next request passes, rounded up, at least 1.
    #[must_use]
    pub fn retry_after_seconds(self) -> u64 {
        let next = self.decision.ahead_us + self.pace.interval_us();
        next.saturating_sub(self.pace.burst_us())
            .div_ceil(1_000_000)
            .max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Pace {
        /// So many requests in so many milliseconds.
        pub(in crate::rate) fn of(requests: i64, window_ms: u64) -> Self {
            let window = std::time::Duration::from_millis(window_ms).try_into().ok();
            proto::rate::check(&proto::keys::v1::Rate { requests, window })
                .unwrap()
                .into()
        }
    }

    fn any_pace() -> impl Strategy<Value = Pace> {
        (1..=1_000_000_i64, 1_000..=86_400_000_u64).prop_map(|(requests, millis)| Pace::of(requests, millis))
    }

    #[test]
    fn a_full_allowance_passes_at_once_then_one_an_interval() {
        let pace = Pace::of(120, 60_000);
        let mut full_at = 0;
        for passed in 1..=120 {
            let decision = decide(pace, 0, full_at);
            assert!(decision.passes);
            full_at = decision.ahead_us;
            let allowance = Allowance { pace, decision };
            assert_eq!(allowance.remaining(), 120 - passed);
            assert_eq!(allowance.reset_seconds(), passed.div_ceil(2));
        }
        let refused = decide(pace, 0, full_at);
        assert!(!refused.passes);
        assert_eq!(
            Allowance {
                pace,
                decision: refused
            }
            .retry_after_seconds(),
            1
        );
        assert!(!decide(pace, 499_999, full_at).passes);
        assert!(decide(pace, 500_000, full_at).passes);
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_what_refilled(pace in any_pace(), steps in prop::collection::vec(0..5_000_000_u64, 1..200)) {
            let (mut now, mut full_at, mut passed) = (0, 0, 0);
            for step in steps {
                now += step;
                let decision = decide(pace, now, full_at);
                full_at = if decision.passes { now + decision.ahead_us } else { full_at };
                passed += u64::from(decision.passes);
                prop_assert!(passed <= pace.requests() + now / pace.interval_us());
                let allowance = Allowance { pace, decision };
                prop_assert!(allowance.remaining() < pace.requests());
                prop_assert_eq!(decision.passes || allowance.remaining() == 0, true);
            }
        }

        #[test]
        fn waiting_as_told_lets_the_next_one_pass(pace in any_pace(), ahead in 0..90_000_000_000_u64) {
            let decision = decide(pace, 0, ahead);
            if !decision.passes {
                let wait = Allowance { pace, decision }.retry_after_seconds();
                prop_assert!(wait >= 1);
                prop_assert!(decide(pace, wait * 1_000_000, decision.ahead_us).passes);
            }
        }

        #[test]
        fn the_allowance_is_full_again_when_told(pace in any_pace(), ahead in 0..90_000_000_000_u64) {
            let decision = decide(pace, 0, ahead);
            let full_at = decision.ahead_us;
            let reset = Allowance { pace, decision }.reset_seconds() * 1_000_000;
            let again = decide(pace, reset, full_at);
            prop_assert!(again.passes);
            prop_assert_eq!(Allowance { pace, decision: again }.remaining(), pace.requests() - 1);
        }

        #[test]
        fn a_changed_rate_shuts_nobody_out(pace in any_pace(), ahead: u64) {
            let full_at = decide(pace, 0, ahead).ahead_us;
            prop_assert!(decide(pace, pace.interval_us(), full_at).passes);
        }
    }
}
