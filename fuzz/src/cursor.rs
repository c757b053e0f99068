//! Cursors, as callers bring them back.
//!
//! - What was not sealed here is refused: a text that is opened is the very text that sealing its content makes.
//! - What was sealed is opened as it was, by the same key and for the same search alone; with any one character changed,
//!   or cut anywhere, it is refused.
//! - That holds even for payloads that are signed and yet make no sense, as another version of ours might sign.
//!
//! No fuzzer finds a signature: the first byte says what becomes of the others.

use hmac::{Hmac, KeyInit as _, Mac as _};
use proto::cursor::{VERSION, decode, encode};
use runtime::secret::Secret;
use search::cursor::{Cursor, CursorKeys, Fingerprint};
use search::plan::{OrderPosition, OrderValue};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

const KEY: &str = "the key of these cursors";
const SEARCH: &[u8] = b"a search";

/// Longest text that records are ordered by, in bytes.
const MAX_ORDER_BYTES: usize = 4_096;

/// Tries an input as a cursor, as the payload of one, and as the content of one.
///
/// # Panics
/// If a property does not hold.
pub fn holds(input: &[u8]) {
    let Some((form, rest)) = input.split_first() else {
        return;
    };
    match form {
        b't' => opened_only_if_sealed(&String::from_utf8_lossy(rest)),
        b'p' => opened_only_if_sealed(&signed(
            &[&[VERSION], &Sha256::digest(SEARCH)[..16], rest].concat(),
        )),
        b'r' => opened_only_if_sealed(&signed(rest)),
        _ => read_back(rest),
    }
}

fn opened_only_if_sealed(text: &str) {
    if let Some(bytes) = decode(text) {
        assert_eq!(encode(&bytes), text);
    }
    let (key, search) = (CursorKeys::new(&Secret::new(KEY), None), Fingerprint::of(SEARCH));
    if let Ok(cursor) = key.open(text, search) {
        assert_eq!(key.seal(&cursor, search), text);
    }
}

/// The payload with its right signature.
fn signed(payload: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(&Sha256::digest(KEY)).expect("HMAC takes keys of every length");
    let signature = mac.chain_update(payload).finalize().into_bytes();
    encode(&[payload, &signature[..16]].concat())
}

/// Seals what the input describes; its first four bytes say where to change the text.
fn read_back(input: &[u8]) {
    let Some((at, rest)) = input.split_first_chunk::<4>() else {
        return;
    };
    let Some(cursor) = described(rest) else {
        return;
    };
    let (key, search) = (CursorKeys::new(&Secret::new(KEY), None), Fingerprint::of(SEARCH));
    let text = key.seal(&cursor, search);
    assert_eq!(key.open(&text, search), Ok(cursor));
    assert!(
        CursorKeys::new(&Secret::new("another key"), None)
            .open(&text, search)
            .is_err()
    );
    assert!(key.open(&text, Fingerprint::of(b"another search")).is_err());
    let at = u32::from_be_bytes(*at) as usize % text.len();
    assert!(key.open(&text[..at], search).is_err());
    for other in ["A", "_", "0", "=", ""] {
        let changed = [&text[..at], other, &text[at + 1..]].concat();
        assert!(
            changed == text || key.open(&changed, search).is_err(),
            "{changed}"
        );
    }
}

fn described(input: &[u8]) -> Option<Cursor> {
    let (page, input) = input.split_first_chunk::<4>()?;
    let (id, input) = input.split_first_chunk::<16>()?;
    let (form, input) = input.split_first()?;
    let number = || input.first_chunk::<8>().copied();
    let value = match form % 4 {
        0 => OrderValue::Missing,
        1 => OrderValue::Score(u64::from_be_bytes(number()?)),
        2 => OrderValue::Number(i64::from_be_bytes(number()?)),
        _ => {
            let mut text = String::from_utf8_lossy(input).into_owned();
            text.truncate(text.floor_char_boundary(MAX_ORDER_BYTES));
            OrderValue::Text(text)
        }
    };
    let id = Uuid::from_bytes(*id);
    Some(Cursor {
        after: OrderPosition { value, id },
        page: u32::from_be_bytes(*page),
    })
}
