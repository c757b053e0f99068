//! The whole system in containers, as `docker-compose.yml` starts it: seen through published ports, and told what to do
//! by the compose command. `./dev test --compose` starts it and tells its addresses by the environment.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use devstack::Environment;

use crate::account::{Account, session};
use crate::operator::Operator;

/// Longest wait for a container to be healthy.
const PATIENCE: Duration = Duration::from_mins(3);

/// The system in containers.
pub struct Containers {
    /// Addresses and secrets; of the search service the first replica's. It has no database: none can be reached.
    pub environment: Environment,
    /// The internal side of the first replica of the search service, and of all others.
    pub operator: Operator,
    /// The same with the second replica.
    pub other_replica: Operator,
}

#[expect(
    clippy::disallowed_methods,
    reason = "how `./dev test --compose` tells what it has started"
)]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run ./dev test --compose"))
}

impl Containers {
    /// Those that `./dev test --compose` has started.
    #[must_use]
    pub fn of_environment() -> Self {
        let loopback = |name: &str| format!("http://127.0.0.1:{}", variable(name));
        let environment = Environment {
            base_url: loopback("GATEWAY_PORT") + "/api/v1",
            search_grpc: loopback("SEARCH_1_PORT"),
            keys_grpc: loopback("KEYS_PORT"),
            billing_grpc: loopback("BILLING_PORT"),
            service_token: variable("OPERATOR_TOKEN"),
            jwt_secret: variable("SESSION_SECRET"),
            database_url_search: String::new(),
            database_url_keys: String::new(),
            database_url_billing: String::new(),
            redis_url: String::new(),
        };
        let other = Environment {
            search_grpc: loopback("SEARCH_2_PORT"),
            ..environment.clone()
        };
        Self {
            operator: Operator::connect(&environment, None),
            other_replica: Operator::connect(&other, None),
            environment,
        }
    }

    /// A new account with a key, credits and a rate that no test reaches. Names are the caller's, to be told apart from
    /// those of other tests.
    #[must_use]
    pub fn account(&self, name: &str) -> Account {
        let id = format!("account-{name}");
        self.operator.set_rate(&id, 1_000_000, 60);
        self.operator.grant(&id, 100_000);
        let jwt = session(&id, &self.environment.jwt_secret);
        Account::new(&self.environment, id, jwt)
    }

    /// A compose command: `restart gateway`.
    #[must_use]
    pub fn compose(&self, arguments: &[&str]) -> Output {
        let program = variable("DS_TEST__COMPOSE");
        let mut words = program.split(' ');
        Command::new(words.next().unwrap_or_default())
            .args(words)
            .args(arguments)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .output()
            .expect("compose can be run")
    }

    /// The same; what it printed, if it did well.
    #[must_use]
    pub fn compose_well(&self, arguments: &[&str]) -> String {
        let output = self.compose(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A fact about a service's container, by a template of `docker inspect`.
    #[must_use]
    pub fn inspect(&self, service: &str, template: &str) -> String {
        let id = self.compose_well(&["ps", "-q", service]);
        let output = Command::new("docker")
            .args(["inspect", "--format", template, &id])
            .output()
            .expect("docker can be run");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Waits until a service's container is healthy.
    pub fn wait_healthy(&self, service: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.inspect(service, "{{.State.Health.Status}}") != "healthy" {
            assert!(Instant::now() < deadline, "{service} is not healthy");
        }
    }
}
