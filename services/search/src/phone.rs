//! Telephone numbers, compared as E.164.
//!
//! A record's number has a term for each way it is dialled: international with and without `+`, national with and
//! without the trunk prefix. What is asked for is the beginning of one of them; with `+` or `00` it is the beginning of
//! the international form and nothing else.

use proto::search_query::MIN_PHONE_DIGITS;
use rlibphonenumber::{PHONE_NUMBER_UTIL, PhoneNumber, Region};
use unicode_normalization::UnicodeNormalization as _;

/// Most digits of a number that is looked for in numbering plans: more than any has, with all that may be dialled before it.
const MAX_PARSED_DIGITS: usize = 32;

/// The terms of a record's number; `country` is the ISO 3166-1 alpha-2 code of where it is dialled from. A number
/// that is none in any numbering plan has its digits alone.
#[must_use]
pub fn terms(number: &str, country: Option<&str>) -> Vec<String> {
    let written = Written::of(number);
    if written.digits.is_empty() {
        return Vec::new();
    }
    let parsed = written.parse(country);
    let mut terms = parsed.iter().flat_map(dialled).collect::<Vec<_>>();
    if written.international {
        terms.push(written.with_plus());
        // What is asked for by the same text, where no numbering plan has the number.
        terms.push(written.without_trunk_prefix());
    }
    terms.push(written.digits);
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// What a number that is asked for begins with; none if it has too few digits.
#[must_use]
pub fn asked_prefix(number: &str) -> Option<String> {
    let written = Written::of(number);
    if written.digits.is_empty() || written.shown_digits < MIN_PHONE_DIGITS {
        return None;
    }
    Some(if written.international {
        written.without_trunk_prefix()
    } else {
        written.digits
    })
}

/// A number as it is written, without its punctuation.
struct Written {
    /// Whether it begins with `+` or `00`; that is not among the digits.
    international: bool,
    digits: String,
    /// How many digits were written.
    shown_digits: usize,
}

impl Written {
    fn of(number: &str) -> Self {
        let text = if number.is_ascii() {
            number.to_ascii_lowercase()
        } else {
            number.nfkc().collect::<String>().to_lowercase()
        };
        let text = without_extension(&text);
        let shown_digits = text.chars().filter_map(digit).count();
        // In +49 (0)30 the trunk prefix is for those who don't dial the country.
        let international = text
            .trim_start_matches(|first: char| !is_dialled(first))
            .starts_with('+');
        let digits = text
            .replace("(0)", "")
            .chars()
            .filter_map(digit)
            .collect::<String>();
        if international {
            return Self {
                international,
                digits,
                shown_digits,
            };
        }
        if let Some(digits) = digits.strip_prefix("00") {
            return Self {
                international: true,
                digits: digits.to_owned(),
                shown_digits,
            };
        }
        let digits = text.chars().filter_map(digit).collect();
        Self {
            international,
            digits,
            shown_digits,
        }
    }

    fn with_plus(&self) -> String {
        format!("+{}", self.digits)
    }

    /// What numbering plans make of it: where none has it as a valid number of the country, it may be the international
    /// form without its plus.
    fn parse(&self, country: Option<&str>) -> Vec<PhoneNumber> {
        if self.digits.len() > MAX_PARSED_DIGITS {
            return Vec::new();
        }
        let international = || PHONE_NUMBER_UTIL.parse(self.with_plus(), None).ok();
        if self.international {
            return international().into_iter().collect();
        }
        let region = country.and_then(|code| code.parse::<Region>().ok());
        let national = region.and_then(|region| PHONE_NUMBER_UTIL.parse(&self.digits, Some(region)).ok());
        let is_valid = national.as_ref().is_some_and(PhoneNumber::is_valid);
        let international = (!is_valid).then(international).flatten();
        let international = international.filter(PhoneNumber::is_valid);
        national.into_iter().chain(international).collect()
    }

    /// The international form, without a trunk prefix that is written though it is not dialled: `+44 020`.
    fn without_trunk_prefix(&self) -> String {
        let with_code = (1..=3).find_map(|length| {
            let (code, rest) = self.digits.split_at_checked(length)?;
            let number = code.parse().ok()?;
            PHONE_NUMBER_UTIL.get_region_for_country_code(number)?;
            let trunk = trunk_prefix(number);
            let rest = rest
                .strip_prefix('0')
                .filter(|_| trunk == Some("0"))
                .unwrap_or(rest);
            Some(format!("+{code}{rest}"))
        });
        with_code.unwrap_or_else(|| self.with_plus())
    }
}

/// The ways a number is dialled.
fn dialled(number: &PhoneNumber) -> Vec<String> {
    let code = number.country_code;
    let national = number.get_national_significant_number();
    let trunk = trunk_prefix(code);
    // Of a number with digits too many or too few it is not certain whether it begins with the trunk prefix.
    let rest = trunk.and_then(|trunk| national.strip_prefix(trunk));
    let rest = rest.filter(|rest| !rest.is_empty() && !number.is_valid());
    let mut terms = Vec::new();
    for national in rest.into_iter().chain([national.as_str()]) {
        terms.push(format!("+{code}{national}"));
        terms.push(format!("{code}{national}"));
        terms.extend(trunk.map(|trunk| format!("{trunk}{national}")));
        terms.push(national.to_owned());
    }
    terms
}

/// Codes of the countries within which `0` is dialled before a national number.
const ZERO_BEFORE: &[i32] = &[
    20, 27, 31, 32, 33, 40, 41, 43, 44, 46, 49, 51, 53, 54, 55, 57, 58, 60, 61, 62, 63, 64, 66, 81, 82, 84,
    86, 90, 91, 92, 93, 94, 95, 98, 211, 212, 213, 218, 231, 232, 233, 234, 243, 249, 250, 251, 252, 254,
    255, 256, 260, 261, 262, 263, 264, 265, 291, 353, 355, 358, 359, 370, 373, 374, 377, 380, 381, 382, 383,
    385, 386, 387, 389, 421, 423, 508, 590, 591, 593, 594, 595, 596, 598, 686, 850, 855, 856, 880, 886, 961,
    962, 963, 964, 966, 967, 970, 971, 972, 976, 977, 994, 995, 996,
];

/// What is dialled before a national number within the countries of a code; none where nothing is, or there is no
/// such code. By the numbering plans' metadata, of which the library does not tell this.
fn trunk_prefix(code: i32) -> Option<&'static str> {
    match code {
        1 | 692 => Some("1"),
        7 | 375 | 993 => Some("8"),
        36 => Some("06"),
        _ => ZERO_BEFORE.binary_search(&code).is_ok().then_some("0"),
    }
}

