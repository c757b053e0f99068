//! Charges a second, with grouping and with a transaction for each charge in the same run, on a system of its own that
//! writes to disk what it commits.
//!
//! Three ways to charge, one after the other in each round, so that what the machine does beside it meets all of them:
//! - **grouped**: the billing service as it is;
//! - **one each**: a second replica of it that puts one charge into a transaction, with a lane and a connection for each
//!   caller;
//! - **by hand**: no service at all, the one statement that somebody would write who needs no idempotency, over a
//!   connection for each caller.

mod callers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use devstack::{Options, Part, Service, Stack};
use sqlx::postgres::PgPoolOptions;

use crate::BoxError;
use crate::cpu::{self, Cpu};
use callers::{Figures, Way, Workload};

/// Charges of the accounts that another one has to get along with.
const CROWD: usize = 1_024;

/// What is measured, and how long.
#[derive(Args, Debug)]
pub(crate) struct Billing {
    /// Seconds for each cell of a round
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Rounds; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Callers at once, each with one charge under way
    #[arg(long, default_value_t = 64)]
    callers: usize,
}

/// A system that is measured.
struct Stage {
    stack: Arc<Stack>,
    grouped: Way,
    one_each: Way,
    by_hand: Way,
    one_each_part: Part,
    charge_number: u64,
}

/// What a way has done in one round.
struct Cell {
    figures: Figures,
    service_cpu: Duration,
    postgres_cpu: Duration,
}

impl Billing {
    /// Prints the tables.
    pub(crate) async fn run(self) -> Result<(), BoxError> {
        let callers = self.callers.max(1);
        let time = Duration::from_secs(self.seconds.max(1));
        eprintln!("bench: starting a stack that writes to disk");
        let mut stage = Stage::start(callers).await?;
        println!(
            "{callers} callers, each with one charge under way; {} seconds a cell",
            time.as_secs()
        );
        println!("load average before: {}", cpu::load_average());
        for (name, accounts) in [
            ("one account", 1),
            ("an account for each caller", callers),
            ("1,000 accounts in turn", 1_000),
        ] {
            self.compare(&mut stage, name, accounts, callers, time).await?;
        }
        stage.fairness(time).await?;
        println!("\nload average after: {}", cpu::load_average());
        Ok(())
    }

    async fn compare(
        &self,
        stage: &mut Stage,
        name: &str,
        accounts: usize,
        callers: usize,
        time: Duration,
    ) -> Result<(), BoxError> {
        let mut cells: [Vec<Cell>; 3] = Default::default();
        for round in 0..self.rounds.max(1) {
            for (place, cells) in cells.iter_mut().enumerate() {
                let workload = Workload {
                    accounts: (0..accounts)
                        .map(|number| format!("{name} {place} {round} {number}"))
                        .collect(),
                    callers,
                    time,
                };
                cells.push(stage.measure(place, &workload).await?);
            }
        }
        println!(
            "\n{name:<28} {:>10} {:>9} {:>9} {:>16} {:>16}",
            "charges/s", "p50 ms", "p99 ms", "service us/chg", "Postgres us/chg"
        );
        let mut rates = Vec::new();
        for (cells, way) in cells.into_iter().zip(["grouped", "one each", "by hand"]) {
            let median = median(cells)?;
            rates.push(median.figures.rate());
            println!(
                "  {way:<26} {:>10.0} {:>9.2} {:>9.2} {:>16.0} {:>16.0}",
                median.figures.rate(),
                median.figures.millis(0.50),
                median.figures.millis(0.99),
                median.figures.micros_each(median.service_cpu),
                median.figures.micros_each(median.postgres_cpu),
            );
        }
        if let [grouped, one_each, by_hand] = rates[..] {
            println!(
                "  grouped is {:.1} times one each, {:.1} times by hand",
                grouped / one_each,
                grouped / by_hand
            );
        }
        Ok(())
    }
}

