//! Rows as the document store keeps them: each one compressed by itself, with zstd.
//!
//! A hit needs its own row and no other, and a row alone is too short to be compressed well. So each kind has a
//! dictionary of what its rows have in common; the dictionaries are prepared once, and each thread keeps its contexts of
//! zstd, since to make one takes longer than to unpack a row.
//!
//! # What is stored
//! A byte that tells how, then
//! - `0`: the row as it is, where nothing is gained by compressing it;
//! - `1`: a frame of zstd that tells the size of its content, without the magic number that all frames begin with, the
//!   dictionary's id and a checksum: the index has a checksum of each of its files.
//!
//! # The dictionaries
//! They are made of the rows of the sample, its made-up people included, by
//! `cargo test --workspace --lib write_the_dictionaries -- --ignored`. Another dictionary makes rows unreadable: it
//! comes with another [`FORMAT`](super::place::FORMAT), which a test holds.
//!
//! Of dictionaries of 4 to 64 KiB, trained on every other row of the sample, the largest were the best for the rest and
//! took no more time: 64 KiB make a company of 666 bytes 215, 32 KiB 225, 4 KiB 272; a person of 262 bytes 114, 117 and
//! 135. So was level 3 among the levels: level 1 makes a seventh more of a company, level 6 takes three times as long
//! to save 2 %.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::sync::LazyLock;

use bytes::Bytes;
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

use crate::plan::Kind;

const COMPANIES: &[u8] = include_bytes!("../../data/company_rows.dict");
const PEOPLE: &[u8] = include_bytes!("../../data/person_rows.dict");

const LEVEL: i32 = 3;

/// Bytes of the longest row that is compressed; what claims to be longer is damaged. No record that keeps the rules of
/// imports has as many.
const MAX_LEN: usize = 1024 * 1024;

const AS_IT_IS: u8 = 0;
const COMPRESSED: u8 = 1;

/// First bytes of each frame of zstd.
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// A dictionary, prepared for both ways.
struct Dictionary {
    encoder: EncoderDictionary<'static>,
    decoder: DecoderDictionary<'static>,
}

impl Dictionary {
    fn prepare(dictionary: &[u8]) -> Self {
        Self {
            encoder: EncoderDictionary::copy(dictionary, LEVEL),
            decoder: DecoderDictionary::copy(dictionary),
        }
    }

    fn of(kind: Kind) -> &'static Self {
        static OF_COMPANIES: LazyLock<Dictionary> = LazyLock::new(|| Dictionary::prepare(COMPANIES));
        static OF_PEOPLE: LazyLock<Dictionary> = LazyLock::new(|| Dictionary::prepare(PEOPLE));
        match kind {
            Kind::Company => &OF_COMPANIES,
            Kind::Person => &OF_PEOPLE,
        }
    }
}

/// Prepares the dictionaries, which whoever reads or writes the first row would else wait for.
pub(super) fn prepare() {
    for kind in [Kind::Company, Kind::Person] {
        let _ = Dictionary::of(kind);
    }
}

thread_local! {
    static COMPRESSOR: RefCell<Compressor<'static>> = RefCell::default();
    static DECOMPRESSOR: RefCell<Decompressor<'static>> = RefCell::default();
}

/// What is stored of a row.
pub(super) fn pack(kind: Kind, row: &[u8]) -> Vec<u8> {
    if row.len() <= MAX_LEN
        && let Ok(frame) = compress(kind, row)
        && let Some(content) = frame.strip_prefix(&MAGIC)
        && content.len() < row.len()
    {
        return told(COMPRESSED, content);
    }
    told(AS_IT_IS, row)
}

/// The row that was stored. Fails on what [`pack`] does not make: not on every damage, never with more than
/// [`MAX_LEN`] bytes.
pub(super) fn unpack(kind: Kind, packed: &[u8]) -> io::Result<Bytes> {
    match packed.split_first() {
        Some((&AS_IT_IS, row)) => Ok(Bytes::copy_from_slice(row)),
        Some((&COMPRESSED, content)) => decompress(kind, &[&MAGIC, content].concat()).map(Bytes::from),
        _ => Err(io::Error::new(
            ErrorKind::InvalidData,
            "a row is packed in an unknown way",
        )),
    }
}

fn told(how: u8, content: &[u8]) -> Vec<u8> {
    [&[how], content].concat()
}

fn compress(kind: Kind, row: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.set_prepared_dictionary(&Dictionary::of(kind).encoder)?;
        compressor.include_dictid(false)?;
        compressor.compress(row)
    })
}

fn decompress(kind: Kind, frame: &[u8]) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        decompressor.set_prepared_dictionary(&Dictionary::of(kind).decoder)?;
        decompressor.decompress(frame, MAX_LEN)
    })
}

#[cfg(test)]
mod tests;
