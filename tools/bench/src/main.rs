//! The measurements: `./dev bench NAME`.
//!
//! Every figure stands beside a baseline of the same run, since a machine's speed drifts; what counts is the ratio.

mod account;
mod bare;
mod billing;
mod caller;
mod cpu;
mod flood;
mod gateway;
mod load;
mod outage;
mod revocation;
mod search;
mod served;
mod smoke;
mod suggest;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// The gateway's, for the baselines beside it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    /// The gateway's share: latency and processor time of the whole chain, beside a bare axum route, nginx before it, and
    /// the least that a gateway of these libraries can do; on a system of its own.
    Gateway(gateway::Gateway),
    /// Suggestions over the whole chain, beside a bare axum route and Postgres on the same values; on a system of its own.
    Suggest(suggest::Suggest),
    /// Floods of worthless API keys, and what callers with good ones notice; on a system of its own.
    Flood(flood::Flood),
    /// Redis killed, paused, slow, full, read-only, and what callers notice; on a system of its own.
    Outage(outage::Outage),
    /// How soon a revoked key is refused at every gateway; on a system of its own.
    Revocation(revocation::Revocation),
    /// The bare axum route, as a process of its own; prints its address.
    #[command(hide = true)]
    ServeBare,
    /// The least of a gateway, as a process of its own; prints its address.
    #[command(hide = true)]
    ServePlain,
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
                    Command::Gateway(gateway) => gateway.run().await,
                    Command::Suggest(suggest) => suggest.run().await,
                    Command::Flood(flood) => flood.run().await,
                    Command::Outage(outage) => outage.run().await,
                    Command::Revocation(revocation) => revocation.run().await,
                    Command::ServeBare => bare::serve().await,
                    Command::ServePlain => gateway::serve_plain().await,
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
