//! HTTP/2 by hand: frames that no client library would send.

use std::io::Read as _;

use system_tests::{Account, World};

use crate::wire::Wire;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;

/// Of a SETTINGS or PING frame: it answers one.
pub(crate) const ACK: u8 = 1;
/// The stream ends.
pub(crate) const END_STREAM: u8 = 1;
/// The head ends.
pub(crate) const END_HEADERS: u8 = 4;

/// Largest payload of a frame unless agreed otherwise.
pub(crate) const MAX_PAYLOAD: usize = 16 * 1024;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const INITIAL_WINDOW_SIZE: u16 = 4;

/// A frame as bytes.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The head of a request as a block of HPACK, without its tables.
pub(crate) fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let pseudo = [
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "x"),
    ];
    pseudo
        .iter()
        .chain(headers)
        .flat_map(|(name, value)| [vec![0], text(name.as_bytes()), text(value.as_bytes())].concat())
        .collect()
}

/// The head of this account's search, whose body is still to come.
pub(crate) fn search_head(account: &Account) -> Vec<u8> {
    let headers = [
        ("x-api-key", account.key.as_str()),
        ("content-type", "application/json"),
    ];
    head("POST", "/api/v1/companies/search", &headers)
}

/// A text of HPACK.
pub(crate) fn text(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if text.len() < 127 {
        bytes.push(u8::try_from(text.len()).unwrap());
    } else {
        bytes.push(127);
        let mut rest = text.len() - 127;
        while rest >= 128 {
            bytes.push(u8::try_from(rest % 128 + 128).unwrap());
            rest /= 128;
        }
        bytes.push(u8::try_from(rest).unwrap());
    }
    bytes.extend(text);
    bytes
}

/// A frame that came back.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) payload: Vec<u8>,
}

/// A connection with HTTP/2.
pub(crate) struct Http2 {
    pub(crate) wire: Wire,
}

impl Http2 {
    /// One whose streams may be answered with so many bytes before we ask for more.
    pub(crate) fn to(world: &World, window: u32) -> Self {
        let mut wire = Wire::to(world);
        let settings = [&INITIAL_WINDOW_SIZE.to_be_bytes()[..], &window.to_be_bytes()].concat();
        assert!(wire.say([PREFACE, &frame(SETTINGS, 0, 0, &settings)].concat()));
        Self { wire }
    }

    /// The same connection, for whoever hears while others speak.
    pub(crate) fn hearing(&self) -> Self {
        let stream = self.wire.stream.try_clone().unwrap();
        Self {
            wire: Wire { stream },
        }
    }

    /// The next frame. None: the connection is closed.
    pub(crate) fn next(&mut self) -> Option<Heard> {
        let mut head = [0; 9];
        self.read(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.read(&mut payload)?;
        Some(Heard {
            kind: head[3],
            flags: head[4],
            payload,
        })
    }

    fn read(&mut self, bytes: &mut [u8]) -> Option<()> {
        use std::io::ErrorKind::{ConnectionReset, UnexpectedEof};
        match self.wire.stream.read_exact(bytes) {
            Ok(()) => Some(()),
            Err(error) if [ConnectionReset, UnexpectedEof].contains(&error.kind()) => None,
            Err(error) => panic!("it is not closed: {error}"),
        }
    }

    /// Reads until the connection is closed, answering pings on the way. The reason that was told.
    pub(crate) fn reason_of_end(&mut self) -> Option<u32> {
        let mut reason = None;
        while let Some(heard) = self.next() {
            match heard.kind {
                GOAWAY => {
                    let code = heard.payload[4..8].try_into().unwrap();
                    reason = Some(u32::from_be_bytes(code));
                }
                PING if heard.flags & ACK == 0 => {
                    let _ = self.wire.say(frame(PING, ACK, 0, &heard.payload));
                }
                _ => {}
            }
        }
        reason
    }
}
