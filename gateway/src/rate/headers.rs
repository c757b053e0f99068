//! The headers that tell a caller of its rate.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::gcra::Allowance;

/// Requests a window.
pub const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
/// Requests that would pass now.
pub const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// Seconds until the allowance is full again.
pub const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
/// The rate, as the IETF draft has it.
pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// The state, as the IETF draft has it.
pub const STATE: HeaderName = HeaderName::from_static("ratelimit");

/// Writes them: the three `X-RateLimit-` ones, and `RateLimit-Policy` and `RateLimit` of
/// draft-ietf-httpapi-ratelimit-headers (`q` requests in `w` seconds; `r` remain, all again in `t` seconds).
pub fn write(allowance: Allowance, headers: &mut HeaderMap) {
    let (pace, remaining, reset) = (allowance.pace, allowance.remaining(), allowance.reset_seconds());
    headers.insert(LIMIT, pace.requests().into());
    headers.insert(REMAINING, remaining.into());
    headers.insert(RESET, reset.into());
    insert_text(
        headers,
        POLICY,
        &format!("\"default\";q={};w={}", pace.requests(), pace.window_seconds()),
    );
    insert_text(headers, STATE, &format!("\"default\";r={remaining};t={reset}"));
}

fn insert_text(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    // Digits and the letters above are always a header's value.
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::gcra::{self, Pace};

    #[test]
    fn they_tell_the_rate_and_what_is_left_of_it() {
        let pace = Pace::of(120, 60_000);
        let mut headers = HeaderMap::new();
        write(
            Allowance {
                pace,
                decision: gcra::decide(pace, 0, 0),
            },
            &mut headers,
        );
        assert_eq!(headers["x-ratelimit-limit"], "120");
        assert_eq!(headers["x-ratelimit-remaining"], "119");
        assert_eq!(headers["x-ratelimit-reset"], "1");
        assert_eq!(headers["ratelimit-policy"], "\"default\";q=120;w=60");
        assert_eq!(headers["ratelimit"], "\"default\";r=119;t=1");
    }
}
