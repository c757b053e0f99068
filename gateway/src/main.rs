//! The gateway's process.

use std::process::ExitCode;
use std::sync::Arc;

use gateway::auth::api_key::ApiKeys;
use gateway::auth::key_changes::KeyChanges;
use gateway::auth::session::{SessionKeys, Sessions};
use gateway::body::Bodies;
use gateway::config::Config;
use gateway::credits::Credits;
use gateway::meters;
use gateway::rate::RateLimiter;
use gateway::rest::{self, Gateway, openapi};
use gateway::server;
use gateway::upstream::{UpstreamConfig, Upstreams};
use runtime::process::{BoxError, Process, Service};
use runtime::settings::Settings;

/// The system's allocator took an eighth of a request's time: many small allocations, dropped on whichever thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct GatewayService;

impl Service for GatewayService {
    const NAME: &'static str = "gateway";
    const ABOUT: &'static str = "Answers the public REST interface of the developer search API. \
                                 `gateway openapi` prints its description.";
    const DEFAULT_LISTEN: &'static str = "127.0.0.1:7100";
    const DEFAULT_ADMIN_LISTEN: &'static str = "127.0.0.1:7110";
    const IS_PUBLIC: bool = true;
    type Config = Config;

    fn read(settings: &mut Settings) -> Config {
        Config::read(settings)
    }

    async fn serve(config: Config, process: Process) -> Result<(), BoxError> {
        meters::describe();
        let (ambient, shutdown) = (process.ambient.clone(), process.shutdown.clone());
        let upstreams = Upstreams::connect(
            &config.grpc,
            UpstreamConfig {
                search_url: &config.search_url,
                keys_url: &config.keys_url,
                billing_url: &config.billing_url,
                max_calls: config.max_calls,
            },
            &shutdown,
        )?;
        let changes = Arc::new(KeyChanges::default());
        let (listening, redis, draining) =
            (Arc::clone(&changes), config.redis.clone(), shutdown.drain_token());
        shutdown.spawn(async move { draining.run_until_cancelled(listening.listen(&redis)).await });
        if let SessionKeys::Published(jwks) = &config.session_keys {
            let (jwks, draining) = (Arc::clone(jwks), shutdown.drain_token());
            shutdown.spawn(async move { draining.run_until_cancelled(jwks.keep_fresh()).await });
        }
        let gateway = Gateway {
            api_keys: ApiKeys::new(upstreams.clone(), changes, config.unknown_keys),
            sessions: Sessions::new(&config.session_rules, config.session_keys, ambient.clone()),
            rate: RateLimiter::start(config.pace, config.redis, config.redis_budget, &shutdown),
            credits: Credits::new(upstreams.clone(), config.costs, ambient.clone(), shutdown.clone()),
            upstreams,
            bodies: Bodies::new(config.limits.max_body_bytes),
            limits: config.limits,
            ambient: ambient.clone(),
            cors: Arc::new(config.cors),
        };
        let (listener, shutdown) = process.listen()?;
        let router = rest::router(gateway);
        server::serve(listener, router, config.connections, &ambient, &shutdown).await;
        Ok(())
    }
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("openapi") {
        return runtime::process::say(&String::from_utf8_lossy(openapi::document()));
    }
    runtime::process::run::<GatewayService>()
}