/// The number without its extension: what stands behind a mark that has a number before it.
fn without_extension(text: &str) -> &str {
    let behind = |mark: &str| {
        text.match_indices(mark)
            .map(|(at, _)| &text[..at])
            .find(|number| number.chars().filter_map(digit).count() >= MIN_PHONE_DIGITS)
    };
    ["ext", "x", ";", "#"]
        .into_iter()
        .filter_map(behind)
        .min_by_key(|number| number.len())
        .unwrap_or(text)
}

const fn is_dialled(character: char) -> bool {
    character == '+' || digit(character).is_some()
}

/// A digit of ASCII or of the two Arabic series, as ASCII.
const fn digit(character: char) -> Option<char> {
    match character {
        '0'..='9' => Some(character),
        '\u{660}'..='\u{669}' => char::from_digit(character as u32 - 0x660, 10),
        '\u{6f0}'..='\u{6f9}' => char::from_digit(character as u32 - 0x6f0, 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finds(asked: &str, number: &str, country: Option<&str>) -> bool {
        let prefix = asked_prefix(asked).expect("enough digits");
        terms(number, country)
            .iter()
            .any(|term| term.starts_with(&prefix))
    }

    #[test]
    fn every_spelling_finds_every_spelling() {
        for (country, spellings) in [
            (
                "GB",
                &[
                    "+44 20 7946 0958",
                    "0044 20 7946 0958",
                    "+44 (0)20 7946-0958",
                    "020 7946 0958",
                    "(020) 7946 0958",
                    "+44 020 7946 0958",
                    "＋４４ ２０ ７９４６ ０９５８",
                    "tel: +44.20.7946.0958",
                ][..],
            ),
            (
                "US",
                &[
                    "+1 202 555 0123",
                    "(202) 555-0123",
                    "1-202-555-0123",
                    "202.555.0123",
                    "+1 (202) 555-0123 ext. 5",
                ],
            ),
            (
                "DE",
                &[
                    "+49 30 901820",
                    "030 901820",
                    "0049 30 901820",
                    "030/90 18 20",
                    "+49 (0)30 901820",
                ],
            ),
            ("IT", &["+39 06 6982 1234", "06 6982 1234", "0039 06 69821234"]),
            (
                "JP",
                &["+81 3-3224-5000", "03-3224-5000", "０３−３２２４−５０００"],
            ),
            (
                "FR",
                &["+33 1 42 68 53 00", "01 42 68 53 00", "+33 (0)1 42 68 53 00"],
            ),
        ] {
            for number in spellings {
                for asked in spellings {
                    assert!(finds(asked, number, Some(country)), "{asked} in {number}");
                }
            }
        }
    }

    #[test]
    fn the_beginning_is_enough() {
        for asked in ["+4420", "0044 20 79", "020 7", "2079", "4420"] {
            assert!(finds(asked, "+44 20 7946 0958", None), "{asked}");
        }
        for asked in ["7946", "0958", "+2079", "00207", "+4921"] {
            assert!(!finds(asked, "+44 20 7946 0958", None), "{asked}");
        }
    }

    #[test]
    fn what_no_numbering_plan_knows_keeps_its_digits() {
        assert_eq!(terms("12-34-56", None), ["123456"]);
        assert_eq!(terms("+999 123456", None), ["+999123456", "999123456"]);
        assert!(terms("020 7946", Some("GB")).contains(&"0207946".to_owned()));
        assert_eq!(terms("call us", Some("GB")), Vec::<String>::new());
        assert_eq!(terms("020 7946 0958", Some("no country")), ["02079460958"]);
    }

    #[test]
    fn a_number_that_no_plan_has_is_found_as_it_is_written() {
        for number in ["+49 00 124", "0049 00124", "+7 00 12", "+999 1234"] {
            assert!(finds(number, number, None), "{number}");
        }
    }

    #[test]
    fn every_country_s_numbers_are_found_however_they_are_written() {
        let mut countries = 0;
        for region in PHONE_NUMBER_UTIL.get_supported_regions() {
            let Ok(example) = PHONE_NUMBER_UTIL.get_example_number(region) else {
                continue;
            };
            let (code, national) = (example.country_code, example.get_national_significant_number());
            let trunk = trunk_prefix(code).unwrap_or_default();
            let spellings = [
                format!("+{code} {national}"),
                format!("00{code}-{national}"),
                format!("{trunk}{national}"),
                national,
            ];
            for number in &spellings {
                for asked in &spellings {
                    assert!(
                        finds(asked, number, Some(&region.as_region_str())),
                        "{asked} in {number} of {region:?}"
                    );
                }
            }
            countries += 1;
        }
        assert!(countries > 200, "{countries}");
        for code in PHONE_NUMBER_UTIL.get_supported_global_network_calling_codes() {
            let example = PHONE_NUMBER_UTIL
                .get_example_number_for_non_geo_entity(code)
                .unwrap();
            let national = example.get_national_significant_number();
            let spellings = [
                format!("+{code} {national}"),
                format!("00{code}{national}"),
                national,
            ];
            for number in &spellings[..2] {
                for asked in &spellings {
                    assert!(finds(asked, number, None), "{asked} in {number}");
                }
            }
        }
    }

    #[test]
    fn digits_too_many_or_too_few_hide_no_number() {
        for (country, number, asked) in [
            ("RU", "8 (495) 123-45-67, 68", "+7 495 123-45-67"),
            ("RU", "8 (495) 123-45-67, 68", "8 495 123 45 67"),
            ("CH", "044 668 18 00 / 12", "+41 44 668 18 00"),
            ("GB", "020 7946 09", "+44 20 7946"),
            ("CL", "800 123 044-02", "+56 800 123 044"),
            ("CL", "800 123 044-02", "+800 123 044 02"),
            ("NL", "612 574 132 64", "+31 612 574 132"),
        ] {
            assert!(finds(asked, number, Some(country)), "{asked} in {number}");
        }
    }

    #[test]
    fn trunk_prefixes_are_those_of_the_plans() {
        assert!(ZERO_BEFORE.is_sorted());
        let mut told = 0;
        for region in PHONE_NUMBER_UTIL.get_supported_regions() {
            let Ok(example) = PHONE_NUMBER_UTIL.get_example_number(region) else {
                continue;
            };
            let national = example.get_national_significant_number();
            let dialled = |trunk| PHONE_NUMBER_UTIL.parse(format!("{trunk}{national}"), Some(region));
            if let Some(trunk) = trunk_prefix(example.country_code) {
                assert_eq!(dialled(trunk).as_ref(), Ok(&example), "{region:?}");
                told += 1;
            } else {
                assert_ne!(dialled("0").as_ref(), Ok(&example), "{region:?}");
            }
        }
        assert!(told > 100, "{told}");
    }

    #[test]
    fn fewer_than_four_digits_ask_for_nothing() {
        for asked in ["", "123", "+12 3", "phone"] {
            assert_eq!(asked_prefix(asked), None, "{asked}");
        }
        assert_eq!(asked_prefix("1234").as_deref(), Some("1234"));
        assert_eq!(asked_prefix("٠٢٠٧").as_deref(), Some("0207"));
        assert!(asked_prefix("0000").is_none_or(|prefix| !prefix.is_empty()));
    }

    proptest! {
        #[test]
        fn whatever_is_written_has_its_digits(
            number in "[0-9+() x.#٠-٩-]{0,40}|[+]?[0-9]{0,400}",
            country in prop::option::of(prop::sample::select(&["US", "IT", "RU", "AR", "MX", "KZ", "no"][..])),
        ) {
            let written = Written::of(&number);
            let terms = terms(&number, country);
            prop_assert_eq!(terms.is_empty(), written.digits.is_empty());
            prop_assert!(terms.is_empty() || terms.contains(&written.digits));
        }
    }
}
