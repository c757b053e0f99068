//! The types that a setting can have, and how each is written.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// A type that a setting can have.
pub trait Setting: Sized {
    /// What a value looks like, for `--help`.
    const FORM: &'static str;
    /// Reads a value; the error says what is wrong with it, without its end.
    fn parse(text: &str) -> Result<Self, String>;
    /// Writes a value as `parse` reads it.
    fn show(&self) -> String;
}

impl Setting for bool {
    const FORM: &'static str = "true|false";
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "is neither true nor false".to_owned())
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for String {
    const FORM: &'static str = "TEXT";
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
    fn show(&self) -> String {
        self.clone()
    }
}

impl Setting for PathBuf {
    const FORM: &'static str = "PATH";
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self::from(text))
    }
    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Setting for SocketAddr {
    const FORM: &'static str = "ADDRESS:PORT";
    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "is no address with port, such as 127.0.0.1:8080".to_owned())
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// A share of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

impl Share {
    /// All of it.
    pub const ALL: Self = Self(1.0);

    /// The number.
    #[must_use]
    pub const fn number(self) -> f64 {
        self.0
    }
}

impl Setting for Share {
    const FORM: &'static str = "0..1";
    fn parse(text: &str) -> Result<Self, String> {
        let number: f64 = text.parse().map_err(|_| "is no number".to_owned())?;
        if (0.0..=1.0).contains(&number) {
            Ok(Self(number))
        } else {
            Err("is not from 0 to 1".to_owned())
        }
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// Comma-separated.
impl Setting for Vec<String> {
    const FORM: &'static str = "TEXT,TEXT...";
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect())
    }
    fn show(&self) -> String {
        self.join(",")
    }
}

/// A number with its unit: `250ms`, `10s`, `5m`, `24h`, `7d`.
impl Setting for Duration {
    const FORM: &'static str = "DURATION";
    fn parse(text: &str) -> Result<Self, String> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let scale = match unit {
            "ms" => Some(1),
            "s" => Some(1_000),
            "m" => Some(60_000),
            "h" => Some(3_600_000),
            "d" => Some(86_400_000),
            _ => None,
        };
        let millis = number
            .parse::<u64>()
            .ok()
            .zip(scale)
            .and_then(|(number, scale)| number.checked_mul(scale));
        millis
            .map(Self::from_millis)
            .ok_or_else(|| "is no number with a unit, such as 250ms, 10s, 5m, 24h, 7d".to_owned())
    }
    fn show(&self) -> String {
        let millis = self.as_millis();
        for (scale, unit) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
            if millis >= scale && millis.is_multiple_of(scale) {
                return format!("{}{unit}", millis / scale);
            }
        }
        format!("{millis}ms")
    }
}

fn parse_number<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error| format!("is no such number: {error}"))
}

impl Setting for u16 {
    const FORM: &'static str = "NUMBER";
    fn parse(text: &str) -> Result<Self, String> {
        parse_number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for u32 {
    const FORM: &'static str = "NUMBER";
    fn parse(text: &str) -> Result<Self, String> {
        parse_number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for i64 {
    const FORM: &'static str = "NUMBER";
    fn parse(text: &str) -> Result<Self, String> {
        parse_number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for u64 {
    const FORM: &'static str = "NUMBER";
    fn parse(text: &str) -> Result<Self, String> {
        parse_number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for usize {
    const FORM: &'static str = "NUMBER";
    fn parse(text: &str) -> Result<Self, String> {
        parse_number(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_they_are_shown() {
        for text in ["0ms", "250ms", "10s", "5m", "24h", "1d", "7d", "90s"] {
            let shown = Duration::parse(text).unwrap().show();
            assert_eq!(Duration::parse(&shown).unwrap(), Duration::parse(text).unwrap());
        }
        for text in ["", "10", "s", "-1s", "1.5s", "99999999999999999999d", "1w"] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }
}
