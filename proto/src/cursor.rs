//! The outer shape of a cursor: what can be told of it without the key it is signed with.
//! What is inside is the search service's own.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// First byte of every cursor.
pub const VERSION: u8 = 1;

/// Fewest bytes: the version and a signature.
pub const MIN_BYTES: usize = 17;

/// Most characters.
pub const MAX_CHARS: usize = 8_192;

/// The bytes of a cursor of this version; none if it has not its shape. Its signature is not looked at.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if text.len() > MAX_CHARS {
        return None;
    }
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    (bytes.len() >= MIN_BYTES && bytes.first() == Some(&VERSION)).then_some(bytes)
}

/// The text of a cursor.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shape_is_decoded() {
        let bytes = [[VERSION].as_slice(), &[7; 16]].concat();
        let text = encode(&bytes);
        assert_eq!(decode(&text), Some(bytes.clone()));
        assert_eq!(decode(&format!("{text}=")), None);
        assert_eq!(decode(&text[..text.len() - 1]), None);
        assert_eq!(decode(&encode(&bytes[..16])), None);
        assert_eq!(decode(&encode(&[[2].as_slice(), &[7; 16]].concat())), None);
        assert_eq!(
            decode(&encode(&[[VERSION].as_slice(), &[7; 6_144]].concat())),
            None
        );
        assert_eq!(decode(" "), None);
    }
}
