//! The two searches: one function, in the contract's order.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use proto::account::AccountId;
use proto::billing::v1::{ChargeResponse, Operation};
use proto::search::v1::{
    PageInfo, PaginationMode, SearchCompaniesRequest, SearchPeopleRequest, SearchQuery, Sort, SortDirection,
};
use proto::search_query::{RecordKind, field_names, sort_names};
use serde::Serialize;
use tonic::Status;
use utoipa::ToSchema;

use super::{Gateway, admission};
use crate::body::search_body;
use crate::credits::{self, CreditsBody, IDEMPOTENCY_REPLAYED, Purchase};
use crate::error::ApiError;
use crate::row::{Row, Selection};
use crate::upstream::Deadline;

/// A search's answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResponse<R> {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// The page.
    pub data: SearchData<R>,
    /// What it has cost.
    pub credits: CreditsBody,
}

/// One page of a result.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchData<R> {
    /// The records of this page, in the order of `sort`.
    pub rows: Vec<R>,
    /// All records that meet the query, exactly.
    #[schema(example = 1)]
    pub total: i64,
    /// Number of this page, from 1; with a cursor, the pages are counted.
    #[schema(example = 1)]
    pub page: i64,
    /// Records a page.
    #[schema(example = 25)]
    pub limit: i64,
    /// The cursor of the next page; null at the end.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
    /// How this request was paged.
    pub pagination_mode: PagingMode,
    /// The order applied.
    pub sort: AppliedSort,
}

/// How a request was paged: by page number or by cursor.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PaginationMode)]
pub enum PagingMode {
    /// By page number.
    Page,
    /// By cursor.
    Cursor,
}

/// An order: by `field`, then by `id`.
#[derive(Debug, Serialize, ToSchema)]
pub struct AppliedSort {
    /// The field.
    #[schema(example = "infoUpdatedAt")]
    pub field: &'static str,
    /// The direction.
    pub dir: Direction,
}

/// A direction; records without a value come last in both.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SortDirection)]
pub enum Direction {
    /// Smallest, earliest or first letter first.
    Asc,
    /// Largest, latest or last letter first.
    Desc,
}

impl PagingMode {
    /// None if the search service left it open.
    pub(super) const fn of(mode: PaginationMode) -> Option<Self> {
        match mode {
            PaginationMode::Page => Some(Self::Page),
            PaginationMode::Cursor => Some(Self::Cursor),
            PaginationMode::Unspecified => None,
        }
    }
}

impl AppliedSort {
    /// None if the search service left something open.
    pub(super) fn of(kind: RecordKind, sort: Sort) -> Option<Self> {
        let dir = match sort.direction() {
            SortDirection::Asc => Direction::Asc,
            SortDirection::Desc => Direction::Desc,
            SortDirection::Unspecified => return None,
        };
        let known = sort_names(kind).iter().find(|(_, known)| *known == sort.field());
        known.map(|(field, _)| Self { field, dir })
    }
}

/// Searches people.
pub async fn people(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    search(&gateway, RecordKind::Person, request).await
}

/// Searches companies.
pub async fn companies(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    search(&gateway, RecordKind::Company, request).await
}

async fn search(gateway: &Gateway, kind: RecordKind, request: Request) -> Response {
    let deadline = gateway.deadline();
    let (head, body) = request.into_parts();

    // 1. Credential. 2. Rate limit: from here on, every response tells of it.
    admission::by_key(gateway, &head, deadline, async |account_id| {
        // 3. Media type, JSON, validation.
        let bytes = gateway.bodies.read(&head.headers, body, deadline).await?;
        let (query, idempotency_key) = match (
            search_body::parse(&bytes, kind),
            credits::idempotency_key(&head.headers),
        ) {
            (Ok(query), Ok(key)) => (query, key),
            (query, key) => {
                let in_body = query.err().into_iter().flatten();
                return Err(ApiError::invalid(key.err().into_iter().chain(in_body).collect()));
            }
        };

        // 4. Credits known to be short.
        let purchase = Purchase {
            account_id: account_id.clone(),
            operation: operation(kind),
            idempotency: idempotency_key.map(|key| credits::bind(key, &query)),
        };
        gateway.credits.preview(&purchase, deadline).await?;

        // 5. Search.
        let data = find(gateway, kind, &account_id, query, deadline).await?;

        // 6. Charge.
        let charged = gateway.credits.charge(purchase, deadline).await?;

        // 7. Response.
        Ok(respond(data, &charged))
    })
    .await
}

/// What a search for such records is paid for as.
pub(super) const fn operation(kind: RecordKind) -> Operation {
    match kind {
        RecordKind::Company => Operation::SearchCompanies,
        RecordKind::Person => Operation::SearchPeople,
    }
}

/// A page is made ready as a whole before it is paid for.
async fn find(
    gateway: &Gateway,
    kind: RecordKind,
    account_id: &AccountId,
    query: SearchQuery,
    deadline: Deadline,
) -> Result<SearchData<Row>, ApiError> {
    let selection = Selection::of(&query, field_names(kind));
    let service = gateway.upstreams.search.enter()?;
    let (rows, page) = match kind {
        RecordKind::Company => {
            let request = SearchCompaniesRequest { query: Some(query) };
            let answer = service.call_repeatable(deadline, request, async |mut client, request| {
                client.search_companies(request).await
            });
            let answer = answer.await?;
            (
                answer
                    .companies
                    .into_iter()
                    .map(|company| selection.company(company))
                    .collect(),
                answer.page,
            )
        }
        RecordKind::Person => {
            let account_id = account_id.as_str().to_owned();
            let request = SearchPeopleRequest {
                account_id,
                query: Some(query),
            };
            let answer = service.call_repeatable(deadline, request, async |mut client, request| {
                client.search_people(request).await
            });
            let answer = answer.await?;
            (
                answer
                    .people
                    .into_iter()
                    .map(|person| selection.person(person))
                    .collect(),
                answer.page,
            )
        }
    };
    page.and_then(|page| data(kind, rows, page))
        .ok_or_else(|| Status::internal("the search service's answer has no valid page").into())
}

/// The page as it is answered; none if it breaks the search service's contract.
pub(super) fn data(kind: RecordKind, rows: Vec<Row>, page: PageInfo) -> Option<SearchData<Row>> {
    let pagination_mode = PagingMode::of(page.pagination_mode())?;
    let sort = AppliedSort::of(kind, page.sort?)?;
    let PageInfo {
        total,
        page,
        limit,
        next_cursor,
        ..
    } = page;
    Some(SearchData {
        rows,
        total,
        page,
        limit,
        next_cursor,
        pagination_mode,
        sort,
    })
}

fn respond(data: SearchData<Row>, charged: &ChargeResponse) -> Response {
    let credits = CreditsBody {
        cost: charged.cost,
        balance: charged.balance,
    };
    let mut response = Json(SearchResponse {
        success: true,
        data,
        credits,
    })
    .into_response();
    if charged.replayed {
        response
            .headers_mut()
            .insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
