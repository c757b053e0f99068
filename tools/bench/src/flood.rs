//! Floods of worthless API keys, and what callers with good ones notice of them. On a system of its own.
//!
//! Callers with many keys (so that a good share of their requests has a key verified anew) search without a pause.
//! Beside them comes a flood at a fixed rate: of requests that are no trouble (addresses that are none), which shows what
//! sharing a machine with that many requests costs whatever is in them, and of keys. What counts is each kind of keys
//! beside the first. The kinds take turns, round by round, so that a drift of the machine is in all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use devstack::{Options, Service, Stack};
use hyper::Request;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::caller::{Caller, Measured, metric};
use crate::{BoxError, account};

/// Callers with good keys, and the keys that they take turns with.
const CALLERS: usize = 4;
const KEYS: usize = 200;

/// Connections that a flood comes over.
const FLOOD_CONNECTIONS: u32 = 16;

/// `bench flood`.
#[derive(Args)]
pub(crate) struct Flood {
    /// Seconds for each kind of flood in each round
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Rounds
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Requests of a flood in a second
    #[arg(long, default_value_t = 1_000)]
    rate: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    None,
    Nowhere,
    Mistyped,
    OneClient,
    ManyClients,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::None,
        Self::Nowhere,
        Self::Mistyped,
        Self::OneClient,
        Self::ManyClients,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::Nowhere => "addresses that are none",
            Self::Mistyped => "mistyped keys",
            Self::OneClient => "unknown keys, one client",
            Self::ManyClients => "unknown keys, 65,536 clients",
        }
    }
}

/// What is flooded.
struct Target {
    stack: Stack,
    host: String,
    prefix: String,
    keys: Vec<String>,
    /// Makes each unknown key another one.
    number: AtomicU64,
}

/// What was measured of one kind.
struct Row {
    kind: Kind,
    callers: Measured,
    flood: Measured,
    look_ups: f64,
}

impl Flood {
    /// Measures, and prints the table.
    pub(crate) async fn run(self) -> Result<(), BoxError> {
        let mut target = tokio::task::spawn_blocking(start).await??;
        target.keys = make_keys(&target).await?;
        let target = Arc::new(target);
        let mut rows = Vec::new();
        for kind in Kind::ALL {
            let (callers, flood) = (Measured::new()?, Measured::new()?);
            rows.push(Row {
                kind,
                callers,
                flood,
                look_ups: 0.0,
            });
        }
        for _ in 0..self.rounds {
            for row in &mut rows {
                self.measure(&target, row).await?;
            }
        }
        self.print(&rows);
        Ok(())
    }

    async fn measure(&self, target: &Arc<Target>, row: &mut Row) -> Result<(), BoxError> {
        let admin = target.stack.admin_address(Service::Keys)?;
        let before = metric(&admin, "keys_verifications_total").await?;
        let end = Instant::now() + Duration::from_secs(self.seconds);
        let mut callers = JoinSet::new();
        for number in 0..CALLERS {
            callers.spawn(call(Arc::clone(target), number, end));
        }
        let mut flood = JoinSet::new();
        if row.kind != Kind::None {
            for _ in 0..FLOOD_CONNECTIONS {
                let pause = Duration::from_secs(1) * FLOOD_CONNECTIONS / self.rate.max(1);
                flood.spawn(pour(Arc::clone(target), row.kind, pause, end));
            }
        }
        while let Some(measured) = callers.join_next().await {
            row.callers.add(measured??)?;
        }
        while let Some(measured) = flood.join_next().await {
            row.flood.add(measured??)?;
        }
        row.look_ups += metric(&admin, "keys_verifications_total").await? - before;
        Ok(())
    }

