//! Each container is restarted while searches go on: how many fail is told, and nothing is charged that was not answered.
//!
//! A search that fails may have been charged: the answer was lost on the way, or the caller had given up. So the ledger
//! lies between what was answered and what was asked. One that was refused (503 and the like) is asked again by callers;
//! here it counts as failed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use system_tests::{Account, Containers, until};

/// In the order they are restarted in.
const ALL: [&str; 7] = [
    "search-1", "search-2", "redis", "keys", "billing", "postgres", "gateway",
];

/// Callers that search all the time, one request after another.
const CALLERS: usize = 4;

/// What became of searches.
#[derive(Default)]
struct Outcomes {
    answered: u64,
    /// By status; 0 where there was no answer.
    failed: BTreeMap<u16, u64>,
    last_answer: Option<Instant>,
    longest_gap: Duration,
}

impl Outcomes {
    fn note(&mut self, status: u16) {
        if status != 200 {
            *self.failed.entry(status).or_default() += 1;
            return;
        }
        self.answered += 1;
        let now = Instant::now();
        if let Some(last) = self.last_answer.replace(now) {
            self.longest_gap = self.longest_gap.max(now - last);
        }
    }

    fn failures(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// One search; its status, 0 if there was no answer.
fn search(account: &Account) -> u16 {
    let request = account
        .request(reqwest::Method::POST, "/companies/search")
        .header("X-API-Key", &account.key)
        .json(&json!({"businessType": "software", "location": "Germany", "limit": 3}));
    request.send().map_or(0, |answer| {
        let status = answer.status().as_u16();
        // It counts when it has arrived whole.
        answer.bytes().map_or(0, |_| status)
    })
}

#[test]
#[ignore = "on containers: ./dev test --compose"]
fn every_container_can_be_restarted_under_load() {
    let system = Containers::of_environment();
    let account = system.account("restarts");
    let outcomes = Mutex::new(Outcomes::default());
    let is_over = AtomicBool::new(false);
    let (mut answered, mut asked) = (0, 0);
    thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let status = search(&account);
                    outcomes.lock().unwrap().note(status);
                }
            });
        }
        println!("restarted    healthy after  answered  failed  longest gap  failed by status");
        for service in ALL {
            *outcomes.lock().unwrap() = Outcomes::default();
            until("searches are answered", || outcomes.lock().unwrap().answered > 20);
            let begun = Instant::now();
            let _ = system.compose_well(&["restart", service]);
            system.wait_healthy(service);
            let healthy = begun.elapsed();
            let reached = outcomes.lock().unwrap().answered;
            until("searches are answered again", || {
                outcomes.lock().unwrap().answered > reached + 100
            });
            let round = std::mem::take(&mut *outcomes.lock().unwrap());
            println!(
                "{service:<12} {:>11.1} s  {:>8}  {:>6}  {:>9.1} s  {:?}",
                healthy.as_secs_f64(),
                round.answered,
                round.failures(),
                round.longest_gap.as_secs_f64(),
                round.failed,
            );
            let strange: Vec<_> = round
                .failed
                .keys()
                .filter(|status| ![0, 502, 503, 504].contains(status))
                .collect();
            assert!(strange.is_empty(), "{service}: {strange:?}");
            answered += round.answered;
            asked += round.answered + round.failures();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let last = outcomes.into_inner().unwrap();
    answered += last.answered;
    asked += last.answered + last.failures();
    let charged = u64::try_from(100_000 - system.operator.balance(&account.id)).unwrap();
    assert!(
        (answered..=asked).contains(&charged),
        "{charged} charged, {answered} answered of {asked} asked"
    );
    println!("{charged} credits charged, {answered} answered of {asked} asked");
    println!(
        "{}",
        system.compose_well(&["run", "--rm", "dsctl", "credits", "verify"])
    );
}
