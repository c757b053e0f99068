//! The search service, called by gRPC: one hop.

use std::time::Duration;

use devstack::Environment;
use proto::search::v1::index_service_client::IndexServiceClient;
use proto::search::v1::record_service_client::RecordServiceClient;
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{
    GetIndexStatusRequest, GetIndexStatusResponse, RebuildIndexRequest, SearchCompaniesRequest,
    SearchPeopleRequest, SearchQuery,
};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use uuid::Uuid;

use super::progress::{Progress, tell};
use crate::BoxError;

/// Companies or people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Companies,
    People,
}

/// The first page of an answer, as far as it is compared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) total: i64,
    pub(super) ids: Vec<Uuid>,
    /// Where the next page begins; asked of the search service alone.
    pub(super) next: Option<String>,
}

/// A connection of its own to the service.
#[derive(Clone)]
pub(super) struct Ours {
    pub(super) channel: Channel,
    token: MetadataValue<Ascii>,
}

impl Ours {
    /// Connects.
    pub(super) async fn connect(environment: &Environment) -> Result<Self, BoxError> {
        let endpoint = Endpoint::from_shared(environment.search_grpc.clone())?.tcp_nodelay(true);
        Ok(Self {
            channel: endpoint.connect().await?,
            token: format!("Bearer {}", environment.service_token).parse()?,
        })
    }

    /// A request that shows the service token.
    pub(super) fn request<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        request.metadata_mut().insert("authorization", self.token.clone());
        request
    }

    /// The records' side of it.
    pub(super) fn records(&self) -> RecordServiceClient<Channel> {
        RecordServiceClient::new(self.channel.clone())
    }

    /// Searches.
    pub(super) async fn search(&self, kind: Kind, query: &SearchQuery) -> Result<Answer, BoxError> {
        let mut client = SearchServiceClient::new(self.channel.clone());
        let query = Some(query.clone());
        let (ids, page) = match kind {
            Kind::Companies => {
                let request = self.request(SearchCompaniesRequest { query });
                let answer = client.search_companies(request).await?.into_inner();
                (parse(answer.companies.iter().map(|row| &row.id))?, answer.page)
            }
            Kind::People => {
                let account_id = "bench".to_owned();
                let request = self.request(SearchPeopleRequest { account_id, query });
                let answer = client.search_people(request).await?.into_inner();
                (parse(answer.people.iter().map(|row| &row.id))?, answer.page)
            }
        };
        let page = page.ok_or("an answer says nothing of its page")?;
        Ok(Answer {
            total: page.total,
            ids,
            next: page.next_cursor,
        })
    }

    /// The index as it is.
    pub(super) async fn status(&self) -> Result<GetIndexStatusResponse, BoxError> {
        let mut client = IndexServiceClient::new(self.channel.clone());
        let answer = client
            .get_index_status(self.request(GetIndexStatusRequest {}))
            .await?;
        Ok(answer.into_inner())
    }

    /// Builds the index anew, and waits until that is done.
    pub(super) async fn rebuild(&self) -> Result<(), BoxError> {
        let mut client = IndexServiceClient::new(self.channel.clone());
        client.rebuild_index(self.request(RebuildIndexRequest {})).await?;
        while self.status().await?.rebuilding {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Waits until the index has followed the records up to this position.
    pub(super) async fn wait_searchable(&self, position: i64) -> Result<(), BoxError> {
        let behind = self.status().await?.lag_changes;
        let progress = Progress::new("waiting for the index", behind.try_into()?);
        loop {
            let status = self.status().await?;
            if status.position >= position && status.companies + status.people > 0 {
                return Ok(());
            }
            progress.set(u64::try_from(behind - status.lag_changes).unwrap_or(0));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until no segments are merged any more.
    pub(super) async fn wait_settled(&self) -> Result<(), BoxError> {
        const LOOKS: u32 = 8;
        let mut last = (0, 0);
        let mut same = 0;
        while same < LOOKS {
            let status = self.status().await?;
            let now = (status.segments, status.size_bytes);
            same = if now == last { same + 1 } else { 0 };
            last = now;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tell(&format!(
            "the index has settled: {} segments, {} MB",
            last.0,
            last.1 / 1_000_000
        ));
        Ok(())
    }
}

fn parse<'a>(ids: impl Iterator<Item = &'a String>) -> Result<Vec<Uuid>, BoxError> {
    Ok(ids.map(|id| Uuid::try_parse(id)).collect::<Result<_, _>>()?)
}
