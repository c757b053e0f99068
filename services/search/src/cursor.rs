//! Cursors: where a walk through a result goes on, in a text that only this service can make.
//!
//! The text is base64url of `version (1 byte) | payload | signature (16 bytes)`. The signature is HMAC-SHA-256, cut,
//! over version and payload, by a key that all replicas share. What a caller could do:
//! - **Alter it, cut it, make one up, show one of another deployment.** The signature is wrong: refused. It is looked
//!   at before anything of the payload is.
//! - **Show it with another query.** The payload holds a fingerprint of kind, filters and sort: refused. `limit` and
//!   `fields` are not part of it and may change.
//! - **Read it.** It holds the last row's id and the value it was ordered by, both of which the caller was given.

use hmac::{Hmac, KeyInit as _, Mac as _};
use proto::cursor::{VERSION, decode, encode};
use proto::violation::{Violation, ViolationCode};
use runtime::secret::Secret;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::plan::{OrderPosition, OrderValue};

/// Bytes of the signature.
const SIGNATURE: usize = 16;

/// What a cursor belongs to: the kind of records, the filters and the sort of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint of a search in its canonical form.
    #[must_use]
    pub fn of(canonical: &[u8]) -> Self {
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&Sha256::digest(canonical)[..16]);
        Self(fingerprint)
    }
}

/// Where a walk goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Behind this record.
    pub after: OrderPosition,
    /// Number of the page that begins there, from 1.
    pub page: u32,
}

/// Signs cursors and reads them back. While the key is changed there are two: one signs, and what either has signed is
/// read, so that no walk ends for it.
#[derive(Clone)]
pub struct CursorKeys {
    signing: Hmac<Sha256>,
    previous: Option<Hmac<Sha256>>,
}

impl std::fmt::Debug for CursorKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CursorKeys(***)")
    }
}

impl CursorKeys {
    /// The keys from their settings. Replicas that have none in common refuse each other's cursors.
    #[must_use]
    pub fn new(signing: &Secret, previous: Option<&Secret>) -> Self {
        Self {
            signing: hmac(signing),
            previous: previous.map(hmac),
        }
    }

    /// The text of a cursor.
    #[must_use]
    pub fn seal(&self, cursor: &Cursor, fingerprint: Fingerprint) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&fingerprint.0);
        bytes.extend_from_slice(&cursor.page.to_be_bytes());
        bytes.extend_from_slice(cursor.after.id.as_bytes());
        match &cursor.after.value {
            OrderValue::Missing => bytes.push(0),
            OrderValue::Score(score) => {
                bytes.push(1);
                bytes.extend_from_slice(&score.to_be_bytes());
            }
            OrderValue::Text(text) => {
                bytes.push(2);
                bytes.extend_from_slice(text.as_bytes());
            }
            OrderValue::Number(number) => {
                bytes.push(3);
                bytes.extend_from_slice(&number.to_be_bytes());
            }
        }
        let signature = self.signing.clone().chain_update(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&signature[..SIGNATURE]);
        encode(&bytes)
    }

    /// The cursor that a caller shows with a search of this fingerprint, or what is wrong with it.
    pub fn open(&self, text: &str, fingerprint: Fingerprint) -> Result<Cursor, Violation> {
        let refused = |message: &str, hint: &str| {
            Violation::at("cursor", ViolationCode::InvalidFormat, message).hint(hint)
        };
        let altered = || {
            refused(
                "was altered, cut or not made here",
                "use nextCursor of a response as it is, or null to start",
            )
        };
        let bytes = decode(text).ok_or_else(altered)?;
        let (signed, signature) = bytes.split_last_chunk::<SIGNATURE>().ok_or_else(altered)?;
        let has_signed = |key: &Hmac<Sha256>| {
            let signed = key.clone().chain_update(signed);
            signed.verify_truncated_left(signature).is_ok()
        };
        if !has_signed(&self.signing) && !self.previous.as_ref().is_some_and(has_signed) {
            return Err(altered());
        }
        let (found, cursor) = read(signed).ok_or_else(altered)?;
        if found != fingerprint {
            return Err(refused(
                "belongs to another search",
                "filters and sort must stay the same while paging; start anew with null",
            ));
        }
        Ok(cursor)
    }
}

fn hmac(secret: &Secret) -> Hmac<Sha256> {
    let key = Sha256::digest(secret.expose().as_bytes());
    Hmac::new_from_slice(&key).expect("HMAC takes keys of every length")
}

