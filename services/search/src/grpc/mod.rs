//! `search.v1` in and out: messages to plain values, refusals to `Status`.

use chrono::{DateTime, Utc};
use proto::FILE_DESCRIPTOR_SET;
use proto::account::{self, AccountId};
use proto::error_code::ErrorCode;
use proto::search::v1::index_service_server::IndexServiceServer;
use proto::search::v1::record_service_server::RecordServiceServer;
use proto::search::v1::search_service_server::SearchServiceServer;
use proto::violation::{self, Violation};
use runtime::grpc_server::{GrpcService, not_taken};
use runtime::process::with_causes;
use runtime::service_token::Scope;
use tonic::Status;
use tonic::service::Routes;

use crate::error::SearchError;
use crate::feed::FeedError;
use crate::store::StoreError;

mod index;
mod records;
mod search;

pub use index::IndexApi;
pub use records::RecordApi;
pub use search::SearchApi;

/// Largest batch of an import, in bytes: 5,000 records as long as they may be would be larger, those of any real source
/// are a tenth of it.
const MAX_BATCH_BYTES: usize = 64 << 20;

/// The services as the runtime serves them.
#[must_use]
pub fn service(search: SearchApi, records: RecordApi, index: IndexApi) -> GrpcService {
    let records = RecordServiceServer::new(records).max_decoding_message_size(MAX_BATCH_BYTES);
    GrpcService {
        routes: Routes::new(SearchServiceServer::new(search))
            .add_service(records)
            .add_service(IndexServiceServer::new(index)),
        descriptors: FILE_DESCRIPTOR_SET,
        scope_of,
        names: &[
            "search.v1.SearchService",
            "search.v1.RecordService",
            "search.v1.IndexService",
        ],
    }
}

fn scope_of(path: &str) -> Option<Scope> {
    match path.strip_prefix("/search.v1.")? {
        "SearchService/SearchCompanies"
        | "SearchService/SearchPeople"
        | "SearchService/CountCompanies"
        | "SearchService/CountPeople"
        | "SearchService/ExplainCompanies"
        | "SearchService/ExplainPeople"
        | "SearchService/Suggest" => Some(Scope::Search),
        "RecordService/Import"
        | "RecordService/RevealEmail"
        | "IndexService/GetIndexStatus"
        | "IndexService/RebuildIndex" => Some(Scope::Admin),
        _ => None,
    }
}

fn read_account(id: &str) -> Result<AccountId, Violation> {
    account::check(id)
}

fn timestamp(time: DateTime<Utc>) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: time.timestamp(),
        // Below a second, so it always fits.
        nanos: i32::try_from(time.timestamp_subsec_nanos()).unwrap_or(0),
    }
}

impl From<SearchError> for Status {
    fn from(error: SearchError) -> Self {
        match &error {
            SearchError::Invalid(violations) => violation::to_status(violations),
            SearchError::NoSuchPerson => ErrorCode::NotFound.status("There is no such person"),
            SearchError::NotCounted => {
                not_taken(ErrorCode::Unavailable.status("Suggestions are still being counted"))
            }
            SearchError::DeadlineExceeded => ErrorCode::Timeout.status("The search took longer than it may"),
            SearchError::Draining | SearchError::Feed(FeedError::Draining) => {
                ErrorCode::Unavailable.status("The service is about to stop")
            }
            SearchError::Store(StoreError::Unavailable(_))
            | SearchError::Feed(FeedError::Store(StoreError::Unavailable(_))) => {
                tracing::warn!(error = with_causes(&error), "the database is not available");
                ErrorCode::Unavailable.status("The records can't be reached at present")
            }
            SearchError::Store(StoreError::Broken(_))
            | SearchError::Engine(_)
            | SearchError::Feed(_)
            | SearchError::Row(_)
            | SearchError::BrokenOff(_) => {
                tracing::error!(error = with_causes(&error), "a call has failed");
                ErrorCode::Internal.status("Something went wrong with the search")
            }
        }
    }
}
