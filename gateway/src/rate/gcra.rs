//! The rule of the rate limit: GCRA (the generic cell rate algorithm) in whole microseconds.
//!
//! An account's state is one time: when its allowance will be full again. Each request moves it on by the interval
//! (window / requests); a request that would move it further ahead of now than the burst (interval x requests) is
//! refused and moves nothing. So a full allowance passes at once, then one request an interval.
//!
//! The interval is rounded up to whole microseconds: the rate is never above what was set. A state that is further
//! ahead than the burst (the rate was changed, the clock was set back) becomes an empty allowance, also by a request
//! that is refused: no change can shut an account out for longer than one interval.
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
    /// Microseconds until the allowance is full again, this request counted: the account's state from now on, whether
    /// the request passes or not.
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
pub(in crate::rate) mod tests {
    use proptest::collection::vec;
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

    /// The limit by its definition, which knows no state but looks at all that has passed: a request may pass if no
    /// time that begins with an earlier one holds more than a whole allowance and what refills in that time.
    #[derive(Default)]
    pub(in crate::rate) struct Definition {
        passed: Vec<Moment>,
    }

    /// When something happened: not before, and not after.
    #[derive(Clone, Copy)]
    pub(in crate::rate) struct Moment {
        pub(in crate::rate) earliest_us: u64,
        pub(in crate::rate) latest_us: u64,
    }

    impl Moment {
        fn at(time_us: u64) -> Self {
            Self {
                earliest_us: time_us,
                latest_us: time_us,
            }
        }
    }

    impl Definition {
        /// Notes what became of a request, in the order of decisions. It has to be what the definition allows, at some
        /// time within the moment.
        pub(in crate::rate) fn note(&mut self, pace: Pace, now: Moment, passes: bool) -> Result<(), String> {
            let fits = |gained: &dyn Fn(Moment) -> u64| {
                self.passed.iter().enumerate().all(|(number, earlier)| {
                    let passed_since = (self.passed.len() - number) as u64;
                    passed_since < pace.requests() + gained(*earlier) / pace.interval_us()
                })
            };
            let may_pass = fits(&|earlier| now.latest_us.saturating_sub(earlier.earliest_us));
            let must_pass = fits(&|earlier| now.earliest_us.saturating_sub(earlier.latest_us));
            match (passes, may_pass, must_pass) {
                (true, false, _) => Err(format!("{} passed, and one more", self.passed.len())),
                (false, _, true) => Err(format!("{} passed, and no more", self.passed.len())),
                _ => {
                    self.passed.extend(passes.then_some(now));
                    Ok(())
                }
            }
        }
    }

    /// An account at a time that the test sets.
    struct Account {
        pace: Pace,
        now_us: u64,
        full_at_us: u64,
    }

    impl Account {
        fn take(&mut self) -> Allowance {
            let decision = decide(self.pace, self.now_us, self.full_at_us);
            self.full_at_us = self.now_us + decision.ahead_us;
            Allowance {
                pace: self.pace,
                decision,
            }
        }

        /// How many pass at once, and then one is refused.
        fn take_all(&mut self) -> u64 {
            (0..=self.pace.requests())
                .take_while(|_| self.take().decision.passes)
                .count() as u64
        }
    }

    /// Few requests, whose allowance is soon used up, as often as many.
    fn any_pace() -> impl Strategy<Value = Pace> {
        let requests = prop_oneof![1..=8_i64, 1..=1_000_000_i64];
        (requests, 1_000..=86_400_000_u64).prop_map(|(requests, millis)| Pace::of(requests, millis))
    }

    /// A rate, and the times between the requests of a caller: some quarters of an interval and a bit; at times long.
    fn any_history() -> impl Strategy<Value = (Pace, Vec<u64>)> {
        let quarters = prop_oneof![8 => 0..=5_u64, 1 => 0..=100_u64];
        (any_pace(), vec((quarters, 0..=1_u64), 1..80)).prop_map(|(pace, gaps)| {
            let gap = |(quarters, more)| pace.interval_us() * quarters / 4 + more;
            (pace, gaps.into_iter().map(gap).collect())
        })
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
        fn what_the_definition_allows_passes_and_nothing_else((pace, gaps) in any_history()) {
            let mut account = Account { pace, now_us: 0, full_at_us: 0 };
            let mut definition = Definition::default();
            for gap in gaps {
                account.now_us += gap;
                let passes = account.take().decision.passes;
                definition.note(pace, Moment::at(account.now_us), passes).map_err(TestCaseError::fail)?;
            }
        }

        #[test]
        fn a_patient_caller_is_never_refused(pace in any_pace(), pauses in vec(0..5_000_000_u64, 1..100)) {
            let mut account = Account { pace, now_us: 0, full_at_us: 0 };
            for pause in pauses {
                account.now_us += pace.interval_us() + pause;
                let allowance = account.take();
                prop_assert!(allowance.decision.passes);
                prop_assert_eq!(allowance.remaining(), pace.requests() - 1);
            }
        }

        #[test]
        fn what_is_told_is_what_the_next_requests_get((pace, gaps) in any_history()) {
            let mut account = Account { pace, now_us: 0, full_at_us: 0 };
            for gap in gaps {
                account.now_us += gap;
                let told = account.take();
                prop_assert!(told.decision.passes || told.remaining() == 0);
                let after = |seconds: u64| {
                    Account { pace, now_us: account.now_us + seconds * 1_000_000, full_at_us: account.full_at_us }
                };
                if pace.requests() <= 8 {
                    prop_assert_eq!(after(0).take_all(), told.remaining());
                }
                if told.remaining() == 0 {
                    let wait = told.retry_after_seconds();
                    prop_assert!(after(wait).take().decision.passes);
                    prop_assert!(wait == 1 || !after(wait - 1).take().decision.passes);
                }
                let reset = told.reset_seconds();
                prop_assert!(reset >= 1);
                prop_assert_eq!(after(reset).take().remaining(), pace.requests() - 1);
                let sooner = after(reset - 1);
                prop_assert!(sooner.full_at_us > sooner.now_us);
            }
        }

        #[test]
        fn a_changed_rate_or_clock_shuts_nobody_out(pace in any_pace(), full_at_us in 0..u64::MAX / 2) {
            let mut account = Account { pace, now_us: 0, full_at_us };
            account.take();
            account.now_us = pace.interval_us();
            prop_assert!(account.take().decision.passes);
        }
    }
}
