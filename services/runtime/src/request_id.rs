//! The id of the request being worked on, known to everything that runs for it: log lines, calls to other processes.

use std::future::Future;

/// Metadata and header name.
pub const HEADER: &str = "x-request-id";

/// Most characters of an id.
pub const MAX_CHARS: usize = 128;

tokio::task_local! {
    static CURRENT: String;
}

/// Runs the future with this id as the current one.
pub async fn scope<F: Future>(id: String, future: F) -> F::Output {
    CURRENT.scope(id, future).await
}

/// The current id, if there is one.
#[must_use]
pub fn current() -> Option<String> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Whether a caller's own id may be used: 1-128 characters of `[A-Za-z0-9._-]`.
#[must_use]
pub fn is_valid(id: &str) -> bool {
    (1..=MAX_CHARS).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}
