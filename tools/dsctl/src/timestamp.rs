//! Times of the services as the public JSON writes them.

use chrono::{DateTime, SecondsFormat};
use prost_types::Timestamp;
use serde_json::Value;

/// RFC 3339 in UTC with milliseconds; null if there is none.
pub(crate) fn json(time: Option<Timestamp>) -> Value {
    let time = time.and_then(|time| DateTime::from_timestamp(time.seconds, u32::try_from(time.nanos).ok()?));
    time.map_or(Value::Null, |time| {
        Value::String(time.to_rfc3339_opts(SecondsFormat::Millis, true))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_z() {
        assert_eq!(
            json(Some(Timestamp {
                seconds: 0,
                nanos: 1_999_999
            })),
            "1970-01-01T00:00:00.001Z"
        );
        assert_eq!(json(None), Value::Null);
    }
}
