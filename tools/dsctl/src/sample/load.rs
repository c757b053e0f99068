//! `dsctl load-sample`: from an empty system to a first search: the sample's records, and an account that can search them.
//!
//! Each step finds what a run before it has done, so that it can be run again: the records are unchanged then, the grant
//! has its id, and an account that has an active key gets no other one.

use std::io::PipeWriter;
use std::thread;
use std::time::Duration;

use clap::Args;
use proto::billing::v1::GrantCreditsRequest;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use reqwest::Method;
use runtime::ambient::Ambient;
use serde_json::{Value, json};

use super::title::Titles;
use super::{SamplePeople, write_lines};
use crate::connection::{Connection, accepted, timely};
use crate::credits::Account;
use crate::failure::Failure;
use crate::import::import;
use crate::output::Output;
use crate::source::Source;
use crate::token;

/// Name of the account's key, and id of its grant.
const NAME: &str = "sample";

/// Longest wait until the records are searchable.
const PATIENCE: Duration = Duration::from_mins(15);

/// How long the session may last that makes the key.
const SESSION: Duration = Duration::from_mins(10);

/// `dsctl load-sample`.
#[derive(Args, Debug)]
pub(crate) struct LoadSample {
    #[command(flatten)]
    sample: SamplePeople,
    #[command(flatten)]
    account: Account,
    /// How many credits to give
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(i64).range(1..))]
    credits: i64,
}

impl LoadSample {
    /// Loads it, and prints the key, if a new one was made.
    pub(crate) async fn run(self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let account = &self.account.account.clone();
        let credits = self.credits;
        let imported = import(
            vec![self.sample.into_source()?],
            connection,
            Some(PATIENCE),
            false,
        )
        .await?;
        imported.verdict()?;
        grant(connection, account, credits).await?;
        let key = key(connection, account).await?;
        output.show(
            &json!({"records": imported.json(), "accountId": account, "apiKey": key}),
            || {
                let told = key.as_ref().map_or_else(
                    || "it has an API key already".to_owned(),
                    |key| format!("its API key, shown this once:\n{key}"),
                );
                format!("{}\naccount {account} has credits; {told}", imported.human())
            },
        )
    }
}

impl SamplePeople {
    /// The companies, then the people, made as they are read.
    fn into_source(self) -> Result<Source, Failure> {
        let companies = self.origin.read()?;
        let titles = Titles::parse(&self.read_titles()?);
        let (reader, writer) = std::io::pipe().map_err(Failure::Output)?;
        let write = move |mut writer: PipeWriter| {
            write_lines(&mut writer, companies.iter())?;
            write_lines(&mut writer, self.people(&companies, &titles))
        };
        // It ends when all is read, or when nobody reads on.
        thread::spawn(move || write(writer));
        Ok(Source::made(NAME, reader))
    }
}

async fn grant(connection: &Connection, account: &str, amount: i64) -> Result<(), Failure> {
    let mut client = BillingServiceClient::new(connection.billing().await?);
    let request = GrantCreditsRequest {
        account_id: account.to_owned(),
        grant_id: NAME.to_owned(),
        amount,
    };
    accepted("billing", client.grant_credits(timely(request)).await).map(|_| ())
}

/// The secret of a new key; none if the account has an active one.
async fn key(connection: &Connection, account: &str) -> Result<Option<String>, Failure> {
    let jwt = token::sign(account, SESSION, &Ambient::system())?;
    let keys = connection
        .rest(Method::GET, "/keys", |request| request.bearer_auth(&jwt))
        .await?;
    let is_active = |key: &Value| key.get("active").and_then(Value::as_bool) == Some(true);
    let keys = keys.get("keys").and_then(Value::as_array);
    if keys.is_some_and(|keys| keys.iter().any(is_active)) {
        return Ok(None);
    }
    let created = connection
        .rest(Method::POST, "/keys", |request| {
            request.bearer_auth(&jwt).json(&json!({"name": NAME}))
        })
        .await?;
    let secret = created.get("secret").and_then(Value::as_str);
    Ok(secret.map(str::to_owned))
}
