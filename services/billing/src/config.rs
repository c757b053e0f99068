//! The settings of the billing service.

use std::time::Duration;

use runtime::database::DatabaseConfig;
use runtime::grpc_server::GrpcServerConfig;
use runtime::settings::Settings;

use crate::lanes::LanesConfig;

/// The settings.
#[derive(Debug)]
pub struct BillingConfig {
    /// Its database.
    pub database: DatabaseConfig,
    /// How it is called.
    pub grpc: GrpcServerConfig,
    /// How charges are grouped.
    pub lanes: LanesConfig,
    /// How long an idempotency key stands for its charge.
    pub idempotency_ttl: Duration,
    /// Time between two removals of old bindings.
    pub idempotency_sweep: Duration,
}

impl BillingConfig {
    /// Reads them.
    pub fn read(settings: &mut Settings) -> Self {
        Self {
            database: DatabaseConfig::read(settings),
            grpc: GrpcServerConfig::read(settings),
            lanes: LanesConfig {
                lanes: settings.bounded(
                    "charge_lanes",
                    4_u32,
                    1..=64,
                    "Transactions of charges at once. Each takes a connection to the database.",
                ),
                queue: settings.bounded(
                    "charge_queue",
                    8_192_u32,
                    1..=100_000,
                    "Charges that may wait; where there is no room, the account with most of them is refused.",
                ),
                batch: settings.bounded(
                    "charge_batch",
                    512_u32,
                    1..=5_000,
                    "Most charges that are written in one transaction.",
                ),
                patience: settings.bounded(
                    "charge_patience",
                    Duration::from_secs(5),
                    Duration::from_millis(100)..=Duration::from_mins(1),
                    "Longest time for a charge from its arrival to its answer, for callers without a deadline.",
                ),
            },
            idempotency_ttl: settings.bounded(
                "idempotency_ttl",
                Duration::from_hours(24),
                Duration::from_secs(1)..=Duration::from_hours(24 * 30),
                "How long an idempotency key stands for the charge it was bound to.",
            ),
            idempotency_sweep: settings.bounded(
                "idempotency_sweep",
                Duration::from_mins(1),
                Duration::from_millis(100)..=Duration::from_hours(24),
                "Time between two removals of idempotency keys that no longer count.",
            ),
        }
    }
}
