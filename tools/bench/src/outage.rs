//! What callers notice while Redis is away, and how soon limits are shared again. On a system of its own, with the
//! settings that hold by default.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use devstack::{Line, Options, Part, Service, Stack};
use tokio::task::JoinSet;

use crate::BoxError;
use crate::caller::{Caller, Measured, metric};

/// How late a slow Redis answers.
const DELAY: Duration = Duration::from_millis(200);

/// Longest wait for limits to be shared again.
const PATIENCE: Duration = Duration::from_mins(1);

/// `bench outage`.
#[derive(Args)]
pub(crate) struct Outage {
    /// Seconds before each fault, and seconds that it lasts
    #[arg(long, default_value_t = 6)]
    seconds: u64,
    /// Callers, each with one request under way at a time
    #[arg(long, default_value_t = 4)]
    callers: usize,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Killed,
    Paused,
    Slow,
    Full,
    ReadOnly,
}

impl Fault {
    const ALL: [Self; 5] = [Self::Killed, Self::Paused, Self::Slow, Self::Full, Self::ReadOnly];

    const fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Paused => "paused",
            Self::Slow => "slow (200 ms)",
            Self::Full => "full (maxmemory)",
            Self::ReadOnly => "read-only",
        }
    }
}

/// What is measured.
struct Target {
    stack: Stack,
    line: Line,
    host: String,
    key: String,
}

/// Parts of a measurement, in their order; then it is over.
const PHASES: [&str; 3] = ["before", "first second", "then"];

impl Outage {
    /// Measures, and prints the table.
    pub(crate) async fn run(self) -> Result<(), BoxError> {
        let target = Arc::new(tokio::task::spawn_blocking(start).await??);
        println!(
            "{:<18} {:<13} {:>9} {:>8} {:>8} {:>8} {:>11} {:>9}  answers",
            "Redis", "", "requests", "p50 ms", "p99 ms", "max ms", "p99 more ms", "back, ms"
        );
        for fault in Fault::ALL {
            let (measured, back) = self.measure(&target, fault).await?;
            for (name, part) in PHASES.iter().zip(&measured) {
                println!(
                    "{:<18} {name:<13} {:>9} {:>8.2} {:>8.2} {:>8.2} {:>11.2} {:>9}  {}",
                    fault.name(),
                    part.latency.len(),
                    part.millis(0.50),
                    part.millis(0.99),
                    part.millis(1.0),
                    part.millis(0.99) - measured[0].millis(0.99),
                    if *name == PHASES[2] {
                        back.as_millis().to_string()
                    } else {
                        String::new()
                    },
                    part.statuses(),
                );
            }
        }
        Ok(())
    }

    /// The figures of each phase, and how long after the fault limits were shared again.
    async fn measure(
        &self,
        target: &Arc<Target>,
        fault: Fault,
    ) -> Result<(Vec<Measured>, Duration), BoxError> {
        wait_until_shared(target).await?;
        let phase = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..self.callers {
            callers.spawn(call(Arc::clone(target), Arc::clone(&phase)));
        }
        let length = Duration::from_secs(self.seconds.max(2));
        tokio::time::sleep(length).await;
        phase.store(1, Ordering::Relaxed);
        change(target, fault, true).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        phase.store(2, Ordering::Relaxed);
        tokio::time::sleep(length.saturating_sub(Duration::from_secs(1))).await;
        phase.store(PHASES.len(), Ordering::Relaxed);
        let mut measured = PHASES
            .map(|_| Measured::new())
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        while let Some(parts) = callers.join_next().await {
            for (whole, part) in measured.iter_mut().zip(parts??) {
                whole.add(part)?;
            }
        }
        change(target, fault, false).await?;
        let ended = Instant::now();
        wait_until_shared(target).await?;
        Ok((measured, ended.elapsed()))
    }
}

fn start() -> Result<Target, BoxError> {
    let options = Options::new()
        .setting("DS_GATEWAY__RATE_REQUESTS", "1000000")
        .setting("DS_GATEWAY__RATE_WINDOW", "1s");
    let stack = Stack::start(options)?;
    let key = stack.account("outage", 1_000_000_000)?.api_key;
    let redis_url = stack.redis_url();
    let (credential, redis) = redis_url.rsplit_once('@').ok_or("Redis has no password")?;
    let line = Line::to(redis.parse()?)?;
    stack.set(
        "DS_GATEWAY__REDIS_URL",
        &format!("{credential}@{}", line.address()),
    );
    stack.restart(Service::Gateway)?;
    let host = stack
        .address(Service::Gateway)?
        .trim_start_matches("http://")
        .to_owned();
    Ok(Target {
        stack,
        line,
        host,
        key,
    })
}

/// Begins a fault, or ends it.
async fn change(target: &Arc<Target>, fault: Fault, begins: bool) -> Result<(), BoxError> {
    let target = Arc::clone(target);
    let work = move || {
        match (fault, begins) {
            (Fault::Killed, true) => target.stack.kill(Part::Redis)?,
            (Fault::Killed, false) => target.stack.start_part(Part::Redis)?,
            (Fault::Paused, true) => target.stack.suspend(Part::Redis),
            (Fault::Paused, false) => target.stack.resume(Part::Redis),
            (Fault::Slow, true) => target.line.delay(DELAY),
            (Fault::Slow, false) => target.line.delay(Duration::ZERO),
            (Fault::Full, true) => tell_redis(&target, &["CONFIG", "SET", "maxmemory", "1"])?,
            (Fault::Full, false) => tell_redis(&target, &["CONFIG", "SET", "maxmemory", "0"])?,
            // Nobody answers at port 1.
            (Fault::ReadOnly, true) => tell_redis(&target, &["REPLICAOF", "127.0.0.1", "1"])?,
            (Fault::ReadOnly, false) => tell_redis(&target, &["REPLICAOF", "NO", "ONE"])?,
        }
        Ok(())
    };
    tokio::task::spawn_blocking(work).await?
}

fn tell_redis(target: &Target, command: &[&str]) -> Result<(), BoxError> {
    let client = redis::Client::open(target.stack.redis_url())?;
    let mut connection = client.get_connection()?;
    let (name, arguments) = command.split_first().ok_or("no command")?;
    Ok(redis::cmd(name).arg(arguments).exec(&mut connection)?)
}

async fn wait_until_shared(target: &Target) -> Result<(), BoxError> {
    let admin = target.stack.admin_address(Service::Gateway)?;
    let begun = Instant::now();
    while metric(&admin, "gateway_rate_limit_shared").await? < 1.0 {
        if begun.elapsed() > PATIENCE {
            return Err("limits are not shared again".into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

async fn call(target: Arc<Target>, phase: Arc<AtomicUsize>) -> Result<Vec<Measured>, BoxError> {
    let mut caller = Caller::connect(&target.host).await?;
    let mut measured = PHASES
        .map(|_| Measured::new())
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    while let Some(part) = measured.get_mut(phase.load(Ordering::Relaxed)) {
        let begun = Instant::now();
        let status = caller.search("/api/v1", &target.key).await?;
        part.note(begun, status)?;
    }
    Ok(measured)
}
