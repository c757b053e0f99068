//! What a client is told whose request has no head that can be read.
//!
//! Hyper answers such a request (HTTP/1) by itself, before any of our code sees it, with an empty body and without an
//! id. There is no hook for that, so the connection watches what is written to it: an answer of hyper's own is the one
//! that bears no `X-Request-Id`, and is written alone. In its place goes what every other error looks like. The
//! connection ends with it, as hyper ends it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderName, HeaderValue, Request};
use hyper::rt::{Read, ReadBufCursor, Write};
use proto::error_code::ErrorCode;
use proto::violation::{Violation, ViolationCode};
use runtime::ambient::Ambient;
use runtime::request_id;

use crate::error::ApiError;
use crate::server::{MAX_HEAD_BYTES, MAX_HEADERS};

/// A connection on which hyper's own refusals become ours.
pub(crate) struct HeadRefusals<S> {
    stream: S,
    ambient: Ambient,
    refusal: Option<Refusal>,
}

/// What is being written instead.
struct Refusal {
    bytes: Vec<u8>,
    written: usize,
    /// Length of what it stands for.
    replaces: usize,
}

impl<S> HeadRefusals<S> {
    pub(crate) const fn new(stream: S, ambient: Ambient) -> Self {
        Self {
            stream,
            ambient,
            refusal: None,
        }
    }
}

impl<S: Read + Unpin> Read for HeadRefusals<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> HeadRefusals<S> {
    fn poll_write_refusal(
        &mut self,
        context: &mut Context<'_>,
        mut refusal: Refusal,
    ) -> Poll<io::Result<usize>> {
        while refusal.written < refusal.bytes.len() {
            let rest = &refusal.bytes[refusal.written..];
            let Poll::Ready(written) = Pin::new(&mut self.stream).poll_write(context, rest) else {
                self.refusal = Some(refusal);
                return Poll::Pending;
            };
            match written? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => refusal.written += written,
            }
        }
        Poll::Ready(Ok(refusal.replaces))
    }

    /// What goes out in place of these bytes, if something does.
    fn refusal_for(&mut self, bytes: &[u8]) -> Option<Refusal> {
        let begun = self.refusal.take();
        begun.or_else(|| {
            let error = own_refusal(bytes)?;
            Some(Refusal {
                bytes: response(error, &self.ambient.uuid_v7().to_string()),
                written: 0,
                replaces: bytes.len(),
            })
        })
    }
}

impl<S: Write + Unpin> Write for HeadRefusals<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.refusal_for(bytes) {
            Some(refusal) => self.poll_write_refusal(context, refusal),
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = parts.iter().find(|part| !part.is_empty());
        match first.and_then(|part| self.refusal_for(part)) {
            Some(refusal) => self.poll_write_refusal(context, refusal),
            None => Pin::new(&mut self.stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// What is wrong with a request whose head is larger than [`MAX_HEAD_BYTES`] or has more than [`MAX_HEADERS`]. Over HTTP/1
/// hyper finds it out, over HTTP/2 [`is_too_large`].
pub(crate) fn too_large() -> Violation {
    let message = "the request's head is too large, or has too many headers";
    Violation::whole(ViolationCode::TooBig, message)
}

/// What is wrong with a request that two readers could take for requests to two hosts.
pub(crate) fn two_hosts() -> Violation {
    Violation::whole(
        ViolationCode::InvalidFormat,
        "the request names more than one host",
    )
}

/// Whether the head is too large.
pub(crate) fn is_too_large<B>(request: &Request<B>) -> bool {
    let bytes = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    let headers = request.headers();
    let address = request
        .uri()
        .path_and_query()
        .map_or(0, |address| address.as_str().len());
    headers.len() > MAX_HEADERS || address + headers.iter().map(bytes).sum::<usize>() > MAX_HEAD_BYTES
}

/// The error that hyper tells with these bytes, if they are an answer of its own.
fn own_refusal(bytes: &[u8]) -> Option<ApiError> {
    let status = bytes.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    let violation = match status {
        b"400" => Violation::whole(
            ViolationCode::InvalidFormat,
            "the request is not well-formed HTTP",
        ),
        b"431" => too_large(),
        _ => return None,
    };
    let is_ours = bytes
        .windows(request_id::HEADER.len())
        .any(|part| part.eq_ignore_ascii_case(request_id::HEADER.as_bytes()));
    let is_whole = bytes.ends_with(b"\r\n\r\n");
    (is_whole && !is_ours).then(|| ApiError::invalid(vec![violation]))
}

fn response(error: ApiError, id: &str) -> Vec<u8> {
    debug_assert_eq!(error.code(), ErrorCode::ValidationError);
    // A struct of texts is always JSON.
    let body = serde_json::to_vec(&error.body(id.to_owned())).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         {}: {id}\r\ncontent-length: {}\r\n\r\n",
        request_id::HEADER,
        body.len(),
    );
    [head.into_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_of_hypers_own_is_replaced() {
        let own = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";
        assert!(own_refusal(own).is_some());
        for other in [
            &b"HTTP/1.1 400 Bad Request\r\nx-request-id: a\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 400 Bad Request\r\nX-Request-Id: a\r\n\r\n",
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 400",
            b"{\"success\":false}",
            b"",
        ] {
            assert!(own_refusal(other).is_none());
        }
    }
}
