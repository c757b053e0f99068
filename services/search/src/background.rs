//! Work that stands back behind searches.
//!
//! Who searches waits for the answer; who has imported records waits for seconds in any case. So what follows the records
//! (making documents, writing them, merging segments) runs on threads of lower priority: beside searches it has what they
//! leave, and a small share of the processors whatever they need; alone it has all. The priority is the system's ("nice"),
//! which counts among all that runs on the processors, so the index also stands back behind what records are written with.
//!
//! On Linux the priority is a thread's own, those that it starts begin with it, and without rights none can be raised. So
//! nothing of the sort is done on threads that are lent from a pool, and whatever starts threads for the index (an index's
//! writers do, and each commit) has to be done here.

use std::panic::resume_unwind;
use std::thread;

/// A tenth of the weight of what has none, in the processors' sharing.
const NICENESS: i32 = 10;

/// Does the work on a thread that stands back, and waits for it.
pub fn stand_back<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let lowered = || {
        // Where that is refused, it is done as if there were no priorities.
        if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
            tracing::debug!(%error, "the priority of a thread could not be lowered");
        }
        work()
    };
    thread::scope(|scope| scope.spawn(lowered).join()).unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn work_and_what_it_starts_stand_back_and_nothing_else_does() {
        let before = getpriority_process(None).unwrap();
        let (own, started) = stand_back(|| {
            let started = thread::spawn(|| getpriority_process(None).unwrap()).join().unwrap();
            (getpriority_process(None).unwrap(), started)
        });
        let lowered = before.max(NICENESS);
        assert_eq!((own, started), (lowered, lowered));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
