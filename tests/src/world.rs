//! The stack that all tests of a binary share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use devstack::{Environment, Options, Part, Stack};
use tonic::transport::{Channel, ClientTlsConfig};

use crate::account::{Account, session};
use crate::operator::{Operator, channel};

/// A running stack and what is known of it.
pub struct World {
    /// The processes.
    pub stack: Stack,
    /// Addresses and secrets, as `./dev env` prints them.
    pub environment: Environment,
    /// The internal side.
    pub operator: Operator,
    /// How its services are called, where they speak TLS.
    tls: Option<ClientTlsConfig>,
    words: AtomicU64,
}

/// The stack that all tests of this binary share; started by the first that asks.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| World::start(Options::new()))
}

impl World {
    /// A stack of the caller's own, for tests that stop or change its processes.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(options: Options) -> Self {
        // A machine that is busy with tests is no Redis that is away.
        let options = options.setting("DS_GATEWAY__REDIS_BUDGET", "5s");
        let stack = Stack::start(options).expect("the stack starts");
        let environment = stack.environment().expect("the stack knows itself");
        let operator = Operator::connect(&environment, None);
        Self {
            stack,
            environment,
            operator,
            tls: None,
            words: AtomicU64::new(0),
        }
    }

    /// The same, whose services speak TLS from their next start on, and are called so from now on.
    #[must_use]
    pub fn speaking_tls(mut self, tls: ClientTlsConfig) -> Self {
        let Environment {
            search_grpc,
            keys_grpc,
            billing_grpc,
            ..
        } = &mut self.environment;
        for address in [search_grpc, keys_grpc, billing_grpc] {
            *address = address.replacen("http://", "https://", 1);
        }
        self.operator = Operator::connect(&self.environment, Some(&tls));
        self.tls = Some(tls);
        self
    }

    /// Address of a replica of a service.
    ///
    /// # Panics
    /// If there is none.
    pub fn service_address(&self, part: impl Into<Part>) -> String {
        let address = self.stack.address(part).expect("a replica has an address");
        if self.tls.is_some() {
            address.replacen("http://", "https://", 1)
        } else {
            address
        }
    }

    /// A connection to a service at this address, made when it is first called.
    pub fn channel(&self, address: &str) -> Channel {
        self.operator
            .block_on(async { channel(address, self.tls.as_ref()) })
    }

    /// The sum of a metric of a process over all its labels; none if it has not been told yet.
    ///
    /// # Panics
    /// If the process does not tell its metrics.
    pub fn metric(&self, part: impl Into<Part>, name: &str) -> Option<f64> {
        let address = self
            .stack
            .admin_address(part)
            .expect("a process has an admin port");
        let text = reqwest::blocking::get(format!("{address}/metrics"))
            .and_then(reqwest::blocking::Response::text)
            .expect("metrics are told");
        let of_name = |line: &str| {
            let rest = line.strip_prefix(name)?;
            let is_whole = rest.starts_with(['{', ' ']);
            is_whole.then(|| rest.rsplit(' ').next()?.parse::<f64>().ok())?
        };
        let values: Vec<f64> = text.lines().filter_map(of_name).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }

    /// A word that nobody else uses: lower-case letters, no plural.
    pub fn word(&self) -> String {
        let mut number = self.words.fetch_add(1, Ordering::Relaxed);
        let mut word = String::from("zq");
        for _ in 0..4 {
            word.push(char::from(
                b"bcdfghjklmnpqrtvwxz"[usize::try_from(number % 19).unwrap_or(0)],
            ));
            number /= 19;
        }
        word + "o"
    }

    /// A new account with a key, 100,000 credits and a rate that no test reaches.
    pub fn account(&self) -> Account {
        self.account_of(|id| session(id, &self.environment.jwt_secret))
    }

    /// The same, whose session is made by this from its id.
    pub fn account_of(&self, session: impl FnOnce(&str) -> String) -> Account {
        let account = self.make_account(session);
        self.operator.grant(&account.id, 100_000);
        account
    }

    /// A new account with a key and such a rate, and without credits.
    pub fn poor_account(&self) -> Account {
        self.make_account(|id| session(id, &self.environment.jwt_secret))
    }

    fn make_account(&self, session: impl FnOnce(&str) -> String) -> Account {
        let id = format!("account-{}", self.word());
        self.operator.set_rate(&id, 1_000_000, 60);
        let jwt = session(&id);
        Account::new(&self.environment, id, jwt)
    }
}
