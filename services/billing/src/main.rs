//! The billing service: balances, the ledger, charges.

use std::process::ExitCode;

use billing::billing::Billing;
use billing::config::BillingConfig;
use billing::lanes::Lanes;
use billing::meters;
use billing::store::{Store, schema};
use billing::{bindings, grpc};
use chrono::TimeDelta;
use runtime::grpc_server;
use runtime::process::{self, BoxError, Process, Service};
use runtime::settings::Settings;
use runtime::statement;

struct BillingProcess;

impl Service for BillingProcess {
    const NAME: &'static str = "billing";
    const ABOUT: &'static str = "Keeps the credits of accounts: balances, the ledger, charges.";
    const DEFAULT_LISTEN: &'static str = "127.0.0.1:7103";
    const DEFAULT_ADMIN_LISTEN: &'static str = "127.0.0.1:7113";
    type Config = BillingConfig;

    fn read(settings: &mut Settings) -> BillingConfig {
        BillingConfig::read(settings)
    }

    async fn serve(config: BillingConfig, process: Process) -> Result<(), BoxError> {
        meters::describe();
        let pool = config.database.open(&schema()).await?;
        let condition = process.readiness.condition("the database answers");
        let watching = config.database.watch(condition, process.shutdown.clone());
        process.shutdown.spawn_critical("database watch", watching);
        let observing = statement::observe_pool(pool.clone(), process.shutdown.clone());
        process.shutdown.spawn_critical("database connections", observing);
        let (store, ambient, shutdown) = (
            Store::new(pool),
            process.ambient.clone(),
            process.shutdown.clone(),
        );
        let idempotency_ttl = TimeDelta::from_std(config.idempotency_ttl)?;
        let removing = bindings::keep_removing(
            store.clone(),
            ambient.clone(),
            idempotency_ttl,
            config.idempotency_sweep,
            shutdown.clone(),
        );
        shutdown.spawn_critical("old idempotency keys", removing);
        let lanes = Lanes::start(config.lanes, &store, &ambient, idempotency_ttl, &shutdown);
        let billing = Billing {
            store,
            lanes,
            idempotency_ttl,
            ambient,
            shutdown,
        };
        // The lanes end with the last call that may still charge.
        grpc_server::serve(process, config.grpc, grpc::service(billing)).await
    }

    async fn migrate(config: BillingConfig) -> Result<(), BoxError> {
        Ok(config.database.migrate(schema()).await?)
    }
}

fn main() -> ExitCode {
    process::run::<BillingProcess>()
}