impl Stage {
    async fn start(callers: usize) -> Result<Self, BoxError> {
        let options = Options::new().own_postgres().durable();
        let stack = Arc::new(tokio::task::spawn_blocking(move || Stack::start(options)).await??);
        let starting = Arc::clone(&stack);
        let one_each_part = tokio::task::spawn_blocking(move || {
            for (name, value) in [
                ("DS_BILLING__CHARGE_BATCH", "1".to_owned()),
                ("DS_BILLING__CHARGE_LANES", callers.min(64).to_string()),
                ("DS_BILLING__DATABASE_MAX_CONNECTIONS", (callers + 4).to_string()),
            ] {
                starting.set(name, &value);
            }
            starting.start_another(Service::Billing)
        })
        .await??;
        let environment = stack.environment()?;
        let pool = PgPoolOptions::new()
            .max_connections(u32::try_from(callers)?)
            .connect(&environment.database_url_billing)
            .await?;
        Ok(Self {
            grouped: Way::service(&environment.billing_grpc, &environment.service_token).await?,
            one_each: Way::service(&stack.address(one_each_part)?, &environment.service_token).await?,
            by_hand: Way::Statement(pool),
            one_each_part,
            stack,
            charge_number: 0,
        })
    }

    fn way(&self, place: usize) -> (&Way, Option<Part>) {
        match place {
            0 => (&self.grouped, Some(Service::Billing.into())),
            1 => (&self.one_each, Some(self.one_each_part)),
            _ => (&self.by_hand, None),
        }
    }

    async fn measure(&mut self, place: usize, workload: &Workload) -> Result<Cell, BoxError> {
        let charge_number = self.charge_number;
        // Whoever charges how fast in a run, no charge id comes twice.
        self.charge_number += 1 << 32;
        self.grouped.fill(&workload.accounts).await?;
        let (way, part) = self.way(place);
        let postgres = Cpu::of_family(self.stack.pid(Part::Postgres).ok_or("Postgres does not run")?);
        let service = part.and_then(|part| self.stack.pid(part)).map(Cpu::of_process);
        let figures = callers::run(way, workload, charge_number).await?;
        let cell = Cell {
            figures,
            service_cpu: service.map_or(Ok(Duration::ZERO), |service| service.used())?,
            postgres_cpu: postgres.used()?,
        };
        Ok(cell)
    }

    /// What one caller of an account notices of another account's crowd.
    async fn fairness(&mut self, time: Duration) -> Result<(), BoxError> {
        let workload = |name: &str, callers| Workload {
            accounts: vec![name.to_owned()],
            callers,
            time,
        };
        let alone = self.measure(0, &workload("modest alone", 1)).await?.figures;
        let (crowd, modest) = (workload("crowd", CROWD), workload("modest beside", 1));
        self.grouped.fill(&crowd.accounts).await?;
        self.grouped.fill(&modest.accounts).await?;
        let first = self.charge_number;
        self.charge_number += 2 << 32;
        let (crowd, beside) = tokio::try_join!(
            callers::run(&self.grouped, &crowd, first),
            callers::run(&self.grouped, &modest, first + (1 << 32)),
        )?;
        println!(
            "\n{:<28} {:>10} {:>9} {:>9}",
            "fairness", "charges/s", "p50 ms", "p99 ms"
        );
        for (name, figures) in [
            ("one caller alone".to_owned(), alone),
            (format!("{CROWD} callers of an account"), crowd),
            ("one of another beside them".to_owned(), beside),
        ] {
            println!(
                "  {name:<26} {:>10.0} {:>9.2} {:>9.2}",
                figures.rate(),
                figures.millis(0.50),
                figures.millis(0.99)
            );
        }
        Ok(())
    }
}

/// The round in the middle, by its rate.
fn median(mut cells: Vec<Cell>) -> Result<Cell, BoxError> {
    cells.sort_by(|one, other| one.figures.rate().total_cmp(&other.figures.rate()));
    let middle = cells.len() / 2;
    if cells.is_empty() {
        return Err("there was no round".into());
    }
    Ok(cells.swap_remove(middle))
}

/// Now, and when what is measured ends after a warm-up of a tenth of it.
fn span(time: Duration) -> (Instant, Instant) {
    let begin = Instant::now() + time / 10;
    (begin, begin + time)
}
