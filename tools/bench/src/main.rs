//! The measurements: `./dev bench NAME`.
//!
//! Every figure stands beside a baseline of the same run, since a machine's speed drifts; what counts is the ratio.

mod account;
mod bare;
mod billing;
mod load;
mod search;
mod smoke;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// What a measurement may fail with.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Measures a running system, as `./dev env` tells its addresses, or one of its own.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The whole chain on the sample at 1, 8 and 32 connections, beside a bare axum route.
    Smoke {
        /// Seconds for each row of the table.
        #[arg(long, default_value_t = 4)]
        seconds: u64,
    },
    /// Charges a second, beside a transaction for each charge; on a system of its own.
    Billing(billing::Billing),
    /// Search at size, beside Postgres on the same records; on a system of its own.
    Search(search::Search),
    /// The bare axum route, as a process of its own; prints its address.
    #[command(hide = true)]
    ServeBare,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = tokio::runtime::Runtime::new()
        .map_err(BoxError::from)
        .and_then(|runtime| {
            runtime.block_on(async {
                match arguments.command {
                    Command::Smoke { seconds } => smoke::run(Duration::from_secs(seconds.max(1))).await,
                    Command::Billing(billing) => billing.run().await,
                    Command::Search(search) => search.run().await,
                    Command::ServeBare => bare::serve().await,
                }
            })
        });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
