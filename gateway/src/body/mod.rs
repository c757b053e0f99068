//! Bodies of requests: read within bounds, then parsed with every problem told.
//!
//! A body is bounded, and so is how many are waited for at once: together they take up [`MAX_HELD_BYTES`] at most. Where
//! there is no room for one more, the one that has been under way for longest is given up
//! ([`crate::waiting`]): a client that sends what it has is never that one.

pub mod json;
pub mod key_body;
pub mod property;
pub mod search_body;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use proto::error_code::ErrorCode;
use proto::violation::{Violation, ViolationCode};
use tokio::sync::Notify;

use crate::error::ApiError;
use crate::upstream::Deadline;
use crate::waiting::Waiting;

/// Most bytes that all bodies under way take up together.
const MAX_HELD_BYTES: usize = 1 << 30;

/// Fewest and most bodies under way at once, however large one may be.
const UNDER_WAY: (usize, usize) = (16, 10_000);

/// Reads bodies. Cheap to clone; clones share the room.
#[derive(Clone, Debug)]
pub struct Bodies {
    max_bytes: usize,
    max_under_way: usize,
    under_way: Waiting,
}

impl Bodies {
    /// Reads bodies of at most so many bytes.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        let (fewest, most) = UNDER_WAY;
        Self {
            max_bytes,
            max_under_way: (MAX_HELD_BYTES / max_bytes.max(1)).clamp(fewest, most),
            under_way: Waiting::default(),
        }
    }

    /// Reads a body. One that is not empty has to be declared as JSON; without one there is nothing to declare.
    pub async fn read(&self, headers: &HeaderMap, body: Body, deadline: Deadline) -> Result<Bytes, ApiError> {
        if self.under_way.count() >= self.max_under_way && self.under_way.end_longest() {
            metrics::counter!(crate::meters::BODIES_DISPLACED).increment(1);
        }
        let gives_way = Arc::new(Notify::new());
        let _place = self.under_way.begin(Arc::clone(&gives_way));
        tokio::select! {
            biased;
            bytes = read(headers, body, self.max_bytes, deadline) => bytes,
            () = gives_way.notified() => Err(ApiError::new(ErrorCode::Unavailable)),
        }
    }
}

async fn read(
    headers: &HeaderMap,
    mut body: Body,
    max_bytes: usize,
    deadline: Deadline,
) -> Result<Bytes, ApiError> {
    // What the head says already is not waited for.
    let declared = body.size_hint().lower();
    let refused = if declared > max_bytes as u64 {
        Some(ErrorCode::PayloadTooLarge)
    } else if declared > 0 && !is_json(headers) {
        Some(ErrorCode::UnsupportedMediaType)
    } else {
        None
    };
    if let Some(code) = refused {
        // Who asks before sending sends nothing after a refusal; reading would tell them to go on.
        if !headers.contains_key(EXPECT) {
            drain(body, deadline).await;
        }
        return Err(ApiError::new(code));
    }
    let reading = deadline.bound(Limited::new(&mut body, max_bytes).collect());
    let bytes = match reading.await {
        Some(Ok(collected)) => collected.to_bytes(),
        Some(Err(error)) if error.is::<LengthLimitError>() => {
            drain(body, deadline).await;
            return Err(ApiError::new(ErrorCode::PayloadTooLarge));
        }
        Some(Err(_)) => return Err(ApiError::invalid(vec![broken_off()])),
        None => return Err(ApiError::new(ErrorCode::Timeout)),
    };
    if bytes.is_empty() || is_json(headers) {
        Ok(bytes)
    } else {
        Err(ApiError::new(ErrorCode::UnsupportedMediaType))
    }
}

/// Most that is read of a body only to throw it away, and longest that it is read for.
const MAX_DRAINED_BYTES: usize = 16 << 20;
const MAX_DRAINED_TIME: Duration = Duration::from_secs(1);

/// Reads the rest of a body that is refused: a caller that is still sending reads no answer, and a connection with
/// half a request on it serves no other. One that goes on for too long loses its connection.
async fn drain(mut body: Body, deadline: Deadline) {
    let mut drained = 0;
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > MAX_DRAINED_BYTES {
                return;
            }
        }
    };
    // What matters has been decided already, whether or not the time suffices.
    let _ = deadline.at_most(MAX_DRAINED_TIME).bound(reading).await;
}

