//! `search.v1.SearchService`.

use proto::search::v1::search_service_server::SearchService;
use proto::search::v1::{
    SearchCompaniesRequest, SearchCompaniesResponse, SearchPeopleRequest, SearchPeopleResponse,
};
use runtime::grpc_server::deadline;
use tonic::{Request, Response, Status};

use super::read_account;
use crate::error::SearchError;
use crate::search::Search;

/// The methods.
pub struct SearchApi {
    /// What answers them.
    pub search: Search,
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
        let account =
            read_account(&request.account_id).map_err(|violation| SearchError::Invalid(vec![violation]))?;
        let query = request.query.unwrap_or_default();
        let page = self.search.people(&account, &query, deadline).await?;
        Ok(Response::new(SearchPeopleResponse {
            people: page.rows,
            page: Some(page.info),
        }))
    }
}
