//! Where lines come from: files, plain or gzip, and standard input.
//!
//! A source is read as bytes: a line may be longer than memory should hold, or no text at all, and the lines after it
//! are still wanted.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

use crate::failure::Failure;

/// Longest line that is read, in bytes.
pub(crate) const LONGEST_LINE: usize = 1024 * 1024;

/// First bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// First bytes of some UTF-8 files.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The content, decompressed if it is gzip: told by its first bytes, not by a name.
pub(crate) fn decompressed<R: Read + Send + 'static>(input: R) -> io::Result<Box<dyn Read + Send>> {
    let mut input = BufReader::new(input);
    Ok(if input.fill_buf()?.starts_with(&GZIP_MAGIC) {
        Box::new(MultiGzDecoder::new(input))
    } else {
        Box::new(input)
    })
}

/// An open source.
pub(crate) struct Source {
    /// As the user named it; `-` is standard input.
    pub(crate) name: String,
    /// Its size in bytes, as stored; none if nobody knows.
    pub(crate) size: Option<u64>,
    input: Box<dyn Read + Send>,
}

impl Source {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        let name = name.to_owned();
        if name == "-" {
            return Ok(Self {
                name,
                size: None,
                input: Box::new(io::stdin()),
            });
        }
        let opened = File::open(&name).and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((about, _)) if about.is_dir() => {
                Err(Failure::Refused(format!("{name}: is a folder, not a file")))
            }
            Ok((about, file)) => Ok(Self {
                size: about.is_file().then_some(about.len()),
                name,
                input: Box::new(file),
            }),
            Err(error) => Err(Failure::File {
                path: name,
                error,
                hint: "give the path of a JSON Lines file",
            }),
        }
    }

    /// One that is made while it is read; nobody knows its size.
    pub(crate) fn made(name: &str, input: impl Read + Send + 'static) -> Self {
        Self {
            name: name.to_owned(),
            size: None,
            input: Box::new(input),
        }
    }

    /// Its lines; the bytes read, as stored, are added to the counter.
    pub(crate) fn lines(self, counter: Arc<AtomicU64>) -> io::Result<Lines<BufReader<Box<dyn Read + Send>>>> {
        let input = Counted {
            input: self.input,
            counter,
        };
        Ok(Lines::new(BufReader::with_capacity(
            256 * 1024,
            decompressed(input)?,
        )))
    }
}

struct Counted {
    input: Box<dyn Read + Send>,
    counter: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.counter.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The lines of an input, without their ends (LF or CRLF) and without a byte order mark before the first.
pub(crate) struct Lines<R> {
    input: R,
    number: u64,
    buffer: Vec<u8>,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Its bytes; none if it is longer than [`LONGEST_LINE`].
    pub(crate) bytes: Option<&'a [u8]>,
}

impl<R: BufRead> Lines<R> {
    /// The lines of this input.
    pub(crate) const fn new(input: R) -> Self {
        Self {
            input,
            number: 0,
            buffer: Vec::new(),
        }
    }

    /// The next line; none at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let limit = LONGEST_LINE as u64 + 2;
        if self
            .input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut self.buffer)?
            == 0
        {
            return Ok(None);
        }
        self.number += 1;
        if self.buffer.last() != Some(&b'\n') && self.buffer.len() as u64 == limit {
            self.skip_rest()?;
        }
        let mut bytes = self.buffer.as_slice();
        if self.number == 1 {
            bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        }
        bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        Ok(Some(Line {
            number: self.number,
            bytes: (bytes.len() <= LONGEST_LINE).then_some(bytes),
        }))
    }

    /// Reads over the rest of a line without keeping it.
    fn skip_rest(&mut self) -> io::Result<()> {
        loop {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                return Ok(());
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(available.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn all(input: &[u8]) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut lines = Lines::new(BufReader::with_capacity(7, input));
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.number, line.bytes.map(<[u8]>::to_vec)));
        }
        all
    }

    #[test]
    fn every_end_of_line_and_a_mark_before_the_first_are_taken_off() {
        let line = |number, text: &str| (number, Some(text.as_bytes().to_vec()));
        assert_eq!(
            all(b"\xef\xbb\xbfa\r\nb\n\n\xef\xbb\xbfc"),
            [line(1, "a"), line(2, "b"), line(3, ""), line(4, "\u{feff}c")]
        );
        assert_eq!(all(b""), []);
        assert_eq!(all(b"\n"), [line(1, "")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_is_read() {
        let longest = vec![b'x'; LONGEST_LINE];
        for (extra, fits) in [(0, true), (1, false), (2, false), (3_000_000, false)] {
            let mut input = longest.clone();
            input.resize(LONGEST_LINE + extra, b'x');
            input.extend_from_slice(b"\r\nnext\n");
            let lines = all(&input);
            assert_eq!(lines.len(), 2, "{extra}");
            assert_eq!(lines[0].1.is_some(), fits, "{extra}");
            assert_eq!(lines[1], (2, Some(b"next".to_vec())));
        }
    }

    #[test]
    fn gzip_is_told_by_its_first_bytes() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"one\ntwo\n").unwrap();
        let mut twice = packed.finish().unwrap();
        twice.extend_from_within(..);
        for (input, text) in [
            (twice, "one\ntwo\none\ntwo\n"),
            (b"plain".to_vec(), "plain"),
            (Vec::new(), ""),
        ] {
            let mut read = String::new();
            decompressed(io::Cursor::new(input))
                .unwrap()
                .read_to_string(&mut read)
                .unwrap();
            assert_eq!(read, text);
        }
    }
}
