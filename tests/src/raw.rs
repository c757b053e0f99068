//! Requests that no client would send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::documented::{self, Exchange};
use crate::world::World;

/// An answer to such a request.
#[derive(Debug)]
pub struct RawAnswer {
    /// HTTP status.
    pub status: u16,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as it came, without the framing.
    pub body: Vec<u8>,
}

/// Sends these bytes on a connection of their own and reads the answer until the gateway closes it. Ask for
/// `Connection: close`.
///
/// # Panics
/// If what comes back is no HTTP/1.1 answer.
#[must_use]
pub fn raw(world: &World, request: &[u8]) -> RawAnswer {
    let base = &world.environment.base_url;
    let address = base
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap_or_default();
    let mut connection = TcpStream::connect(address).expect("the gateway listens");
    connection
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a time-out can be set");
    // The gateway may answer and close before it has read all of it.
    let _ = connection.write_all(request);
    let mut bytes = Vec::new();
    let _ = connection.read_to_end(&mut bytes);
    let answer = parse(&bytes);
    if let Some((method, path)) = asked(request) {
        let headers = answer.headers.iter();
        documented::hold(
            base,
            &Exchange {
                method,
                path,
                status: answer.status,
                headers: headers
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect(),
                body: &answer.body,
            },
        );
    }
    answer
}

/// The method and the path, if the first line has them.
fn asked(request: &[u8]) -> Option<(&str, &str)> {
    let line = request.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let path = target.split('?').next()?;
    (version == "HTTP/1.1" && path.starts_with('/')).then_some((method, path))
}

fn parse(bytes: &[u8]) -> RawAnswer {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|code| code.parse().ok());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let chunked = headers
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked { dechunk(rest) } else { rest.to_vec() };
    RawAnswer {
        status: status.expect("an answer has a status"),
        headers,
        body,
    }
}

fn dechunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size =
            usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16).expect("a chunk has a size");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}

impl RawAnswer {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The answer, if it is an error of this status and code in the shape of the contract.
    ///
    /// # Panics
    /// If it is not.
    #[must_use]
    pub fn refused(self, status: u16, code: &str) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        let body = self.json();
        assert_eq!(body["success"], false, "{body}");
        assert_eq!(body["code"], code, "{body}");
        assert_eq!(body["requestId"].as_str(), self.header("x-request-id"), "{body}");
        self
    }
}
