//! The gateway's share of the whole chain, on a system of its own with made-up records in it.
//!
//! Five ways, one after the other in each round, so that what the machine does beside it meets all of them:
//! - **bare route**: an axum route that reads a JSON body and answers it;
//! - **nginx + bare route**: a plain reverse proxy before it, which is what a gateway can't do less than;
//! - **plain gateway**: one script of Redis, a search and a charge by tonic behind an axum route, and nothing else ([`plain`]):
//!   what these libraries and the system take;
//! - **gateway, cheapest**: the whole chain with searches for one company by its domain;
//! - **gateway, usual**: the whole chain with searches as callers send them, 25 whole rows a page.
//!
//! Each way in a closed loop, which tells how much goes through, and at a fixed rate, which tells how long a caller waits:
//! there a request is due at its time whatever became of those before, and its latency counts from then. The processor
//! time of every process is read before and after, and divided by the requests.

mod plain;
mod proxy;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use devstack::{Part, Service, Stack};

use self::proxy::Proxy;
use crate::cpu::{Cpu, load_average};
use crate::load::{self, Figures, Shot};
use crate::search::records::{Body, Made, Records};
use crate::served::Served;
use crate::{BoxError, account, bare};

pub(crate) use self::plain::serve as serve_plain;

/// Processor time that the gateway may take for a request, in microseconds.
const GOAL_MICROS: f64 = 100.0;

/// What is measured, and how long.
#[derive(Args)]
pub(crate) struct Gateway {
    #[command(flatten)]
    records: Records,
    /// Seconds for each cell of a round
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Rounds; the median counts
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Requests a second of the fixed rate
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Connections
    #[arg(long, default_value_t = 32)]
    connections: usize,
}

/// Somebody to be asked, and what for.
struct Way {
    name: &'static str,
    address: String,
    shots: Arc<Vec<Shot>>,
}

/// What a way has done in one round.
struct Cell {
    figures: Figures,
    /// Microseconds a request of each process.
    micros: Vec<f64>,
}

/// Everything that runs.
struct Stage {
    stack: Arc<Stack>,
    bare: Served,
    proxy: Proxy,
    plain: Served,
    api_key: String,
}

impl Gateway {
    /// Measures, and prints the tables.
    pub(crate) async fn run(self) -> Result<(), BoxError> {
        let (stack, made) = self.records.stage(&[]).await?;
        let environment = stack.environment()?;
        let bare = bare::start().await?;
        let proxy = Proxy::start(&stack.folder().join("nginx"), &bare.address).await?;
        let target = account::prepare_in(&environment).await?;
        let plain = plain::start(&environment).await?;
        let ways = ways(&made, [&bare.address, &proxy.address, &plain.address], &target);
        let stage = Stage {
            stack,
            bare,
            proxy,
            plain,
            api_key: target.api_key,
        };
        println!("{}; load average before: {}", made.told(), load_average());
        let time = Duration::from_secs(self.seconds.max(1));
        let connections = self.connections.max(1);
        for rate in [None, Some(self.rate.max(1))] {
            let mut rounds: Vec<Vec<Cell>> = ways.iter().map(|_| Vec::new()).collect();
            for _ in 0..self.rounds.max(1) {
                for (way, cells) in ways.iter().zip(&mut rounds) {
                    cells.push(stage.measure(way, connections, rate, time).await?);
                }
            }
            let cells = rounds.into_iter().map(median).collect::<Result<Vec<_>, _>>()?;
            match rate {
                None => println!(
                    "\nclosed loop, {connections} connections, {} s each",
                    time.as_secs()
                ),
                Some(rate) => println!("\n{rate} requests a second, {} s each", time.as_secs()),
            }
            print(&ways, &cells);
        }
        println!("\nload average after: {}", load_average());
        tokio::task::spawn_blocking(move || drop(stage)).await?;
        Ok(())
    }
}

