//! What goes on on a connection, and until when that may go on.
//!
//! | what | until when | then |
//! |---|---|---|
//! | nothing is asked | `idle_timeout` after the last answer was taken | it is closed, in good order |
//! | a head has begun (HTTP/1.1) | `head_timeout` after its first byte | the same |
//! | requests are worked on | their own deadline, which is not the connection's matter | |
//! | an answer is given | `answer_timeout` later it has to be taken: written to the socket, or the stream reset | it is cut off |
//!
//! Over HTTP/2 a head that does not end keeps all else off its connection, so that the first line holds for it. That
//! clients are still there is asked by pings besides.
//!
//! An answer has been taken when the last of its bytes is dropped: hyper and h2 keep them until they are written.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;

use super::Timeouts;
use crate::waiting::{Place, Waiting};

/// How long a connection that is to end in good order may take for it once nothing goes on on it any more.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What every connection with HTTP/2 begins with, as far as it tells it from HTTP/1.1.
const HTTP2_PREFACE: &[u8] = b"PRI";

/// What goes on on one connection. Cheap to clone; clones share it.
#[derive(Clone)]
pub(super) struct Activity(Arc<Shared>);

struct Shared {
    timeouts: Timeouts,
    /// The connections on which nothing is asked.
    idle: Waiting,
    /// That this one is to give way to another.
    gives_way: Arc<Notify>,
    state: Mutex<State>,
}

struct State {
    /// The requests whose answer has not been taken, and since when it could have been.
    requests: BTreeMap<u64, Option<Instant>>,
    begun: u64,
    is_http2: Option<bool>,
    head_begun_at: Option<Instant>,
    idle_since: Instant,
    idle_place: Option<Place>,
    leaves_since: Option<Instant>,
}

impl Activity {
    /// A connection that was just accepted.
    pub(super) fn new(timeouts: Timeouts, idle: Waiting) -> Self {
        let gives_way = Arc::new(Notify::new());
        let state = State {
            requests: BTreeMap::new(),
            begun: 0,
            is_http2: None,
            head_begun_at: None,
            idle_since: Instant::now(),
            idle_place: Some(idle.begin(Arc::clone(&gives_way))),
            leaves_since: None,
        };
        Self(Arc::new(Shared {
            timeouts,
            idle,
            gives_way,
            state: Mutex::new(state),
        }))
    }

    /// Bytes have come in; none at the end.
    pub(super) fn heard(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut state = self.lock();
        let is_http2 = *state
            .is_http2
            .get_or_insert_with(|| bytes.starts_with(HTTP2_PREFACE));
        if !is_http2 && state.requests.is_empty() {
            state.head_begun_at.get_or_insert_with(Instant::now);
        }
    }

    /// A head has come in whole.
    pub(super) fn begin_request(&self) -> Asked {
        let mut state = self.lock();
        let number = state.begun;
        state.begun += 1;
        state.requests.insert(number, None);
        state.head_begun_at = None;
        let idle_place = state.idle_place.take();
        drop(state);
        drop(idle_place);
        Asked {
            activity: self.clone(),
            number,
        }
    }

    /// The connection is to end as soon as nothing goes on on it any more.
    pub(super) fn leave(&self) {
        self.lock().leaves_since.get_or_insert_with(Instant::now);
    }

