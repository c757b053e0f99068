//! `dsctl credits verify`: every balance, recomputed by the service from the ledger.

use indicatif::ProgressBar;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::billing::v1::{BalanceDifference, VerifyBalancesRequest};
use serde_json::{Value, json};
use tonic::Request;

use crate::connection::{Connection, accepted};
use crate::failure::Failure;
use crate::output::{Output, cell, table};

/// What a difference tells.
const COLUMNS: [&str; 4] = ["accountId", "balance", "recomputed", "entryId"];

/// Does it. That takes as long as the ledger is: nothing sets it a time.
pub(super) async fn run(connection: &Connection, output: Output) -> Result<(), Failure> {
    let mut client = BillingServiceClient::new(connection.billing().await?);
    let call = client.verify_balances(Request::new(VerifyBalancesRequest {}));
    let mut steps = accepted("billing", call.await)?;
    let (mut accounts, mut entries, mut differences) = (0, 0, Vec::new());
    // It shows itself on a terminal only, on standard error.
    let progress = ProgressBar::new_spinner();
    while let Some(step) = accepted("billing", steps.message().await.map(tonic::Response::new))? {
        accounts += step.accounts;
        entries += step.entries;
        differences.extend(step.differences.iter().map(difference));
        progress.set_message(format!("{accounts} accounts, {entries} entries"));
        progress.tick();
    }
    progress.finish_and_clear();
    let document = json!({"accounts": accounts, "entries": entries, "differences": differences});
    output.show(&document, || {
        let verified = format!("{accounts} accounts, {entries} entries: ");
        if differences.is_empty() {
            return verified + "every balance is what its ledger says";
        }
        let row = |difference: &Value| {
            let cells = COLUMNS.iter().map(|column| cell(difference.get(column)));
            cells.collect()
        };
        let rows: Vec<Vec<String>> = differences.iter().map(row).collect();
        format!(
            "{verified}{} differ\n{}",
            differences.len(),
            table(&COLUMNS, &rows)
        )
    })?;
    if differences.is_empty() {
        Ok(())
    } else {
        let count = differences.len();
        Err(Failure::Refused(format!(
            "{count} balances are not what their ledgers say"
        )))
    }
}

fn difference(difference: &BalanceDifference) -> Value {
    json!({
        "accountId": difference.account_id, "balance": difference.balance,
        "recomputed": difference.recomputed, "entryId": difference.entry_id,
    })
}
