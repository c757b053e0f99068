//! What an account has, and what has moved it: by an API key or by a session of the dashboard. Free of charge; it counts
//! against the rate as a search does.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use proto::billing::v1::{
    GetStatementRequest, GetStatementResponse, Operation, StatementEntry, StatementEntryType,
};
use proto::credits::read_page_token;
use proto::violation::{Violation, ViolationCode};
use serde::Serialize;
use tonic::Status;
use utoipa::ToSchema;

use super::query_string::QueryString;
use super::{Gateway, admission};
use crate::error::ApiError;
use crate::row::rfc3339;
use crate::upstream::Deadline;

/// The parameter with the number of entries a page.
pub const LIMIT: &str = "limit";

/// The parameter with `nextCursor` of the page before.
pub const CURSOR: &str = "cursor";

/// Entries a page unless told.
pub const DEFAULT_LIMIT: i32 = 25;

/// Most entries a page.
pub const MAX_LIMIT: i64 = 100;

/// The answer to who asks for their credits.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreditsResponse {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// Balance and ledger.
    pub data: CreditsData,
}

/// Balance and ledger of an account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreditsData {
    /// Credits there.
    #[schema(example = 999)]
    pub balance: i64,
    /// What has moved the balance, newest first. Entries are never changed and never removed.
    pub entries: Vec<CreditsEntry>,
    /// The cursor of the next page; null at the end.
    #[schema(required = true, example = "17")]
    pub next_cursor: Option<String>,
}

/// A movement of credits.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreditsEntry {
    /// Number of the entry, growing.
    #[schema(example = 18)]
    pub id: i64,
    /// What it was.
    #[serde(rename = "type")]
    pub kind: EntryType,
    /// What was paid for, of a charge; else null.
    #[schema(required = true)]
    pub operation: Option<PaidOperation>,
    /// Credits: above 0 given, below 0 taken.
    #[schema(example = -1)]
    pub amount: i64,
    /// The balance after it.
    #[schema(example = 999)]
    pub balance: i64,
    /// Number of the entry that it corrects, of a refund or an adjustment; else null.
    #[schema(required = true)]
    pub corrects: Option<i64>,
    /// When it was written.
    #[schema(format = DateTime, example = "2026-11-28T09:30:00.000Z")]
    pub created_at: String,
}

/// What a movement of credits was.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CreditsEntryType)]
pub enum EntryType {
    /// Credits given.
    Grant,
    /// Credits taken for a search.
    Charge,
    /// A charge given back.
    Refund,
    /// A correction.
    Adjustment,
}

/// An operation that is paid for, by its id in the OpenAPI document.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PaidOperation {
    /// A search for people.
    SearchPeople,
    /// A search for companies.
    SearchCompanies,
}

/// Tells the credits of an account.
pub async fn show(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    let deadline = gateway.deadline();
    let (head, _) = request.into_parts();
    admission::by_key_or_session(&gateway, &head, deadline, async |account_id| {
        let mut query = QueryString::parse(head.uri.query(), &[LIMIT, CURSOR]);
        let limit = query.integer(LIMIT, 1..=MAX_LIMIT);
        let cursor = query.text(CURSOR);
        if cursor
            .as_deref()
            .is_some_and(|cursor| read_page_token(cursor).is_none())
        {
            let violation = Violation::at(CURSOR, ViolationCode::InvalidFormat, "is no cursor of this list");
            query.refuse(violation.hint("`nextCursor` of the page before"));
        }
        query.check()?;
        let limit = limit.and_then(|limit| i32::try_from(limit).ok());
        let request = GetStatementRequest {
            account_id: account_id.as_str().to_owned(),
            page_size: Some(limit.unwrap_or(DEFAULT_LIMIT)),
            page_token: cursor.unwrap_or_default(),
        };
        let answer = statement(&gateway, request, deadline).await?;
        let data = data(answer).ok_or_else(|| Status::internal("the statement is not complete"))?;
        Ok(Json(CreditsResponse { success: true, data }).into_response())
    })
    .await
}

async fn statement(
    gateway: &Gateway,
    request: GetStatementRequest,
    deadline: Deadline,
) -> Result<GetStatementResponse, ApiError> {
    let service = gateway.upstreams.billing.enter()?;
    let answer = service.call_repeatable(deadline, request, async |mut client, request| {
        client.get_statement(request).await
    });
    Ok(answer.await?)
}

/// None if the statement breaks the billing service's contract.
fn data(statement: GetStatementResponse) -> Option<CreditsData> {
    Some(CreditsData {
        balance: statement.balance,
        entries: statement.entries.into_iter().map(entry).collect::<Option<_>>()?,
        next_cursor: Some(statement.next_page_token).filter(|token| !token.is_empty()),
    })
}

fn entry(entry: StatementEntry) -> Option<CreditsEntry> {
    let kind = match entry.r#type() {
        StatementEntryType::Unspecified => return None,
        StatementEntryType::Grant => EntryType::Grant,
        StatementEntryType::Charge => EntryType::Charge,
        StatementEntryType::Refund => EntryType::Refund,
        StatementEntryType::Adjustment => EntryType::Adjustment,
    };
    let operation = match entry.operation() {
        Operation::Unspecified => None,
        Operation::SearchPeople => Some(PaidOperation::SearchPeople),
        Operation::SearchCompanies => Some(PaidOperation::SearchCompanies),
    };
    Some(CreditsEntry {
        id: entry.id,
        kind,
        operation,
        amount: entry.amount,
        balance: entry.balance,
        corrects: entry.corrects,
        created_at: rfc3339(entry.created_at?)?,
    })
}
