//! Telephone numbers of the countries that the tests make numbers of.

use crate::text::nfkc;

/// Country, its code, what is dialled before a national number.
const PLANS: &[(&str, &str, &str)] = &[
    ("US", "1", "1"),
    ("CA", "1", "1"),
    ("GB", "44", "0"),
    ("DE", "49", "0"),
    ("FR", "33", "0"),
    ("JP", "81", "0"),
    ("IN", "91", "0"),
    ("IT", "39", ""),
    ("ES", "34", ""),
];

/// A number as it is written.
struct Written {
    international: bool,
    digits: String,
}

fn digits(text: &str) -> String {
    let digit = |character: char| {
        let value = match character {
            '0'..='9' => return Some(character),
            '٠'..='٩' => u32::from(character) - u32::from('٠'),
            '۰'..='۹' => u32::from(character) - u32::from('۰'),
            _ => return None,
        };
        char::from_digit(value, 10)
    };
    text.chars().filter_map(digit).collect()
}

fn read(number: &str) -> Written {
    let text = nfkc(number).to_lowercase();
    // What follows `ext`, `x`, `;` or `#` behind a number is an extension.
    let extension = ["ext", "x", ";", "#"]
        .iter()
        .flat_map(|mark| text.match_indices(mark).map(|(at, _)| at))
        .filter(|at| digits(&text[..*at]).len() >= 4)
        .min();
    let text = &text[..extension.unwrap_or(text.len())];
    let plus = text.find('+').is_some_and(|at| digits(&text[..at]).is_empty());
    // (0) is dialled within the country alone.
    let abroad = digits(&text.replace("(0)", ""));
    match abroad.strip_prefix("00") {
        _ if plus => Written {
            international: true,
            digits: abroad,
        },
        Some(rest) => Written {
            international: true,
            digits: rest.to_owned(),
        },
        None => Written {
            international: false,
            digits: digits(text),
        },
    }
}

/// The number behind a country's code, without a trunk prefix that is written though nobody dials it.
fn behind_code(number: &str) -> Option<(&'static str, &'static str, String)> {
    PLANS.iter().find_map(|(_, code, trunk)| {
        let rest = number.strip_prefix(code)?;
        let rest = if *trunk == "0" {
            rest.strip_prefix('0').unwrap_or(rest)
        } else {
            rest
        };
        Some((*code, *trunk, rest.to_owned()))
    })
}

/// Every way in which a record's number is dialled.
pub(crate) fn dialled(number: &str, country: Option<&str>) -> Vec<String> {
    let written = read(number);
    if written.digits.is_empty() {
        return Vec::new();
    }
    let home = PLANS.iter().find(|(iso, ..)| Some(*iso) == country);
    let parsed = match home {
        _ if written.international => behind_code(&written.digits),
        Some((_, code, trunk)) => {
            let rest = written.digits.strip_prefix(trunk).unwrap_or(&written.digits);
            Some((*code, *trunk, rest.to_owned()))
        }
        None => None,
    };
    let mut ways = vec![written.digits.clone()];
    if written.international {
        ways.push(format!("+{}", written.digits));
    }
    if let Some((code, trunk, national)) = parsed {
        ways.extend([
            format!("+{code}{national}"),
            format!("{code}{national}"),
            format!("{trunk}{national}"),
            national,
        ]);
    }
    ways
}

/// Whether a number that is asked for is the beginning of one of the ways.
pub(crate) fn begins(asked: &str, ways: &[String]) -> bool {
    let written = read(asked);
    let beginning = if written.international {
        match behind_code(&written.digits) {
            Some((code, _, rest)) => format!("+{code}{rest}"),
            None => format!("+{}", written.digits),
        }
    } else {
        written.digits
    };
    ways.iter().any(|way| way.starts_with(&beginning))
}
