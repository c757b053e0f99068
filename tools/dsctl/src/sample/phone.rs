//! Made-up telephone numbers: only from ranges that the regulators keep for fiction, where there are such.

use super::chance::Chance;

/// A range of numbers kept for fiction.
struct Range {
    /// Country, ISO alpha-2.
    country: &'static str,
    /// Country calling code.
    calling_code: &'static str,
    /// Prefix before a national number dialled within the country.
    trunk: &'static str,
    /// Area code and first digits, in the groups they are written in.
    lead: &'static str,
    /// How many digits follow, all of them free.
    free_digits: usize,
}

/// Who keeps them: United States and Canada, NANPA (555-0100 to 555-0199 in every area code); United Kingdom, Ofcom;
/// Germany, Bundesnetzagentur ("Rufnummern für Medienproduktionen"); France, ARCEP.
const RANGES: [Range; 13] = [
    range("US", "1", "", "202 555 01", 2),
    range("US", "1", "", "312 555 01", 2),
    range("US", "1", "", "415 555 01", 2),
    range("CA", "1", "", "416 555 01", 2),
    range("CA", "1", "", "604 555 01", 2),
    range("GB", "44", "0", "20 7946 0", 3),
    range("GB", "44", "0", "161 496 0", 3),
    range("GB", "44", "0", "131 496 0", 3),
    range("DE", "49", "0", "30 23125 ", 3),
    range("DE", "49", "0", "69 90009 ", 3),
    range("DE", "49", "0", "89 99998 ", 3),
    range("FR", "33", "0", "1 99 00 ", 4),
    range("FR", "33", "0", "4 65 71 ", 4),
];

const fn range(
    country: &'static str,
    calling_code: &'static str,
    trunk: &'static str,
    lead: &'static str,
    free_digits: usize,
) -> Range {
    Range {
        country,
        calling_code,
        trunk,
        lead,
        free_digits,
    }
}

/// A number for a company of this country, in one of the spellings that are usual; none where no range is known.
pub(super) fn number(country: &str, chance: &mut Chance) -> Option<String> {
    let ranges: Vec<&Range> = RANGES.iter().filter(|range| range.country == country).collect();
    let Range {
        calling_code,
        trunk,
        lead,
        free_digits,
        ..
    } = chance.choose(&ranges)?;
    let mut national = (*lead).to_owned();
    for _ in 0..*free_digits {
        national.push_str(chance.pick(&["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]));
    }
    let (area, rest) = national.split_once(' ')?;
    Some(match chance.between(0, 9) {
        0..=4 => format!("+{calling_code} {national}"),
        5 => format!("+{calling_code}{}", national.replace(' ', "")),
        6 if *trunk == "0" => format!("00{calling_code} {national}"),
        7 if *trunk == "0" => format!("+{calling_code} (0){area} {}", rest.replace(' ', "-")),
        8 => format!("({trunk}{area}) {}", rest.replace(' ', "-")),
        _ => format!("{trunk}{national}"),
    })
}

/// Whether the digits of a number are of a range kept for fiction. For tests.
#[cfg(test)]
pub(super) fn is_fictional(country: &str, number: &str) -> bool {
    let digits: String = number
        .replace("(0)", "")
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    RANGES
        .iter()
        .filter(|range| range.country == country)
        .any(|range| {
            let lead = range.lead.replace(' ', "");
            let length = lead.len() + range.free_digits;
            [
                format!("00{}{lead}", range.calling_code),
                format!("{}{lead}", range.calling_code),
                format!("{}{lead}", range.trunk),
            ]
            .iter()
            .any(|prefix| digits.starts_with(prefix) && digits.len() == prefix.len() - lead.len() + length)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_fictional_in_every_spelling() {
        for country in ["US", "CA", "GB", "DE", "FR"] {
            for record in 0..500 {
                let made = number(country, &mut Chance::of(1, "phone", &record.to_string())).unwrap();
                assert!(is_fictional(country, &made), "{country}: {made}");
            }
        }
        assert!(!is_fictional("US", "+1 202 555 0200"));
        assert!(!is_fictional("GB", "+44 20 7946 1000"));
    }

    #[test]
    fn where_no_range_is_known_there_is_no_number() {
        assert_eq!(number("JP", &mut Chance::of(1, "phone", "x")), None);
    }
}
