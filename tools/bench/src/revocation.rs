//! How soon a revoked key is refused at every gateway, with Redis and without. On a system of its own.

use std::time::{Duration, Instant};

use clap::Args;
use devstack::{Options, Part, Service, Stack};
use hyper::StatusCode;

use crate::caller::{Caller, Measured};
use crate::{BoxError, account};

/// `bench revocation`.
#[derive(Args)]
pub(crate) struct Revocation {
    /// Keys that are revoked while Redis is there
    #[arg(long, default_value_t = 200)]
    keys: u32,
    /// Keys that are revoked while it is away
    #[arg(long, default_value_t = 10)]
    keys_without_redis: u32,
}

/// Two gateways, and who manages the keys at the first.
struct Target {
    stack: Stack,
    hosts: [String; 2],
    jwt: String,
}

impl Revocation {
    /// Measures, and prints the table.
    pub(crate) async fn run(self) -> Result<(), BoxError> {
        let target = tokio::task::spawn_blocking(start).await??;
        println!(
            "{:<16} {:>6} {:>9} {:>9} {:>9}   promised ms",
            "refused after", "keys", "p50 ms", "p99 ms", "max ms"
        );
        let with_redis = target.measure(self.keys).await?;
        print("with Redis", &with_redis, Duration::from_secs(1));
        target.stack.kill(Part::Redis)?;
        let without_redis = target.measure(self.keys_without_redis).await?;
        print("Redis killed", &without_redis, Duration::from_secs(5));
        Ok(())
    }
}

fn print(name: &str, measured: &Measured, promised: Duration) {
    println!(
        "{name:<16} {:>6} {:>9.1} {:>9.1} {:>9.1}   {}",
        measured.latency.len(),
        measured.millis(0.50),
        measured.millis(0.99),
        measured.millis(1.0),
        promised.as_millis(),
    );
}

fn start() -> Result<Target, BoxError> {
    let options = Options::new()
        .setting("DS_GATEWAY__RATE_REQUESTS", "1000000")
        .setting("DS_GATEWAY__RATE_WINDOW", "1s")
        .setting("DS_GATEWAY__UNKNOWN_KEYS_PER_MINUTE", "1000000");
    let stack = Stack::start(options)?;
    let jwt = stack.account("revocation", 1_000_000_000)?.jwt;
    let another = stack.start_another(Service::Gateway)?;
    let addresses = [stack.address(Service::Gateway)?, stack.address(another)?];
    let hosts = addresses.map(|address| address.trim_start_matches("http://").to_owned());
    Ok(Target { stack, hosts, jwt })
}

impl Target {
    /// From the answer to a revocation until the last of both gateways has refused the key.
    async fn measure(&self, keys: u32) -> Result<Measured, BoxError> {
        let mut callers = [
            Caller::connect(&self.hosts[0]).await?,
            Caller::connect(&self.hosts[1]).await?,
        ];
        let mut measured = Measured::new()?;
        for _ in 0..keys {
            let made = account::call(&self.hosts[0], "POST", "/api/v1/keys", &self.jwt).await?;
            let text = |value: &serde_json::Value| value.as_str().map(str::to_owned).ok_or("no key was made");
            let (id, secret) = (text(&made["key"]["id"])?, text(&made["secret"])?);
            for caller in &mut callers {
                let status = caller.search("/api/v1", &secret).await?;
                if status != StatusCode::OK {
                    return Err(format!("{status} for a good key").into());
                }
            }
            account::call(&self.hosts[0], "DELETE", &format!("/api/v1/keys/{id}"), &self.jwt).await?;
            let answered = Instant::now();
            for caller in &mut callers {
                while caller.search("/api/v1", &secret).await? == StatusCode::OK {}
            }
            measured.note(answered, StatusCode::UNAUTHORIZED)?;
        }
        Ok(measured)
    }
}
