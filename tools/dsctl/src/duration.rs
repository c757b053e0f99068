//! Lengths of time as people write them: `60s`, `1h30m`, `500ms`.

use std::time::Duration;

/// The units, largest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Reads a length of time: whole numbers, each with a unit out of d, h, m, s, ms.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let problem = || format!("{text:?} is no length of time: write 60s, 15m, 1h30m, 500ms");
    let mut rest = text.trim();
    let mut millis = 0_u64;
    if rest.is_empty() {
        return Err(problem());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|character: char| !character.is_ascii_digit())
            .ok_or_else(problem)?;
        let (number, behind) = rest.split_at(digits);
        let unit_end = behind
            .find(|character: char| character.is_ascii_digit())
            .unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit_end);
        let (_, unit) = UNITS
            .into_iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(problem)?;
        let number: u64 = number.parse().map_err(|_| problem())?;
        millis = number
            .checked_mul(unit)
            .and_then(|part| millis.checked_add(part))
            .ok_or_else(problem)?;
        rest = behind;
    }
    Ok(Duration::from_millis(millis))
}

/// Writes a length of time in its two largest units.
pub(crate) fn format(duration: Duration) -> String {
    let mut millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    for (name, unit) in UNITS {
        if millis >= unit && parts.len() < 2 {
            parts.push(format!("{}{name}", millis / unit));
            millis %= unit;
        }
    }
    if parts.is_empty() {
        "0s".to_owned()
    } else {
        parts.join("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_and_written() {
        for (text, millis) in [
            ("60s", 60_000),
            ("1h", 3_600_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("1d", 86_400_000),
            ("1m500ms", 60_500),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "60",
            "s",
            "1 h",
            "-1s",
            "1.5h",
            "1y",
            "99999999999999999999s",
            "18446744073709551615d",
            "1é",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        for (millis, text) in [
            (0, "0s"),
            (500, "500ms"),
            (60_000, "1m"),
            (5_400_000, "1h30m"),
            (90_061_001, "1d1h"),
        ] {
            assert_eq!(format(Duration::from_millis(millis)), text);
        }
    }
}
