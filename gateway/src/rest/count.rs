//! How many records meet a search's filters: the `total` of a search with the same body, free of charge. It counts against
//! the rate as a search does.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use proto::account::AccountId;
use proto::search::v1::{CountCompaniesRequest, CountPeopleRequest, SearchQuery};
use proto::search_query::RecordKind;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Gateway, admission};
use crate::body::search_body;
use crate::error::ApiError;
use crate::upstream::Deadline;

/// A count's answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct CountResponse {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// The count.
    pub data: CountData,
}

/// A count.
#[derive(Debug, Serialize, ToSchema)]
pub struct CountData {
    /// All records that meet the query, exactly.
    #[schema(example = 1)]
    pub total: i64,
}

/// Counts people.
pub async fn people(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    count(&gateway, RecordKind::Person, request).await
}

/// Counts companies.
pub async fn companies(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    count(&gateway, RecordKind::Company, request).await
}

async fn count(gateway: &Gateway, kind: RecordKind, request: Request) -> Response {
    let deadline = gateway.deadline();
    let (head, body) = request.into_parts();
    admission::by_key(gateway, &head, deadline, async |account_id| {
        let bytes = gateway.bodies.read(&head.headers, body, deadline).await?;
        let query = search_body::parse(&bytes, kind).map_err(ApiError::invalid)?;
        let total = total(gateway, kind, &account_id, query, deadline).await?;
        let data = CountData { total };
        Ok(Json(CountResponse { success: true, data }).into_response())
    })
    .await
}

async fn total(
    gateway: &Gateway,
    kind: RecordKind,
    account_id: &AccountId,
    query: SearchQuery,
    deadline: Deadline,
) -> Result<i64, ApiError> {
    let service = gateway.upstreams.search.enter()?;
    let query = Some(query);
    Ok(match kind {
        RecordKind::Company => {
            let request = CountCompaniesRequest { query };
            let answer = service.call_repeatable(deadline, request, async |mut client, request| {
                client.count_companies(request).await
            });
            answer.await?.total
        }
        RecordKind::Person => {
            let account_id = account_id.as_str().to_owned();
            let request = CountPeopleRequest { account_id, query };
            let answer = service.call_repeatable(deadline, request, async |mut client, request| {
                client.count_people(request).await
            });
            answer.await?.total
        }
    })
}
