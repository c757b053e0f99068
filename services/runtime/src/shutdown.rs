//! The end of a process: told to stop, it drains, finishes what runs, and gives up only when the grace time is over.
//!
//! - The first SIGTERM or SIGINT begins to drain: not ready any more, no new work, running work goes on.
//! - A second one, or the end of the grace time, aborts: what still runs is dropped, open streams too. The grace time
//!   counts from the first.
//! - Every task is started by [`Shutdown::spawn`], so that the end waits for all of them. Work that writes runs in such
//!   a task: a caller that goes away drops its own future, never the work.

use std::future::Future;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};
use tokio_util::task::TaskTracker;

/// Sent to who writes beyond the limit of files' sizes; its number on Linux and macOS.
const SIGXFSZ: i32 = 25;

/// The state of a process's end. Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    failed: CancellationToken,
    tasks: TaskTracker,
}

impl Shutdown {
    /// Nothing has been told to stop.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a task that the end waits for.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the tracked way to start a task"
    )]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        tokio::spawn(self.tasks.track_future(future))
    }

    /// Starts a task that the process can't do without: if it panics, or returns before the process drains, the
    /// process ends with a failure.
    pub fn spawn_critical<F>(&self, name: &'static str, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (drain, failed) = (self.drain.clone(), self.failed.clone());
        let task = self.spawn(future);
        self.spawn(async move {
            let result = task.await;
            if result.is_err() || !drain.is_cancelled() {
                tracing::error!(
                    task.name = name,
                    "a task that the process needs has ended: stopping"
                );
                failed.cancel();
                drain.cancel();
            }
        });
    }

    /// Begins to drain, as a signal does.
    pub fn begin(&self) {
        self.drain.cancel();
    }

    /// Whether draining has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// Resolves when draining begins.
    pub fn draining(&self) -> WaitForCancellationFuture<'_> {
        self.drain.cancelled()
    }

    /// A token that is cancelled when draining begins.
    #[must_use]
    pub fn drain_token(&self) -> CancellationToken {
        self.drain.clone()
    }

    /// Begins to drain at the first SIGTERM or SIGINT. A file that reaches the limit of files' sizes is no reason to end: as
    /// on a full disk, the write fails.
    pub(crate) fn listen_to_signals(&self) -> std::io::Result<()> {
        // Nobody has to listen for it to be without effect.
        drop(signal(SignalKind::from_raw(SIGXFSZ))?);
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let drain = self.drain.clone();
        self.spawn(async move {
            tokio::select! {
                _ = terminate.recv() => tracing::info!("told to stop: draining"),
                _ = interrupt.recv() => tracing::info!("interrupted: draining"),
                () = drain.cancelled() => {}
            }
            drain.cancel();
        });
        Ok(())
    }

    /// Drains, and waits for all tasks. Whether no critical one has failed.
    pub(crate) async fn finish(&self) -> bool {
        self.drain.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        !self.failed.is_cancelled()
    }

    /// Resolves when what still runs has to be dropped: so long after draining has begun, or at a further signal.
    pub(crate) async fn patience_ends(&self, grace: Duration) {
        self.draining().await;
        let second_signal = async {
            match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
                (Ok(mut terminate), Ok(mut interrupt)) => {
                    tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
                }
                _ => std::future::pending().await,
            }
        };
        let tasks = || self.tasks.len();
        tokio::select! {
            () = tokio::time::sleep(grace) => {
                tracing::warn!(tasks = tasks(), "the grace time is over: dropping what still runs");
            }
            () = second_signal => {
                tracing::warn!(tasks = tasks(), "told to stop again: dropping what still runs");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_waits_for_every_task() {
        let shutdown = Shutdown::new();
        let (send, receive) = tokio::sync::oneshot::channel::<()>();
        let task = shutdown.spawn(async move { receive.await.is_ok() });
        shutdown.begin();
        send.send(()).unwrap();
        assert!(shutdown.finish().await);
        assert!(task.await.unwrap());
    }

    #[tokio::test]
    async fn a_critical_task_that_ends_ends_the_process() {
        let shutdown = Shutdown::new();
        shutdown.spawn_critical("short", async {});
        shutdown.draining().await;
        assert!(!shutdown.finish().await);
    }

    #[tokio::test]
    async fn what_never_ends_is_dropped_after_the_grace_time() {
        let shutdown = Shutdown::new();
        shutdown.spawn(std::future::pending::<()>());
        tokio::select! {
            _ = shutdown.finish() => panic!("it has not ended"),
            () = shutdown.patience_ends(Duration::from_millis(1)) => {}
        }
    }
}
