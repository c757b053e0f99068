//! `search.v1.SearchService`.

use proto::account::AccountId;
use proto::search::v1::search_service_server::SearchService;
use proto::search::v1::{
    CountCompaniesRequest, CountCompaniesResponse, CountPeopleRequest, CountPeopleResponse,
    ExplainCompaniesRequest, ExplainCompaniesResponse, ExplainPeopleRequest, ExplainPeopleResponse,
    SearchCompaniesRequest, SearchCompaniesResponse, SearchPeopleRequest, SearchPeopleResponse,
    SuggestRequest, SuggestResponse,
};
use runtime::grpc_server::deadline;
use tonic::{Request, Response, Status};

use super::read_account;
use crate::error::SearchError;
use crate::plan::Kind;
use crate::search::Search;
use crate::suggest::Suggest;

/// The methods.
pub struct SearchApi {
    /// What answers searches.
    pub search: Search,
    /// What answers requests for suggestions.
    pub suggest: Suggest,
}

#[tonic::async_trait]
impl SearchService for SearchApi {
    async fn search_companies(
        &self,
        request: Request<SearchCompaniesRequest>,
    ) -> Result<Response<SearchCompaniesResponse>, Status> {
        let deadline = deadline(request.metadata());
        let query = request.into_inner().query.unwrap_or_default();
        let page = self.search.companies(&query, deadline).await?;
        Ok(Response::new(SearchCompaniesResponse {
            companies: page.rows,
            page: Some(page.info),
        }))
    }

    async fn search_people(
        &self,
        request: Request<SearchPeopleRequest>,
    ) -> Result<Response<SearchPeopleResponse>, Status> {
        let deadline = deadline(request.metadata());
        let request = request.into_inner();
        let account = account(&request.account_id)?;
        let query = request.query.unwrap_or_default();
        let page = self.search.people(&account, &query, deadline).await?;
        Ok(Response::new(SearchPeopleResponse {
            people: page.rows,
            page: Some(page.info),
        }))
    }

    async fn count_companies(
        &self,
        request: Request<CountCompaniesRequest>,
    ) -> Result<Response<CountCompaniesResponse>, Status> {
        let deadline = deadline(request.metadata());
        let query = request.into_inner().query.unwrap_or_default();
        let total = self.search.count_companies(&query, deadline).await?;
        Ok(Response::new(CountCompaniesResponse { total }))
    }

    async fn count_people(
        &self,
        request: Request<CountPeopleRequest>,
    ) -> Result<Response<CountPeopleResponse>, Status> {
        let deadline = deadline(request.metadata());
        let request = request.into_inner();
        let account = account(&request.account_id)?;
        let query = request.query.unwrap_or_default();
        let total = self.search.count_people(&account, &query, deadline).await?;
        Ok(Response::new(CountPeopleResponse { total }))
    }

    async fn explain_companies(
        &self,
        request: Request<ExplainCompaniesRequest>,
    ) -> Result<Response<ExplainCompaniesResponse>, Status> {
        let query = request.into_inner().query.unwrap_or_default();
        let explanation = self.search.explain(&query, Kind::Company)?;
        Ok(Response::new(ExplainCompaniesResponse {
            explanation: Some(explanation),
        }))
    }

    async fn explain_people(
        &self,
        request: Request<ExplainPeopleRequest>,
    ) -> Result<Response<ExplainPeopleResponse>, Status> {
        let query = request.into_inner().query.unwrap_or_default();
        let explanation = self.search.explain(&query, Kind::Person)?;
        Ok(Response::new(ExplainPeopleResponse {
            explanation: Some(explanation),
        }))
    }

    async fn suggest(&self, request: Request<SuggestRequest>) -> Result<Response<SuggestResponse>, Status> {
        let deadline = deadline(request.metadata());
        Ok(Response::new(
            self.suggest.suggest(request.get_ref(), deadline).await?,
        ))
    }
}

fn account(id: &str) -> Result<AccountId, SearchError> {
    read_account(id).map_err(|violation| SearchError::Invalid(vec![violation]))
}
