//! The settings of the keys service.

use std::time::Duration;

use runtime::database::DatabaseConfig;
use runtime::grpc_server::GrpcServerConfig;
use runtime::redis_client;
use runtime::settings::Settings;

use crate::secret::{Pepper, Peppers};

/// Shortest pepper: fewer characters could be guessed together with a leaked hash.
const MIN_PEPPER_LENGTH: usize = 32;

/// Longest time between two writes of uses: with what the gateways keep for 5 s, a use is told within 60 s.
const MAX_LAST_USED_FLUSH: Duration = Duration::from_secs(45);

/// The settings.
#[derive(Debug)]
pub struct KeysConfig {
    /// Its database.
    pub database: DatabaseConfig,
    /// How it is called.
    pub grpc: GrpcServerConfig,
    /// Where changes are announced.
    pub redis: redis::Client,
    /// What secrets are hashed with.
    pub peppers: Peppers,
    /// Most active keys of an account.
    pub max_active_keys: u32,
    /// Time between two writes of uses.
    pub last_used_flush: Duration,
}

impl KeysConfig {
    /// Reads them.
    pub fn read(settings: &mut Settings) -> Self {
        let database = DatabaseConfig::read(settings);
        let grpc = GrpcServerConfig::read(settings);
        let redis = redis_client::read(
            settings,
            "Redis, on which changes of keys are announced: redis://:password@host:6379, or rediss://... by TLS.",
        );
        let pepper = settings.secret(
            "pepper",
            MIN_PEPPER_LENGTH,
            "What secrets are hashed with. Whoever loses it loses all keys.",
        );
        let previous_pepper = settings.optional_secret(
            "previous_pepper",
            MIN_PEPPER_LENGTH,
            "A second pepper that still counts. To change the pepper: set the new one here on every replica, then \
             swap the two, then drop the old one when the metric keys_active{pepper=\"previous\"} is 0 or the keys \
             that are left may stop: they have not been used since, and work again once regenerated.",
        );
        if previous_pepper
            .as_ref()
            .is_some_and(|previous| previous.is(pepper.expose()))
        {
            settings.contradiction("previous_pepper: is the same as pepper");
        }
        Self {
            database,
            grpc,
            redis,
            peppers: Peppers {
                current: Pepper::new(pepper),
                previous: previous_pepper.map(Pepper::new),
            },
            max_active_keys: settings.bounded(
                "max_active_keys",
                50_u32,
                1..=10_000,
                "Most active keys of an account.",
            ),
            last_used_flush: settings.bounded(
                "last_used_flush",
                Duration::from_secs(15),
                Duration::from_millis(100)..=MAX_LAST_USED_FLUSH,
                "Time between two writes of when keys were last used.",
            ),
        }
    }
}