/// The caller that sent half a body is hardly there to read this; an HTTP/2 one may be.
fn broken_off() -> Violation {
    Violation::whole(ViolationCode::InvalidJson, "the body broke off")
}

/// Declared once, as `application/json` with whatever parameters, and not compressed.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(media_type), None) = (types.next(), types.next()) else {
        return false;
    };
    let essence = media_type
        .to_str()
        .ok()
        .and_then(|text| text.split(';').next())
        .map(str::trim);
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
        && headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::*;

    async fn code(headers: &[(http::HeaderName, &'static str)], body: Body) -> Option<ErrorCode> {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        let mut map = HeaderMap::new();
        headers.for_each(|(name, value)| {
            map.append(name, value);
        });
        let deadline = Deadline::after(Duration::from_mins(1));
        read(&map, body, 10, deadline)
            .await
            .err()
            .map(|error| error.code())
    }

    #[tokio::test]
    async fn only_json_is_read() {
        for accepted in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json ;x",
        ] {
            assert_eq!(
                code(&[(CONTENT_TYPE, accepted)], Body::from("{}")).await,
                None,
                "{accepted}"
            );
        }
        let unsupported = Some(ErrorCode::UnsupportedMediaType);
        for refused in [
            "",
            "text/plain",
            "application/jsonx",
            "application/json-seq",
            "application",
            "text/json",
        ] {
            assert_eq!(
                code(&[(CONTENT_TYPE, refused)], Body::from("{}")).await,
                unsupported,
                "{refused}"
            );
        }
        assert_eq!(code(&[], Body::from("{}")).await, unsupported);
        let twice = [(CONTENT_TYPE, "application/json"), (CONTENT_TYPE, "text/plain")];
        assert_eq!(code(&twice, Body::from("{}")).await, unsupported);
        let compressed = [(CONTENT_TYPE, "application/json"), (CONTENT_ENCODING, "gzip")];
        assert_eq!(code(&compressed, Body::from("{}")).await, unsupported);
    }

    #[tokio::test]
    async fn where_there_is_no_body_nothing_has_to_be_declared() {
        assert_eq!(code(&[], Body::empty()).await, None);
        assert_eq!(code(&[(CONTENT_TYPE, "text/plain")], Body::empty()).await, None);
    }

    #[tokio::test]
    async fn a_large_body_is_refused_with_and_without_its_length_known() {
        let json = [(CONTENT_TYPE, "application/json")];
        assert_eq!(code(&json, Body::from("0123456789")).await, None);
        assert_eq!(
            code(&json, Body::from("0123456789a")).await,
            Some(ErrorCode::PayloadTooLarge)
        );
        let chunks = futures::stream::iter(["01234", "56789", "a"]).map(Ok::<_, std::convert::Infallible>);
        assert_eq!(
            code(&json, Body::from_stream(chunks)).await,
            Some(ErrorCode::PayloadTooLarge)
        );
    }

    #[tokio::test]
    async fn where_there_is_no_more_room_the_longest_under_way_is_given_up() {
        let bodies = Bodies::new(MAX_HELD_BYTES);
        let (room, _) = UNDER_WAY;
        let later = Deadline::after(Duration::from_mins(1));
        let read = async |bodies: Bodies, body| bodies.read(&HeaderMap::new(), body, later).await;
        let endless =
            || Body::from_stream(futures::stream::pending::<Result<Bytes, std::convert::Infallible>>());
        let mut waiting: Vec<_> = (0..room)
            .map(|_| Box::pin(read(bodies.clone(), endless())))
            .collect();
        for body in &mut waiting {
            assert!(body.now_or_never().is_none());
        }
        assert!(
            read(bodies.clone(), Body::empty())
                .now_or_never()
                .unwrap()
                .is_ok()
        );
        let given_up: Vec<_> = waiting
            .iter_mut()
            .map(|body| body.now_or_never().map(|read| read.unwrap_err().code()))
            .collect();
        assert_eq!(given_up[0], Some(ErrorCode::Unavailable));
        assert!(given_up[1..].iter().all(Option::is_none));
    }

    use futures::{FutureExt as _, StreamExt as _};
}
