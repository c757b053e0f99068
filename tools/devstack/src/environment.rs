//! What a caller has to know to use a stack, under the names that scripts rely on.

use std::process::Command;

use crate::error::Error;
use crate::installation::Installation;
use crate::run::run;
use crate::service::{Part, Service, redis_url};

/// Addresses and secrets of a stack.
#[derive(Clone, Debug)]
pub struct Environment {
    /// `BASE_URL`: the gateway, with `/api/v1`.
    pub base_url: String,
    /// `SEARCH_GRPC`: `http://127.0.0.1:port`.
    pub search_grpc: String,
    /// `KEYS_GRPC`: `http://127.0.0.1:port`.
    pub keys_grpc: String,
    /// `BILLING_GRPC`: `http://127.0.0.1:port`.
    pub billing_grpc: String,
    /// `SERVICE_TOKEN`: an operator's, with every scope.
    pub service_token: String,
    /// `JWT_SECRET`: HS256 secret of session tokens.
    pub jwt_secret: String,
    /// `DATABASE_URL_SEARCH`, as the role that serves.
    pub database_url_search: String,
    /// `DATABASE_URL_KEYS`, as the role that serves.
    pub database_url_keys: String,
    /// `DATABASE_URL_BILLING`, as the role that serves.
    pub database_url_billing: String,
    /// `REDIS_URL`, with its password.
    pub redis_url: String,
}

impl Environment {
    pub(crate) fn of(installation: &Installation) -> Result<Self, Error> {
        let address = |service: Service| installation.address(Part::from(service));
        Ok(Self {
            base_url: format!("{}/api/v1", address(Service::Gateway)?),
            search_grpc: address(Service::Search)?,
            keys_grpc: address(Service::Keys)?,
            billing_grpc: address(Service::Billing)?,
            service_token: installation.state.secrets.operator_token.clone(),
            jwt_secret: installation.state.secrets.jwt.clone(),
            database_url_search: installation.database_url(Service::Search)?,
            database_url_keys: installation.database_url(Service::Keys)?,
            database_url_billing: installation.database_url(Service::Billing)?,
            redis_url: redis_url(&installation.state),
        })
    }

    /// All of it by name, as environment variables.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("BASE_URL", self.base_url.clone()),
            ("SEARCH_GRPC", self.search_grpc.clone()),
            ("KEYS_GRPC", self.keys_grpc.clone()),
            ("BILLING_GRPC", self.billing_grpc.clone()),
            ("SERVICE_TOKEN", self.service_token.clone()),
            ("JWT_SECRET", self.jwt_secret.clone()),
            ("DATABASE_URL_SEARCH", self.database_url_search.clone()),
            ("DATABASE_URL_KEYS", self.database_url_keys.clone()),
            ("DATABASE_URL_BILLING", self.database_url_billing.clone()),
            ("REDIS_URL", self.redis_url.clone()),
        ]
    }
}

/// An account that can search and manage its keys.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its id.
    pub id: String,
    /// An API key of its own.
    pub api_key: String,
    /// A session JWT.
    pub jwt: String,
}

/// The account's commands, given through `dsctl`: the one program that knows how.
pub(crate) struct Operator<'a> {
    pub(crate) installation: &'a Installation,
    pub(crate) account: &'a str,
}

/// Longer than anybody works on one thing.
const SESSION: &str = "720h";

impl Operator<'_> {
    /// `dsctl`, ready to speak to this installation.
    pub(crate) fn dsctl(installation: &Installation) -> Result<Command, Error> {
        let mut command = Command::new(installation.binary("dsctl")?);
        command.envs(Environment::of(installation)?.variables());
        Ok(command)
    }

    /// A session JWT.
    pub(crate) fn token(&self) -> Result<String, Error> {
        let mut command = Self::dsctl(self.installation)?;
        let printed = run(command.args(["token", "--account", self.account, "--ttl", SESSION]))?;
        Ok(printed.trim().to_owned())
    }

    /// Gives credits once for each grant id.
    pub(crate) fn grant(&self, credits: u64, id: &str) -> Result<(), Error> {
        let mut command = Self::dsctl(self.installation)?;
        command.args([
            "credits",
            "grant",
            "--account",
            self.account,
            "--id",
            id,
            "--amount",
        ]);
        run(command.arg(credits.to_string())).map(|_| ())
    }

    /// The secret of a new API key.
    pub(crate) fn create_key(&self, jwt: &str, name: &str) -> Result<String, Error> {
        let mut command = Self::dsctl(self.installation)?;
        let printed = run(command
            .env("JWT", jwt)
            .args(["keys", "create", "--name", name, "--json"]))?;
        let created: serde_json::Value = serde_json::from_str(&printed)
            .map_err(|error| Error::Answer(format!("`dsctl keys create --json` printed no JSON: {error}")))?;
        let secret = created.get("secret").and_then(serde_json::Value::as_str);
        secret
            .map(str::to_owned)
            .ok_or_else(|| Error::Answer("`dsctl keys create --json` told no secret".to_owned()))
    }
}
