//! `search.v1.IndexService`.

use std::sync::Arc;

use proto::search::v1::index_service_server::IndexService;
use proto::search::v1::{
    GetIndexStatusRequest, GetIndexStatusResponse, RebuildIndexRequest, RebuildIndexResponse,
};
use tonic::{Request, Response, Status};

use crate::error::SearchError;
use crate::feed::Feed;

/// The methods.
pub struct IndexApi {
    /// What keeps the index.
    pub feed: Arc<Feed>,
}

#[tonic::async_trait]
impl IndexService for IndexApi {
    async fn get_index_status(
        &self,
        _: Request<GetIndexStatusRequest>,
    ) -> Result<Response<GetIndexStatusResponse>, Status> {
        let status = self.feed.status().await.map_err(SearchError::from)?;
        let (companies, people) = (status.index.companies, status.index.people);
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let lag = status.lag.age.unwrap_or_default();
        Ok(Response::new(GetIndexStatusResponse {
            companies: count(companies.documents),
            people: count(people.documents),
            segments: count(companies.segments + people.segments),
            size_bytes: count(companies.bytes + people.bytes),
            position: status.index.position.unwrap_or(0),
            feed_position: status.position,
            lag_changes: status.lag.changes,
            lag: Some(prost_types::Duration {
                seconds: lag.num_seconds(),
                nanos: lag.subsec_nanos(),
            }),
            rebuilding: status.rebuilding,
            merges: count(companies.merges + people.merges),
        }))
    }

    async fn rebuild_index(
        &self,
        _: Request<RebuildIndexRequest>,
    ) -> Result<Response<RebuildIndexResponse>, Status> {
        Ok(Response::new(RebuildIndexResponse {
            started: self.feed.rebuild(),
        }))
    }
}
