//! The keys service: the life cycle of API keys, their verification, and the rate of an account.

use std::process::ExitCode;

use keys::announce::Announcer;
use keys::config::KeysConfig;
use keys::grpc;
use keys::keys::Keys;
use keys::meters;
use keys::pepper_change;
use keys::store::{Store, schema};
use keys::usage::Usage;
use runtime::grpc_server;
use runtime::process::{self, BoxError, Process, Service};
use runtime::settings::Settings;
use runtime::statement;

struct KeysProcess;

impl Service for KeysProcess {
    const NAME: &'static str = "keys";
    const ABOUT: &'static str = "Keeps API keys, verifies them, and knows the rate of an account.";
    const DEFAULT_LISTEN: &'static str = "127.0.0.1:7102";
    const DEFAULT_ADMIN_LISTEN: &'static str = "127.0.0.1:7112";
    type Config = KeysConfig;

    fn read(settings: &mut Settings) -> KeysConfig {
        KeysConfig::read(settings)
    }

    async fn serve(config: KeysConfig, process: Process) -> Result<(), BoxError> {
        meters::describe();
        let pool = config.database.open(&schema()).await?;
        let condition = process.readiness.condition("the database answers");
        let watching = config.database.watch(condition, process.shutdown.clone());
        process.shutdown.spawn_critical("database watch", watching);
        let observing = statement::observe_pool(pool.clone(), process.shutdown.clone());
        process.shutdown.spawn_critical("database connections", observing);
        let keys = Keys {
            store: Store::new(pool),
            announcer: Announcer::new(config.redis)?,
            usage: Usage::default(),
            peppers: config.peppers,
            max_active_keys: config.max_active_keys,
            ambient: process.ambient.clone(),
            shutdown: process.shutdown.clone(),
        };
        pepper_change::begin(&keys.store, &keys.peppers).await?;
        let (store, peppers) = (keys.store.clone(), keys.peppers.clone());
        let counting = pepper_change::keep_counting(store, peppers, process.shutdown.clone());
        process.shutdown.spawn_critical("pepper change", counting);
        let (usage, store) = (keys.usage.clone(), keys.store.clone());
        let writing = usage.keep_writing(store, config.last_used_flush, process.shutdown.clone());
        process.shutdown.spawn_critical("last used", writing);
        grpc_server::serve(process, config.grpc, grpc::service(keys.clone())).await?;
        keys.usage.try_flush(&keys.store).await;
        Ok(())
    }

    async fn migrate(config: KeysConfig) -> Result<(), BoxError> {
        Ok(config.database.migrate(schema()).await?)
    }
}

fn main() -> ExitCode {
    process::run::<KeysProcess>()
}
