//! `dsctl credits`: balances and their ledger.

use clap::{Args, Subcommand};
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::billing::v1::ledger_entry::Cause;
use proto::billing::v1::{
    GetBalanceRequest, GrantCreditsRequest, LedgerEntry, ListLedgerEntriesRequest, Operation,
};
use runtime::ambient::Ambient;
use serde_json::{Value, json};

use crate::connection::{Connection, accepted, timely};
use crate::failure::Failure;
use crate::output::{Output, cell, table};
use crate::timestamp;

/// Most entries of the ledger that the service gives at a time.
const LARGEST_PAGE: usize = 1_000;

/// What to do with credits.
#[derive(Debug, Subcommand)]
pub(crate) enum Credits {
    /// Gives credits; the same id again gives nothing more
    Grant(Grant),
    /// The balance
    Show(Account),
    /// What moved the balance, newest first
    Ledger(Ledger),
}

/// Whose credits.
#[derive(Args, Debug)]
pub(crate) struct Account {
    /// The account
    #[arg(long, env = "ACCOUNT_ID", value_name = "ID")]
    pub(crate) account: String,
}

/// `dsctl credits grant`.
#[derive(Args, Debug)]
pub(crate) struct Grant {
    #[command(flatten)]
    account: Account,
    /// How many credits
    #[arg(long, value_name = "CREDITS", value_parser = clap::value_parser!(i64).range(1..))]
    amount: i64,
    /// Id of this grant; a new one if none is given
    #[arg(long)]
    id: Option<String>,
}

/// `dsctl credits ledger`.
#[derive(Args, Debug)]
pub(crate) struct Ledger {
    #[command(flatten)]
    account: Account,
    /// How many entries at most
    #[arg(long, default_value_t = 100)]
    limit: usize,
}

impl Credits {
    /// Does it.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        match self {
            Self::Grant(grant) => grant.run(connection, output).await,
            Self::Show(Account { account }) => {
                let mut client = BillingServiceClient::new(connection.billing().await?);
                let request = timely(GetBalanceRequest {
                    account_id: account.clone(),
                });
                let balance = accepted("billing", client.get_balance(request).await)?.balance;
                output.show(&json!({"accountId": account, "balance": balance}), || {
                    format!("{balance} credits")
                })
            }
            Self::Ledger(ledger) => ledger.run(connection, output).await,
        }
    }
}

impl Grant {
    async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let mut client = BillingServiceClient::new(connection.billing().await?);
        let id = self
            .id
            .clone()
            .unwrap_or_else(|| Ambient::system().uuid_v7().to_string());
        let account = &self.account.account;
        let request = GrantCreditsRequest {
            account_id: account.clone(),
            grant_id: id.clone(),
            amount: self.amount,
        };
        let granted = accepted("billing", client.grant_credits(timely(request)).await)?;
        output.show(
            &json!({
                "accountId": account, "grantId": id, "amount": self.amount,
                "balance": granted.balance, "replayed": granted.replayed,
            }),
            || {
                let done = if granted.replayed {
                    "had been granted before"
                } else {
                    "granted"
                };
                format!(
                    "{} credits {done} to {account} as {id}; balance {}",
                    self.amount, granted.balance
                )
            },
        )
    }
}

impl Ledger {
    async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let mut client = BillingServiceClient::new(connection.billing().await?);
        let (mut entries, mut page_token) = (Vec::new(), String::new());
        while entries.len() < self.limit {
            let size = (self.limit - entries.len()).min(LARGEST_PAGE);
            let request = ListLedgerEntriesRequest {
                account_id: self.account.account.clone(),
                page_size: i32::try_from(size).ok(),
                page_token,
            };
            let page = accepted("billing", client.list_ledger_entries(timely(request)).await)?;
            entries.extend(page.entries.iter().map(entry));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        let document =
            json!({"accountId": self.account.account, "entries": entries, "more": !page_token.is_empty()});
        output.show(&document, || {
            let columns = ["id", "createdAt", "amount", "balance", "cause", "reference"];
            let rows: Vec<Vec<String>> = entries
                .iter()
                .map(|entry| columns.iter().map(|column| cell(entry.get(column))).collect())
                .collect();
            table(&columns, &rows)
        })
    }
}

fn entry(entry: &LedgerEntry) -> Value {
    let (cause, reference) = match &entry.cause {
        Some(Cause::Grant(grant)) => ("grant", Some(&grant.grant_id)),
        Some(Cause::Charge(charge)) => (
            match charge.operation() {
                Operation::SearchPeople => "people search",
                Operation::SearchCompanies => "company search",
                Operation::Unspecified => "charge",
            },
            Some(&charge.charge_id),
        ),
        None => ("unknown", None),
    };
    json!({
        "id": entry.id, "amount": entry.amount, "balance": entry.balance,
        "createdAt": timestamp::json(entry.created_at), "cause": cause, "reference": reference,
    })
}
