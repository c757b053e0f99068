//! How many requests an account may make in how long.

use std::time::Duration;

use crate::keys::v1;
use crate::violation::{PathSegment, Violation, ViolationCode};

/// Most requests a window.
pub const MAX_REQUESTS: u32 = 1_000_000;
/// Shortest window.
pub const MIN_WINDOW: Duration = Duration::from_secs(1);
/// Longest window.
pub const MAX_WINDOW: Duration = Duration::from_hours(24);

/// A rate within its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    requests: u32,
    window: Duration,
}

impl Rate {
    /// The rate, if it is within its bounds.
    #[must_use]
    pub fn new(requests: u32, window: Duration) -> Option<Self> {
        let requests = check_requests(requests.into()).ok()?;
        let window = check_window(window).ok()?;
        Some(Self { requests, window })
    }

    /// Requests a window, 1-1,000,000.
    #[must_use]
    pub const fn requests(self) -> u32 {
        self.requests
    }

    /// Length of the window, 1 s to 1 day, whole milliseconds.
    #[must_use]
    pub const fn window(self) -> Duration {
        self.window
    }
}

/// The rate, if it is within its bounds. The violations are at `rate.requests` and `rate.window`.
pub fn check(rate: &v1::Rate) -> Result<Rate, Vec<Violation>> {
    let mut violations = Vec::new();
    let requests = check_requests(rate.requests).map_err(|violation| violations.push(violation));
    let window = read_window(rate.window.as_ref())
        .and_then(check_window)
        .map_err(|violation| violations.push(violation));
    match (requests, window) {
        (Ok(requests), Ok(window)) => Ok(Rate { requests, window }),
        _ => Err(violations),
    }
}

fn check_requests(requests: i64) -> Result<u32, Violation> {
    if requests < 1 {
        return Err(at("requests", ViolationCode::TooSmall, "is below 1"));
    }
    u32::try_from(requests)
        .ok()
        .filter(|requests| *requests <= MAX_REQUESTS)
        .ok_or_else(|| at("requests", ViolationCode::TooBig, "is above 1,000,000"))
}

/// Reads a duration by hand: the library's own conversion overflows on the most negative one.
fn read_window(window: Option<&prost_types::Duration>) -> Result<Duration, Violation> {
    let window = window.ok_or_else(|| at("window", ViolationCode::Missing, "is missing"))?;
    let seconds = u64::try_from(window.seconds).unwrap_or(0);
    // Negative nanoseconds beside positive seconds are ill-formed; what stands in for them is no whole millisecond.
    Ok(Duration::new(seconds, u32::try_from(window.nanos).unwrap_or(1)))
}

fn check_window(window: Duration) -> Result<Duration, Violation> {
    if window < MIN_WINDOW {
        Err(at("window", ViolationCode::TooSmall, "is below 1 s"))
    } else if window > MAX_WINDOW {
        Err(at("window", ViolationCode::TooBig, "is above 1 day"))
    } else if !window.subsec_nanos().is_multiple_of(1_000_000) {
        Err(at(
            "window",
            ViolationCode::InvalidValue,
            "is not in whole milliseconds",
        ))
    } else {
        Ok(window)
    }
}

fn at(property: &str, code: ViolationCode, message: &str) -> Violation {
    let mut violation = Violation::at("rate", code, message);
    violation.path.push(PathSegment::Name(property.to_owned()));
    violation
}

impl From<Rate> for v1::Rate {
    fn from(rate: Rate) -> Self {
        Self {
            requests: i64::from(rate.requests),
            // Whole milliseconds of at most a day always fit.
            window: rate.window.try_into().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(requests: i64, seconds: i64, nanos: i32) -> v1::Rate {
        let window = Some(prost_types::Duration { seconds, nanos });
        v1::Rate { requests, window }
    }

    #[test]
    fn rates_within_the_bounds_survive_the_wire() {
        for rate in [
            rate(1, 1, 0),
            rate(120, 60, 0),
            rate(5, 1, 1_000_000),
            rate(1_000_000, 86_400, 0),
        ] {
            let checked = check(&rate).unwrap();
            assert_eq!(v1::Rate::from(checked), rate);
        }
    }

    #[test]
    fn every_bound_that_is_passed_is_told() {
        let cases = [
            (rate(0, 1, 0), vec!["rate.requests: is below 1"]),
            (rate(i64::MIN, 1, 0), vec!["rate.requests: is below 1"]),
            (rate(1_000_001, 1, 0), vec!["rate.requests: is above 1,000,000"]),
            (rate(i64::MAX, 1, 0), vec!["rate.requests: is above 1,000,000"]),
            (rate(1, 0, 999_000_000), vec!["rate.window: is below 1 s"]),
            (rate(1, i64::MIN, 0), vec!["rate.window: is below 1 s"]),
            (rate(1, 86_400, 1_000_000), vec!["rate.window: is above 1 day"]),
            (rate(1, i64::MAX, 0), vec!["rate.window: is above 1 day"]),
            (rate(1, 1, 500), vec!["rate.window: is not in whole milliseconds"]),
            (
                rate(1, 5, -1_000_000),
                vec!["rate.window: is not in whole milliseconds"],
            ),
            (
                v1::Rate {
                    requests: 0,
                    window: None,
                },
                vec!["rate.requests: is below 1", "rate.window: is missing"],
            ),
        ];
        for (rate, expected) in cases {
            let told: Vec<_> = check(&rate)
                .unwrap_err()
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(told, expected);
        }
    }
}