fn ways(made: &Made, [bare, proxy, plain]: [&String; 3], target: &account::Target) -> [Way; 5] {
    let shots = |bodies: Vec<Body>, path: &dyn Fn(&str) -> String| {
        let shots = bodies
            .into_iter()
            .map(|(kind, body)| Shot::post(path(kind), Bytes::from(body.to_string())));
        Arc::new(shots.collect())
    };
    let route = |bodies| shots(bodies, &|_| "/search".to_owned());
    let echoed = route(made.usual());
    let searched = |bodies| shots(bodies, &|kind| format!("{}/{kind}/search", target.prefix));
    [
        ("bare route", bare, Arc::clone(&echoed)),
        ("nginx + bare route", proxy, echoed),
        ("plain gateway", plain, route(made.cheapest())),
        ("gateway, cheapest", &target.address, searched(made.cheapest())),
        ("gateway, usual", &target.address, searched(made.usual())),
    ]
    .map(|(name, address, shots)| Way {
        name,
        address: address.clone(),
        shots,
    })
}

/// The processes whose processor time is measured, the gateway first.
const PROCESSES: [&str; 9] = [
    "gateway", "plain", "search", "keys", "billing", "Postgres", "Redis", "nginx", "bare",
];

impl Stage {
    async fn measure(
        &self,
        way: &Way,
        connections: usize,
        rate: Option<u32>,
        time: Duration,
    ) -> Result<Cell, BoxError> {
        let processes = self.processes()?;
        let (address, key, shots) = (&way.address, &self.api_key, Arc::clone(&way.shots));
        let figures = match rate {
            None => load::run(address, key, shots, connections, time).await?,
            Some(rate) => load::run_at_rate(address, key, shots, connections, rate, time).await?,
        };
        let micros = processes
            .iter()
            .map(|process| Ok(micros_each(process.used()?, figures.requests)))
            .collect::<Result<_, BoxError>>()?;
        Ok(Cell { figures, micros })
    }

    fn processes(&self) -> Result<[Cpu; 9], BoxError> {
        let pid = |part: Part| self.stack.pid(part).ok_or("a process of the stack does not run");
        let of = |service: Service| pid(service.into()).map(Cpu::of_process);
        Ok([
            of(Service::Gateway)?,
            Cpu::of_process(self.plain.pid()?),
            of(Service::Search)?,
            of(Service::Keys)?,
            of(Service::Billing)?,
            Cpu::of_family(pid(Part::Postgres)?),
            Cpu::of_process(pid(Part::Redis)?),
            Cpu::of_process(self.proxy.pid),
            Cpu::of_process(self.bare.pid()?),
        ])
    }
}

/// The cell with the median rate, or the median latency where the rate was fixed.
fn median(mut cells: Vec<Cell>) -> Result<Cell, BoxError> {
    cells.sort_by(|left, right| left.figures.millis(0.5).total_cmp(&right.figures.millis(0.5)));
    let middle = cells.len() / 2;
    cells.into_iter().nth(middle).ok_or_else(|| "no rounds".into())
}

fn print(ways: &[Way], cells: &[Cell]) {
    let Some(bare) = cells.first().map(|cell| cell.figures.millis(0.5)) else {
        return;
    };
    println!(
        "  {:<20} {:>9} {:>9} {:>9} {:>9} {:>11}",
        "", "p50 ms", "p99 ms", "p99.9 ms", "req/s", "p50 / bare"
    );
    for (way, Cell { figures, .. }) in ways.iter().zip(cells) {
        println!(
            "  {:<20} {:>9.3} {:>9.3} {:>9.3} {:>9.0} {:>11.1}",
            way.name,
            figures.millis(0.5),
            figures.millis(0.99),
            figures.millis(0.999),
            figures.rate,
            figures.millis(0.5) / bare,
        );
    }
    println!("  processor time of each process, microseconds a request (goal of the gateway: {GOAL_MICROS})");
    print!("  {:<20}", "");
    for name in PROCESSES {
        print!(" {name:>9}");
    }
    println!();
    for (way, Cell { micros, .. }) in ways.iter().zip(cells) {
        print!("  {:<20}", way.name);
        for micros in micros {
            print!(" {micros:>9.0}");
        }
        println!();
    }
}

#[expect(clippy::cast_precision_loss, reason = "times are shown with few digits")]
fn micros_each(time: Duration, requests: u64) -> f64 {
    time.as_micros() as f64 / requests.max(1) as f64
}
