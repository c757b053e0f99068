//! Where lines come from: files, plain or gzip, and standard input.

use std::io::{self, BufRead as _, BufReader, Read};

use flate2::read::MultiGzDecoder;

/// First bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The content, decompressed if it is gzip: told by its first bytes, not by a name.
pub(crate) fn decompressed<R: Read + Send + 'static>(input: R) -> io::Result<Box<dyn Read + Send>> {
    let mut input = BufReader::new(input);
    Ok(if input.fill_buf()?.starts_with(&GZIP_MAGIC) {
        Box::new(MultiGzDecoder::new(input))
    } else {
        Box::new(input)
    })
}
