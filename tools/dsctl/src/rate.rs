//! `dsctl rate`: how many requests an account may make.

use std::time::Duration;

use clap::{Args, Subcommand};
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::keys::v1::{GetRateRequest, Rate as RateMessage, SetRateRequest};
use serde_json::{Value, json};

use crate::connection::{Connection, accepted, timely};
use crate::credits::Account;
use crate::duration;
use crate::failure::Failure;
use crate::output::Output;

/// What to do with a rate.
#[derive(Debug, Subcommand)]
pub(crate) enum Rate {
    /// Gives an account a rate of its own
    Set(Set),
    /// The rate of an account
    Show(Account),
    /// Gives an account the default rate again
    Reset(Account),
}

/// `dsctl rate set`.
#[derive(Args, Debug)]
pub(crate) struct Set {
    #[command(flatten)]
    account: Account,
    /// Requests a window
    #[arg(long, value_parser = clap::value_parser!(i64).range(1..))]
    requests: i64,
    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    window: Duration,
}

impl Rate {
    /// Does it.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let mut client = KeyServiceClient::new(connection.keys().await?);
        let (account, rate) = match self {
            Self::Show(Account { account }) => {
                let request = timely(GetRateRequest {
                    account_id: account.clone(),
                });
                let rate = accepted("keys", client.get_rate(request).await)?.rate;
                return output.show(&document(account, rate.as_ref()), || {
                    sentence(account, rate.as_ref())
                });
            }
            Self::Set(Set {
                account: Account { account },
                requests,
                window,
            }) => {
                let window = prost_types::Duration::try_from(*window)
                    .map_err(|_| Failure::Refused("the window is longer than can be told".to_owned()))?;
                (
                    account,
                    Some(RateMessage {
                        requests: *requests,
                        window: Some(window),
                    }),
                )
            }
            Self::Reset(Account { account }) => (account, None),
        };
        let request = timely(SetRateRequest {
            account_id: account.clone(),
            rate,
        });
        accepted("keys", client.set_rate(request).await)?;
        output.show(&document(account, rate.as_ref()), || {
            format!(
                "{}; it holds at every gateway within 5 s",
                sentence(account, rate.as_ref())
            )
        })
    }
}

fn window(rate: &RateMessage) -> Duration {
    rate.window
        .and_then(|window| Duration::try_from(window).ok())
        .unwrap_or_default()
}

fn document(account: &str, rate: Option<&RateMessage>) -> Value {
    let rate =
        rate.map(|rate| json!({"requests": rate.requests, "windowSeconds": window(rate).as_secs_f64()}));
    json!({"accountId": account, "rate": rate})
}

fn sentence(account: &str, rate: Option<&RateMessage>) -> String {
    match rate {
        Some(rate) => format!(
            "{account}: {} requests in {}",
            rate.requests,
            duration::format(window(rate))
        ),
        None => format!("{account}: the default rate"),
    }
}