    fn print(&self, rows: &[Row]) {
        let length = Duration::from_secs(self.seconds) * self.rounds;
        println!(
            "{:<30} {:>8} {:>8} {:>8} {:>7} {:>7} {:>9} {:>11}  answers to it",
            "good keys beside a flood of",
            "p50 ms",
            "p99 ms",
            "req/s",
            "p50 x",
            "p99 x",
            "flood/s",
            "look-ups/s"
        );
        let beside = rows.iter().find(|row| row.kind == Kind::Nowhere);
        for row in rows {
            let ratio = |quantile| {
                beside.map_or(1.0, |beside| {
                    row.callers.millis(quantile) / beside.callers.millis(quantile)
                })
            };
            println!(
                "{:<30} {:>8.2} {:>8.2} {:>8.0} {:>7.2} {:>7.2} {:>9.0} {:>11.1}  {}",
                row.kind.name(),
                row.callers.millis(0.50),
                row.callers.millis(0.99),
                row.callers.per_second(length),
                ratio(0.50),
                ratio(0.99),
                row.flood.per_second(length),
                row.look_ups / length.as_secs_f64(),
                row.flood.statuses(),
            );
            if row.callers.answers.keys().any(|status| *status != 200) {
                println!("  the callers' answers: {}", row.callers.statuses());
            }
        }
    }
}

/// A system whose limits no good caller reaches, and which believes this process about who its callers are.
fn start() -> Result<Target, devstack::Error> {
    let options = Options::new()
        .setting("DS_GATEWAY__RATE_REQUESTS", "1000000")
        .setting("DS_GATEWAY__RATE_WINDOW", "1s")
        .setting("DS_GATEWAY__TRUSTED_PROXIES", "127.0.0.0/8")
        .setting("DS_KEYS__MAX_ACTIVE_KEYS", "1000");
    let stack = Stack::start(options)?;
    let account = stack.account("flood", 1_000_000_000)?;
    let address = stack.address(Service::Gateway)?;
    Ok(Target {
        stack,
        host: address.trim_start_matches("http://").to_owned(),
        prefix: "/api/v1".to_owned(),
        // With it the others are made.
        keys: vec![account.jwt],
        number: AtomicU64::new(0),
    })
}

async fn make_keys(target: &Target) -> Result<Vec<String>, BoxError> {
    let mut keys = Vec::new();
    for _ in 0..KEYS {
        let path = format!("{}/keys", target.prefix);
        let made = account::call(&target.host, "POST", &path, &target.keys[0]).await?;
        let secret = made["secret"]
            .as_str()
            .ok_or_else(|| format!("no key was made: {made}"))?;
        keys.push(secret.to_owned());
    }
    Ok(keys)
}

async fn call(target: Arc<Target>, number: usize, end: Instant) -> Result<Measured, BoxError> {
    let mut caller = Caller::connect(&target.host).await?;
    let mut measured = Measured::new()?;
    // Each begins elsewhere, so that they don't march in step.
    for key in target.keys.iter().cycle().skip(number * KEYS / CALLERS) {
        let begun = Instant::now();
        if begun >= end {
            break;
        }
        let status = caller.search(&target.prefix, key).await?;
        measured.note(begun, status)?;
    }
    Ok(measured)
}

async fn pour(target: Arc<Target>, kind: Kind, pause: Duration, end: Instant) -> Result<Measured, BoxError> {
    let mut caller = Caller::connect(&target.host).await?;
    let mut measured = Measured::new()?;
    let mut ticks = tokio::time::interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let begun = Instant::now();
        if begun >= end {
            return Ok(measured);
        }
        let number = target.number.fetch_add(1, Ordering::Relaxed);
        let body = format!("dsk_{number:032}");
        let checksum = if kind == Kind::Mistyped {
            "000000".to_owned()
        } else {
            proto::api_key::checksum(&body)
        };
        let path = if kind == Kind::Nowhere {
            "nowhere"
        } else {
            "companies"
        };
        let client = match kind {
            Kind::ManyClients => format!("198.18.{}.{}", number / 256 % 256, number % 256),
            _ => "198.18.0.0".to_owned(),
        };
        let request = Request::post(format!("{}/{path}/search", target.prefix))
            .header("content-type", "application/json")
            .header("x-forwarded-for", client)
            .header("x-api-key", body + &checksum);
        let (status, _) = caller.ask(request, "{}").await?;
        measured.note(begun, status)?;
    }
}
