//! Days as texts of the contract.

use chrono::{Datelike as _, NaiveDate};

/// When a company was founded, as precisely as the source knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundedDate {
    /// The day.
    Day(NaiveDate),
    /// Only the year.
    Year(i32),
}

/// The first and the last year of a day that is asked for, or that a record was updated on.
pub const YEARS: (i32, i32) = (1900, 2100);

/// The first and the last year of founding.
pub const FOUNDED_YEARS: (i32, i32) = (1000, 2100);

/// `YYYY-MM-DD`, a real day of the years 1900-2100.
#[must_use]
pub fn parse(text: &str) -> Option<NaiveDate> {
    parse_within(text, YEARS)
}

/// `YYYY-MM-DD` or `YYYY`, a real day or year of 1000-2100.
#[must_use]
pub fn parse_founded(text: &str) -> Option<FoundedDate> {
    if let Some(year) = digits(text, 4) {
        return (FOUNDED_YEARS.0..=FOUNDED_YEARS.1)
            .contains(&year)
            .then_some(FoundedDate::Year(year));
    }
    parse_within(text, FOUNDED_YEARS).map(FoundedDate::Day)
}

fn parse_within(text: &str, years: (i32, i32)) -> Option<NaiveDate> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let (month, day) = (
        u32::try_from(digits(month, 2)?).ok()?,
        u32::try_from(digits(day, 2)?).ok()?,
    );
    NaiveDate::from_ymd_opt(digits(year, 4)?, month, day)
        .filter(|date| (years.0..=years.1).contains(&date.year()))
}

/// So many ASCII digits and nothing else.
fn digits(text: &str, count: usize) -> Option<i32> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_days_within_the_years_parse() {
        for text in ["1900-01-01", "2100-12-31", "2024-02-29"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        for text in [
            "1899-12-31",
            "2101-01-01",
            "2023-02-29",
            "2023-13-01",
            "2023-00-01",
            "2023-1-1",
            "20230101",
            "2023-01-01T00:00:00Z",
            " 2023-01-01",
            "+023-01-01",
            "2023-01-01-",
            "２０２３-01-01",
            "",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn founded_is_a_day_or_a_year() {
        assert_eq!(parse_founded("1000"), Some(FoundedDate::Year(1000)));
        assert_eq!(parse_founded("2100"), Some(FoundedDate::Year(2100)));
        assert_eq!(
            parse_founded("1850-05-06").map(|founded| matches!(founded, FoundedDate::Day(_))),
            Some(true)
        );
        for text in ["0999", "2101", "99", "2023-02-30", "0999-12-31", "circa 1900"] {
            assert_eq!(parse_founded(text), None, "{text}");
        }
    }
}
