//! Those who ask in good order, beside whatever goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use system_tests::{Account, World, raw};

/// Tells the bystanders to stop, also if the attack fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does this while others ask: one on a connection that it keeps, one on a new connection each time. Each time they are
/// answered.
pub(crate) fn unharmed<T>(world: &World, attack: impl FnOnce() -> T) -> T {
    let (keeps, renews) = (world.account(), world.account());
    let is_over = AtomicBool::new(false);
    let again_and_again = |ask: &dyn Fn()| {
        loop {
            // What began while the attack went on counts, and one that begins after it.
            let was_over = is_over.load(Ordering::Relaxed);
            ask();
            if was_over {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let stop = Stop(&is_over);
        scope.spawn(|| again_and_again(&|| drop(keeps.companies(&json!({"limit": 1})).expect(200))));
        scope.spawn(|| again_and_again(&|| assert_eq!(raw(world, &search(&renews)).status, 200)));
        let result = attack();
        drop(stop);
        result
    })
}

fn search(account: &Account) -> Vec<u8> {
    let key = &account.key;
    format!(
        "POST /api/v1/companies/search HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    )
    .into_bytes()
}
