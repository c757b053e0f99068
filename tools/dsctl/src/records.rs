//! `dsctl records delete` and `dsctl reveal`: single records.

use clap::{Args, Subcommand};
use futures::stream;
use proto::search::v1::import_record::Change;
use proto::search::v1::record_service_client::RecordServiceClient;
use proto::search::v1::{DeleteCompany, DeletePerson, ImportRecord, ImportRequest, RevealEmailRequest};
use serde_json::json;

use crate::connection::{Connection, accepted, refusal, timely};
use crate::credits::Account;
use crate::failure::Failure;
use crate::output::Output;
use crate::timestamp;

/// What to do with records.
#[derive(Debug, Subcommand)]
pub(crate) enum Records {
    /// Deletes records by the ids of their source; what is not there is no fault
    Delete(Delete),
}

/// `dsctl records delete`.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub(crate) struct Delete {
    /// External id of a company; may be given again
    #[arg(long = "company", value_name = "EXTERNAL_ID")]
    companies: Vec<String>,
    /// External id of a person; may be given again
    #[arg(long = "person", value_name = "EXTERNAL_ID")]
    people: Vec<String>,
}

/// `dsctl reveal`.
#[derive(Args, Debug)]
pub(crate) struct Reveal {
    #[command(flatten)]
    account: Account,
    /// Id of the person, as a search returns it
    #[arg(long, value_name = "ID")]
    person: String,
}

impl Records {
    /// Does it.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let Self::Delete(delete) = self;
        let mut client = RecordServiceClient::new(connection.search().await?);
        let request = ImportRequest {
            records: delete.records(),
        };
        let mut answers = accepted("search", client.import(timely(stream::iter([request]))).await)?;
        let answer = answers
            .message()
            .await
            .map_err(|status| Failure::Refused(refusal("search", &status)))?;
        let answer =
            answer.ok_or_else(|| Failure::Refused("the search service gave no answer".to_owned()))?;
        if !answer.rejected.is_empty() {
            let reasons: Vec<_> = answer
                .rejected
                .iter()
                .flat_map(|rejected| rejected.reasons.clone())
                .collect();
            return Err(Failure::Refused(reasons.join("; ")));
        }
        output.show(
            &json!({"deleted": answer.deleted, "position": answer.position}),
            || format!("{} deleted", answer.deleted),
        )
    }
}

impl Delete {
    fn records(&self) -> Vec<ImportRecord> {
        let companies = self.companies.iter().map(|id| {
            Change::DeleteCompany(DeleteCompany {
                external_id: id.clone(),
            })
        });
        let people = self.people.iter().map(|id| {
            Change::DeletePerson(DeletePerson {
                external_id: id.clone(),
            })
        });
        (1..)
            .zip(companies.chain(people))
            .map(|(line, change)| ImportRecord {
                line,
                change: Some(change),
            })
            .collect()
    }
}

impl Reveal {
    /// Notes the reveal, and shows the address.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let mut client = RecordServiceClient::new(connection.search().await?);
        let request = RevealEmailRequest {
            account_id: self.account.account.clone(),
            person_id: self.person.clone(),
        };
        let revealed = accepted("search", client.reveal_email(timely(request)).await)?;
        output.show(
            &json!({
                "personId": self.person, "email": revealed.email, "revealedAt": timestamp::json(revealed.revealed_at),
            }),
            || revealed.email.clone().unwrap_or_else(|| "no address is known".to_owned()),
        )
    }
}
