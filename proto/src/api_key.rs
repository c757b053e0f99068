//! The form of an API key's secret: `dsk_`, 32 random base62 characters, 6 base62 characters of a checksum.
//!
//! The checksum is the CRC-32 (IEEE) of all that precedes it, as a base62 number, most significant digit first, filled
//! up with zeros. It keeps nobody out who knows this page. It is there so that a mistyped or cut key is refused by
//! whoever reads it, without a look-up, and so that scanners of leaked secrets can tell a key from a like-looking word.

use std::fmt;

/// What every secret begins with.
pub const PREFIX: &str = "dsk_";
/// Number of random characters.
pub const RANDOM_LENGTH: usize = 32;
/// Number of characters of the checksum: 62^6 is above 2^32.
pub const CHECKSUM_LENGTH: usize = 6;
/// Number of characters of a secret.
pub const LENGTH: usize = PREFIX.len() + RANDOM_LENGTH + CHECKSUM_LENGTH;
/// Number of characters of a secret that may be shown, `PREFIX` with them.
pub const SHOWN_LENGTH: usize = PREFIX.len() + 8;
/// The digits of base62, in the order of their values.
pub const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A well-formed secret. Whether it is of any worth is for the keys service to say.
///
/// Debug shows what may be shown of it. It can't be compared: whoever wants to know a secret looks for its keyed hash.
#[derive(Clone)]
pub struct ApiKeySecret(String);

impl ApiKeySecret {
    /// Takes a text of the right form with the right checksum, and no other.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_of_form = text.len() == LENGTH
            && text.starts_with(PREFIX)
            && text[PREFIX.len()..]
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric());
        if !is_of_form {
            return None;
        }
        let (body, found) = text.split_at(LENGTH - CHECKSUM_LENGTH);
        (checksum(body) == found).then(|| Self(text.to_owned()))
    }

    /// The whole secret, for the one place that sends or hashes it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What may be shown of it: `dsk_` and the next 8 characters.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.0[..SHOWN_LENGTH]
    }
}

impl fmt::Debug for ApiKeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeySecret({}***)", self.prefix())
    }
}

/// The checksum of what precedes it, [`CHECKSUM_LENGTH`] characters.
#[must_use]
pub fn checksum(body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes());
    let mut digits = [0; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = (rest % 62) as usize;
        rest /= 62;
    }
    digits
        .into_iter()
        .map(|digit| char::from(ALPHABET[digit]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV";

    fn key() -> String {
        format!("{KEY}0lYb4h")
    }

    #[test]
    fn the_checksum_is_the_crc_32_in_base_62() {
        // The CRC-32 (IEEE) of these nine digits is the published check value 0xCBF43926 = 3,421,780,262.
        assert_eq!(checksum("123456789"), "3jZRME");
        // The CRC-32 of nothing is 0: filled up with zeros.
        assert_eq!(checksum(""), "000000");
    }

    #[test]
    fn a_well_formed_key_is_taken_and_shows_its_first_12_characters_alone() {
        let secret = ApiKeySecret::parse(&key()).unwrap();
        assert_eq!(secret.expose(), key());
        assert_eq!(secret.prefix(), "dsk_01234567");
        assert_eq!(format!("{secret:?}"), "ApiKeySecret(dsk_01234567***)");
    }

    #[test]
    fn every_slip_of_one_character_is_refused() {
        let key = key();
        for at in 0..key.len() {
            for other in (0_u8..=127).map(char::from).chain(['é', '\u{ff10}']) {
                let mut slip: Vec<char> = key.chars().collect();
                if slip[at] == other {
                    continue;
                }
                slip[at] = other;
                let slip: String = slip.into_iter().collect();
                assert!(ApiKeySecret::parse(&slip).is_none(), "{slip:?}");
            }
            let mut shorter = key.clone();
            shorter.remove(at);
            assert!(ApiKeySecret::parse(&shorter).is_none(), "{shorter:?}");
            let mut longer = key.clone();
            longer.insert(at, 'x');
            assert!(ApiKeySecret::parse(&longer).is_none(), "{longer:?}");
        }
    }

    #[test]
    fn neighbours_that_changed_places_are_refused() {
        let key = key();
        for at in 1..key.len() {
            let mut swapped = key.clone().into_bytes();
            swapped.swap(at - 1, at);
            let swapped = String::from_utf8(swapped).unwrap();
            assert!(
                swapped == key || ApiKeySecret::parse(&swapped).is_none(),
                "{swapped:?}"
            );
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let upper = key().to_uppercase();
        let spaced = format!(" {}", key());
        for text in ["", "dsk_", KEY, "eyJhbGciOiJIUzI1NiJ9.e30.x", &upper, &spaced] {
            assert!(ApiKeySecret::parse(text).is_none(), "{text:?}");
        }
        // Characters of several bytes that add up to the right length in bytes.
        assert!(ApiKeySecret::parse(&format!("dsk_{}", "é".repeat(19))).is_none());
    }
}
