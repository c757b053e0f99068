//! One replica of the search service, asked directly.

use std::time::Duration;

use devstack::Environment;
use proto::search::v1::import_record::Change;
use proto::search::v1::index_service_client::IndexServiceClient;
use proto::search::v1::record_service_client::RecordServiceClient;
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{
    Company, GetIndexStatusRequest, Person, RebuildIndexRequest, RevealEmailRequest, SearchCompaniesRequest,
    SearchCompaniesResponse, SearchPeopleRequest, SearchPeopleResponse, SearchQuery, SuggestRequest,
    Vocabulary,
};
use system_tests::{World, batch};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

/// The account that people are searched for.
const ACCOUNT: &str = "faults";

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(2);

/// A connection to it, which is made anew when it breaks.
#[derive(Clone)]
pub(crate) struct Replica {
    channel: Channel,
    token: String,
}

impl Replica {
    /// At an address of a world that may speak TLS.
    pub(crate) fn of(world: &World, address: &str) -> Self {
        Self {
            channel: world.channel(address),
            token: format!("Bearer {}", world.environment.service_token),
        }
    }

    pub(crate) fn at(address: &str, environment: &Environment) -> Self {
        Self {
            channel: Endpoint::from_shared(address.to_owned()).unwrap().connect_lazy(),
            token: format!("Bearer {}", environment.service_token),
        }
    }

    fn with_token<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let token = self.token.parse().unwrap();
        request.metadata_mut().insert("authorization", token);
        request
    }

    /// Imports these as one batch; the position from which they are searchable.
    pub(crate) async fn import(&self, changes: Vec<Change>) -> Result<i64, Status> {
        let stream = tokio_stream::once(batch(changes));
        let mut client = RecordServiceClient::new(self.channel.clone());
        let mut answers = client.import(self.with_token(stream)).await?.into_inner();
        let answer = answers.message().await?;
        let answer = answer.ok_or_else(|| Status::unavailable("the batch was not answered"))?;
        assert!(answer.rejected.is_empty(), "{:?}", answer.rejected);
        Ok(answer.position)
    }

    pub(crate) async fn reveal(&self, account: &str, person: &str) -> Result<(), Status> {
        let request = self.with_token(RevealEmailRequest {
            account_id: account.to_owned(),
            person_id: person.to_owned(),
        });
        let mut client = RecordServiceClient::new(self.channel.clone());
        client.reveal_email(request).await.map(|_| ())
    }

    pub(crate) async fn companies(&self, query: SearchQuery) -> Result<SearchCompaniesResponse, Status> {
        let request = self.with_token(SearchCompaniesRequest { query: Some(query) });
        let mut client = SearchServiceClient::new(self.channel.clone());
        Ok(client.search_companies(request).await?.into_inner())
    }

    pub(crate) async fn people(&self, query: SearchQuery) -> Result<SearchPeopleResponse, Status> {
        let request = self.with_token(SearchPeopleRequest {
            account_id: ACCOUNT.to_owned(),
            query: Some(query),
        });
        let mut client = SearchServiceClient::new(self.channel.clone());
        Ok(client.search_people(request).await?.into_inner())
    }

    /// All companies that meet the query, by cursor.
    pub(crate) async fn all_companies(&self, mut query: SearchQuery) -> Vec<Company> {
        let mut all = Vec::new();
        loop {
            query.limit = Some(250);
            let answer = self.companies(query.clone()).await.unwrap();
            all.extend(answer.companies);
            let page = answer.page.unwrap();
            let Some(cursor) = page.next_cursor else {
                assert_eq!(usize::try_from(page.total), Ok(all.len()));
                return all;
            };
            query.cursor = Some(cursor);
        }
    }

    /// All people who meet the query, by cursor.
    pub(crate) async fn all_people(&self, mut query: SearchQuery) -> Vec<Person> {
        let mut all = Vec::new();
        loop {
            query.limit = Some(250);
            let answer = self.people(query.clone()).await.unwrap();
            all.extend(answer.people);
            let page = answer.page.unwrap();
            let Some(cursor) = page.next_cursor else {
                assert_eq!(usize::try_from(page.total), Ok(all.len()));
                return all;
            };
            query.cursor = Some(cursor);
        }
    }

    /// Waits until searches see this position of the feed.
    pub(crate) async fn wait_for(&self, position: i64) {
        until(&format!("{position} is searchable"), async || {
            let request = self.with_token(GetIndexStatusRequest {});
            let mut client = IndexServiceClient::new(self.channel.clone());
            let status = client.get_index_status(request).await;
            status.is_ok_and(|status| status.into_inner().position >= position)
        })
        .await;
    }

    /// Waits until it has counted what it suggests.
    pub(crate) async fn wait_for_suggestions(&self) {
        until("suggestions are counted", async || {
            let request = self.with_token(SuggestRequest {
                vocabulary: Vocabulary::Tags.into(),
                q: "a".to_owned(),
                limit: None,
            });
            let mut client = SearchServiceClient::new(self.channel.clone());
            // Versions without suggestions count nothing.
            let answer = client.suggest(request).await;
            !answer.is_err_and(|status| status.code() == Code::Unavailable)
        })
        .await;
    }

    pub(crate) async fn rebuild(&self) {
        let request = self.with_token(RebuildIndexRequest {});
        let mut client = IndexServiceClient::new(self.channel.clone());
        assert!(client.rebuild_index(request).await.unwrap().into_inner().started);
    }
}

/// Asks until it holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !holds().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let waited = tokio::time::timeout(system_tests::PATIENCE, asking).await;
    assert!(waited.is_ok(), "waited in vain until {what}");
}
