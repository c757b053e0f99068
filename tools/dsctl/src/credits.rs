//! `dsctl credits`: balances and their ledger.

mod verification;

use clap::{Args, Subcommand};
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::billing::v1::ledger_entry::Cause;
use proto::billing::v1::{
    AdjustBalanceRequest, GetBalanceRequest, GrantCreditsRequest, LedgerEntry, ListLedgerEntriesRequest,
    Operation, RefundChargeRequest,
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
    /// Gives back what a charge has taken, once
    Refund(Refund),
    /// Gives or takes credits to correct an entry; the same id again moves nothing more
    Adjust(Adjust),
    /// The balance
    Show(Account),
    /// What moved the balance, newest first
    Ledger(Ledger),
    /// Recomputes every balance from its ledger, and tells where it differs; exit status 1 if it does anywhere
    Verify,
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

/// `dsctl credits refund`.
#[derive(Args, Debug)]
pub(crate) struct Refund {
    #[command(flatten)]
    account: Account,
    /// Number of the charge's entry in the ledger
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
    entry: i64,
}

/// `dsctl credits adjust`.
#[derive(Args, Debug)]
pub(crate) struct Adjust {
    #[command(flatten)]
    account: Account,
    /// Number of the entry in the ledger that is corrected
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
    entry: i64,
    /// How many credits: above 0 to give, below 0 to take
    #[arg(long, value_name = "CREDITS", allow_negative_numbers = true)]
    amount: i64,
    /// Id of this adjustment, as the number of a ticket; a new one if none is given
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
            Self::Refund(refund) => refund.run(connection, output).await,
            Self::Adjust(adjust) => adjust.run(connection, output).await,
            Self::Verify => verification::run(connection, output).await,
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
        let id = id_or_new(self.id.as_ref());
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

impl Refund {
    async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let mut client = BillingServiceClient::new(connection.billing().await?);
        let account = &self.account.account;
        let request = RefundChargeRequest {
            account_id: account.clone(),
            entry_id: self.entry,
        };
        let refunded = accepted("billing", client.refund_charge(timely(request)).await)?;
        output.show(
            &json!({
                "accountId": account, "entryId": self.entry, "amount": refunded.amount,
                "balance": refunded.balance, "replayed": refunded.replayed,
            }),
            || {
                let done = if refunded.replayed {
                    "had been refunded before"
                } else {
                    "refunded"
                };
                format!(
                    "{} credits of entry {} {done} to {account}; balance {}",
                    refunded.amount, self.entry, refunded.balance
                )
            },
        )
    }
}

impl Adjust {
    async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let mut client = BillingServiceClient::new(connection.billing().await?);
        let id = id_or_new(self.id.as_ref());
        let account = &self.account.account;
        let request = AdjustBalanceRequest {
            account_id: account.clone(),
            adjustment_id: id.clone(),
            entry_id: self.entry,
            amount: self.amount,
        };
        let adjusted = accepted("billing", client.adjust_balance(timely(request)).await)?;
        output.show(
            &json!({
                "accountId": account, "adjustmentId": id, "entryId": self.entry, "amount": self.amount,
                "balance": adjusted.balance, "replayed": adjusted.replayed,
            }),
            || {
                let done = if adjusted.replayed {
                    "had been adjusted before"
                } else {
                    "adjusted"
                };
                format!(
                    "{account} {done} by {} credits for entry {} as {id}; balance {}",
                    self.amount, self.entry, adjusted.balance
                )
            },
        )
    }
}

fn id_or_new(id: Option<&String>) -> String {
    id.cloned()
        .unwrap_or_else(|| Ambient::system().uuid_v7().to_string())
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
            let columns = [
                "id",
                "createdAt",
                "amount",
                "balance",
                "cause",
                "reference",
                "corrects",
            ];
            let rows: Vec<Vec<String>> = entries
                .iter()
                .map(|entry| columns.iter().map(|column| cell(entry.get(column))).collect())
                .collect();
            table(&columns, &rows)
        })
    }
}

fn entry(entry: &LedgerEntry) -> Value {
    let (cause, reference, corrects) = match &entry.cause {
        Some(Cause::Grant(grant)) => ("grant", Some(&grant.grant_id), None),
        Some(Cause::Charge(charge)) => {
            let cause = match charge.operation() {
                Operation::SearchPeople => "people search",
                Operation::SearchCompanies => "company search",
                Operation::Unspecified => "charge",
            };
            (cause, Some(&charge.charge_id), None)
        }
        Some(Cause::Refund(refund)) => ("refund", None, Some(refund.corrects)),
        Some(Cause::Adjustment(adjustment)) => (
            "adjustment",
            Some(&adjustment.adjustment_id),
            Some(adjustment.corrects),
        ),
        None => ("unknown", None, None),
    };
    json!({
        "id": entry.id, "amount": entry.amount, "balance": entry.balance,
        "createdAt": timestamp::json(entry.created_at), "cause": cause, "reference": reference,
        "corrects": corrects,
    })
}
