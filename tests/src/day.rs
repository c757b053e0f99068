//! Days and moments, as records have them.

use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use prost_types::Timestamp;

/// The day so many days before today, `YYYY-MM-DD`.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "a test asks about the day that the processes are in"
)]
pub fn days_ago(days: i64) -> String {
    let now = DateTime::<Utc>::from(SystemTime::now());
    (now - TimeDelta::days(days)).format("%Y-%m-%d").to_string()
}

/// A moment in RFC 3339.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn timestamp(text: &str) -> Timestamp {
    let moment = DateTime::parse_from_rfc3339(text).expect("a moment is written in RFC 3339");
    Timestamp {
        seconds: moment.timestamp(),
        nanos: i32::try_from(moment.timestamp_subsec_nanos()).expect("nanoseconds fit"),
    }
}
