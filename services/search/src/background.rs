//! Work that stands back behind searches.
//!
//! Who searches waits for the answer; who has imported records waits for seconds in any case. So what follows the records
//! (making documents, writing them, merging segments, counting what is suggested) runs on threads of lower priority: beside
//! searches it has what they leave, and a small share of the processors whatever they need; alone it has all. The priority
//! is the system's ("nice"), which counts among all that runs on the processors, so the index also stands back behind
//! Postgres on the same machine, as it writes the records; that stands back by pausing ([`crate::pacing`]).
//!
//! On Linux the priority is a thread's own, those that it starts begin with it, and without rights none can be raised. So
//! these threads are a pool of their own, and whatever starts threads for the index has to be done there: its writers do,
//! when they are opened and with each commit.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// A tenth of the weight of what has none, in the processors' sharing.
const NICENESS: i32 = 10;

/// How long a thread is kept that has nothing to do.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// Nothing is driven by it: it has no threads but those that may block.
static THREADS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut threads = Builder::new_current_thread();
    threads
        .thread_name("background")
        .thread_keep_alive(KEEP_ALIVE)
        .on_thread_start(lower);
    #[expect(
        clippy::expect_used,
        reason = "a runtime that drives nothing asks the system for nothing"
    )]
    threads.build().expect("no threads can be had")
});

/// Where work that stands back is started.
pub fn threads() -> &'static Handle {
    THREADS.handle()
}

/// Starts work that stands back. It may block.
pub fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    threads().spawn_blocking(work)
}

fn lower() {
    // Where that is refused, the work is done as if there were no priorities.
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the priority of a thread could not be lowered");
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rustix::process::getpriority_process;

    use super::*;

    #[tokio::test]
    async fn work_and_what_it_starts_stand_back_and_nothing_else_does() {
        let priority = || getpriority_process(None).unwrap();
        let before = priority();
        let lowered = before.max(NICENESS);
        let work = start(move || (priority(), thread::spawn(priority).join().unwrap()));
        assert_eq!(work.await.unwrap(), (lowered, lowered));
        let other = tokio::task::spawn_blocking(priority).await.unwrap();
        assert_eq!((priority(), other), (before, before));
    }
}