/// Reads what [`CursorKeys::seal`] has signed.
fn read(signed: &[u8]) -> Option<(Fingerprint, Cursor)> {
    let rest = signed.strip_prefix(&[VERSION])?;
    let (fingerprint, rest) = rest.split_first_chunk::<16>()?;
    let (page, rest) = rest.split_first_chunk::<4>()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let (tag, value) = rest.split_first()?;
    let value = match tag {
        0 if value.is_empty() => OrderValue::Missing,
        1 => OrderValue::Score(u64::from_be_bytes(value.try_into().ok()?)),
        2 => OrderValue::Text(String::from_utf8(value.to_vec()).ok()?),
        3 => OrderValue::Number(i64::from_be_bytes(value.try_into().ok()?)),
        _ => return None,
    };
    let after = OrderPosition {
        value,
        id: Uuid::from_bytes(*id),
    };
    let page = u32::from_be_bytes(*page);
    Some((Fingerprint(*fingerprint), Cursor { after, page }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> CursorKeys {
        CursorKeys::new(&Secret::new(text), None)
    }

    fn cursor(value: OrderValue) -> Cursor {
        let id = Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        Cursor {
            after: OrderPosition { value, id },
            page: 3,
        }
    }

    #[test]
    fn while_the_key_is_changed_all_replicas_read_what_any_of_them_has_signed() {
        let (old, new) = (Secret::new("old"), Secret::new("new"));
        let steps = [
            CursorKeys::new(&old, None),
            CursorKeys::new(&old, Some(&new)),
            CursorKeys::new(&new, Some(&old)),
            CursorKeys::new(&new, None),
        ];
        let (cursor, fingerprint) = (cursor(OrderValue::Number(7)), Fingerprint::of(b"query"));
        let reads = |from: usize, to: usize| {
            let text = steps[from].seal(&cursor, fingerprint);
            steps[to].open(&text, fingerprint).is_ok()
        };
        // Some replicas are one step ahead of others.
        for (from, to) in [
            (0, 0),
            (0, 1),
            (1, 0),
            (1, 1),
            (1, 2),
            (2, 1),
            (2, 2),
            (2, 3),
            (3, 2),
            (3, 3),
        ] {
            assert!(reads(from, to), "step {to} reads what step {from} has signed");
        }
        assert!(!reads(0, 3));
        assert!(!reads(3, 0));
    }

    fn refusal(result: Result<Cursor, Violation>) -> String {
        let violation = result.unwrap_err();
        assert_eq!(
            (violation.field().as_str(), violation.code),
            ("cursor", ViolationCode::InvalidFormat)
        );
        violation.message
    }

    #[test]
    fn a_cursor_is_read_back_as_it_was() {
        let fingerprint = Fingerprint::of(b"search");
        for value in [
            OrderValue::Missing,
            OrderValue::Score(u64::MAX),
            OrderValue::Text(String::new()),
            OrderValue::Text("müller 株式会社".into()),
            OrderValue::Number(i64::MIN),
        ] {
            let cursor = cursor(value);
            let text = key("k").seal(&cursor, fingerprint);
            assert_eq!(key("k").open(&text, fingerprint), Ok(cursor));
        }
    }

    #[test]
    fn every_flipped_bit_every_cut_and_every_addition_is_refused() {
        let (key, fingerprint) = (key("k"), Fingerprint::of(b"search"));
        let bytes = decode(&key.seal(&cursor(OrderValue::Text("acme".into())), fingerprint)).unwrap();
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut altered = bytes.clone();
                altered[index] ^= 1 << bit;
                let message = refusal(key.open(&encode(&altered), fingerprint));
                assert!(message.contains("altered"), "{index} {bit}: {message}");
            }
            refusal(key.open(&encode(&bytes[..index]), fingerprint));
            refusal(key.open(&encode(&bytes[index + 1..]), fingerprint));
        }
        refusal(key.open(&encode(&[bytes.as_slice(), &[0]].concat()), fingerprint));
        for text in ["", "null", "AQ", "{}", "%00"] {
            refusal(key.open(text, fingerprint));
        }
    }

    #[test]
    fn another_key_and_another_search_are_told_apart() {
        let fingerprint = Fingerprint::of(b"search");
        let text = key("one").seal(&cursor(OrderValue::Missing), fingerprint);
        assert!(refusal(key("two").open(&text, fingerprint)).contains("not made here"));
        let other = Fingerprint::of(b"another search");
        assert!(refusal(key("one").open(&text, other)).contains("another search"));
    }
}
