//! A connection to the gateway on which anything can be said.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use devstack::Service;
use system_tests::{PATIENCE, World};

/// A connection.
pub(crate) struct Wire {
    pub(crate) stream: TcpStream,
}

/// An answer on it.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) fn to(world: &World) -> Self {
        let address = world.stack.address(Service::Gateway).unwrap();
        let stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream }
    }

    /// Says this. Whether the other side has taken it, as far as that can be seen: not if it has closed.
    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Says this again and again, this often at most, as long as it is taken. How often it was.
    pub(crate) fn repeat(&mut self, bytes: &[u8], at_most: usize) -> usize {
        (0..at_most).take_while(|_| self.say(bytes)).count()
    }

    /// Says one byte after the other, slowly and without end, until the other side closes or answers. What it said.
    pub(crate) fn trickle(&mut self, bytes: impl Iterator<Item = u8>) -> Vec<u8> {
        // The pause is a look whether something was said.
        let pause = Duration::from_millis(100);
        self.stream.set_read_timeout(Some(pause)).unwrap();
        let begun = Instant::now();
        for byte in bytes {
            assert!(begun.elapsed() < PATIENCE, "it goes on for ever");
            if !self.say([byte]) {
                break;
            }
            let mut first = [0];
            match self.stream.peek(&mut first) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                _ => break,
            }
        }
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        self.hear_all()
    }

    /// All that is said until the other side closes.
    pub(crate) fn hear_all(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut part = vec![0; 64 * 1024];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return all,
                Ok(count) => all.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("it is not closed: {error}; after {} bytes", all.len()),
            }
        }
    }

    /// Whether the other side has closed by now.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let mut part = [0; 4096];
        let is_closed = loop {
            match self.stream.read(&mut part) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(error) => break error.kind() != ErrorKind::WouldBlock,
            }
        };
        self.stream.set_nonblocking(false).unwrap();
        is_closed
    }

    /// The answers that are said until the other side closes.
    pub(crate) fn hear_answers(&mut self) -> Vec<Told> {
        answers(&self.hear_all())
    }
}

/// The answers in these bytes. All of ours tell their length.
pub(crate) fn answers(mut bytes: &[u8]) -> Vec<Told> {
    let mut answers = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = header(&head, "content-length").map_or(0, |value| value.parse().unwrap());
        let body = bytes[end + 4..][..length].to_vec();
        bytes = &bytes[end + 4 + length..];
        answers.push(Told { status, head, body });
    }
    answers
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// It is the error of this status and code in the shape of the contract.
    pub(crate) fn is_refusal(&self, status: u16, code: &str) {
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(
            (self.status, body["code"].as_str()),
            (status, Some(code)),
            "{body}"
        );
        assert_eq!(body["requestId"].as_str(), self.header("x-request-id"), "{body}");
    }
}