    /// Until when what goes on may go on; later if something else goes on by then. None: for as long as it takes.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        let timeouts = self.0.timeouts;
        let state = self.lock();
        if !state.requests.is_empty() {
            let longest = state.requests.values().flatten().min();
            return longest.map(|since| *since + timeouts.answer);
        }
        if let Some(since) = state.leaves_since {
            return Some(since.max(state.idle_since) + LAST_WORDS);
        }
        let idle = state.idle_since + timeouts.idle;
        let head = state.head_begun_at.map(|at| at + timeouts.head);
        Some(head.map_or(idle, |head| head.min(idle)))
    }

    /// Whether requests are under way.
    pub(super) fn is_busy(&self) -> bool {
        !self.lock().requests.is_empty()
    }

    /// Resolves when the connection is to give way to another.
    pub(super) async fn gives_way(&self) {
        self.0.gives_way.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request, until its answer is taken or nobody wants it any more.
pub(super) struct Asked {
    activity: Activity,
    number: u64,
}

impl Asked {
    /// Its answer is there.
    pub(super) fn answered<B>(self, body: B) -> Answer<B> {
        if let Some(since) = self.activity.lock().requests.get_mut(&self.number) {
            *since = Some(Instant::now());
        }
        Answer {
            body,
            asked: Arc::new(self),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        state.requests.remove(&self.number);
        if state.requests.is_empty() {
            let shared = &self.activity.0;
            state.idle_since = Instant::now();
            state.idle_place = Some(shared.idle.begin(Arc::clone(&shared.gives_way)));
        }
    }
}

/// An answer whose bytes tell when they are gone.
pub(super) struct Answer<B> {
    body: B,
    asked: Arc<Asked>,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Answer<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        let untaken = |bytes| {
            let asked = Arc::clone(&self.asked);
            Bytes::from_owner(Untaken { bytes, _asked: asked })
        };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(untaken))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct Untaken {
    bytes: Bytes,
    _asked: Arc<Asked>,
}

impl AsRef<[u8]> for Untaken {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    const TIMEOUTS: Timeouts = Timeouts {
        head: Duration::from_secs(10),
        idle: Duration::from_secs(100),
        answer: Duration::from_secs(1_000),
    };

    fn connection() -> (Activity, Waiting) {
        let idle = Waiting::default();
        (Activity::new(TIMEOUTS, idle.clone()), idle)
    }

    /// How long it may go on as it is, in whole seconds.
    fn lasts(activity: &Activity) -> Option<u64> {
        let left = |at: Instant| at.duration_since(Instant::now()).as_secs_f64().round();
        activity
            .ends_at()
            .map(|at| Duration::from_secs_f64(left(at)).as_secs())
    }

    #[test]
    fn a_head_has_less_time_than_silence_and_a_new_one_its_own() {
        let (activity, _) = connection();
        assert_eq!(lasts(&activity), Some(100));
        activity.heard(b"P");
        assert_eq!(lasts(&activity), Some(10));
        let asked = activity.begin_request();
        assert_eq!(lasts(&activity), None);
        // What comes now is the body, or waits for its turn.
        activity.heard(b"{}");
        drop(asked);
        assert_eq!(lasts(&activity), Some(100));
        activity.heard(b"GET");
        assert_eq!(lasts(&activity), Some(10));
    }

    #[test]
    fn frames_of_http2_are_no_head() {
        let (activity, _) = connection();
        activity.heard(b"PRI * HTTP/2.0");
        activity.heard(b"\0\0\0\x04\0\0\0\0\0");
        assert_eq!(lasts(&activity), Some(100));
    }

    #[tokio::test]
    async fn an_answer_is_taken_when_the_last_of_its_bytes_is() {
        let (activity, idle) = connection();
        let (first, second) = (activity.begin_request(), activity.begin_request());
        assert_eq!((lasts(&activity), idle.count()), (None, 0));
        let answer = first.answered(Full::new(Bytes::from_static(b"answer")));
        assert_eq!(answer.size_hint().exact(), Some(6));
        assert_eq!(lasts(&activity), Some(1_000));
        let mut bytes = answer.collect().await.unwrap().to_bytes();
        let part = bytes.split_to(2);
        drop(bytes);
        assert_eq!(lasts(&activity), Some(1_000));
        drop(part);
        assert_eq!(lasts(&activity), None);
        drop(second);
        assert_eq!((lasts(&activity), idle.count()), (Some(100), 1));
    }

    #[test]
    fn who_leaves_ends_what_goes_on_and_no_more() {
        let (activity, idle) = connection();
        let asked = activity.begin_request();
        assert!(!idle.end_longest(), "it is busy");
        activity.leave();
        assert_eq!((lasts(&activity), activity.is_busy()), (None, true));
        drop(asked);
        assert_eq!(lasts(&activity), Some(LAST_WORDS.as_secs()));
        assert!(activity.gives_way().now_or_never().is_none());
        assert!(idle.end_longest());
        assert!(activity.gives_way().now_or_never().is_some());
    }
}
