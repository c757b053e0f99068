//! A search by gRPC, as an internal service makes one: a token, a deadline, and every problem of a query that is refused.
//!
//! `SEARCH_GRPC` is where the search service is (`http://127.0.0.1:7101`), `SERVICE_TOKEN` a token with the scope `search`.

#![expect(
    clippy::disallowed_methods,
    reason = "an example has no settings; it prints, and its secrets come from the environment"
)]

use std::error::Error;
use std::time::Duration;

use proto::error_code::ErrorCode;
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{SearchCompaniesRequest, SearchCompaniesResponse, SearchQuery};
use proto::violation;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// Longest time for one answer. The service stops its work when it is over.
const DEADLINE: Duration = Duration::from_secs(2);

/// Largest answer that is read: pages of 250 companies with long descriptions are larger than tonic's 4 MiB.
const MAX_ANSWER_BYTES: usize = 64 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let token = format!("Bearer {}", std::env::var("SERVICE_TOKEN")?).parse()?;
    let endpoint = Endpoint::from_shared(std::env::var("SEARCH_GRPC")?)?
        .connect_timeout(Duration::from_secs(1))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_while_idle(true);
    let mut client =
        SearchServiceClient::new(endpoint.connect().await?).max_decoding_message_size(MAX_ANSWER_BYTES);

    let mut query = SearchQuery {
        location: "Berlin".to_owned(),
        limit: Some(2),
        ..SearchQuery::default()
    };
    let page = search(&mut client, &token, query.clone()).await?;
    println!("{} in all", page.page.as_ref().map_or(0, |page| page.total));
    for company in page.companies {
        println!("{}", company.name);
    }

    query.limit = Some(999);
    "yesterday".clone_into(&mut query.info_updated_from);
    match search(&mut client, &token, query).await {
        Ok(_) => return Err("a query with two problems was answered".into()),
        Err(refusal) => {
            println!("refused: {}", ErrorCode::of(&refusal).as_str());
            for problem in violation::from_status(&refusal) {
                println!("- {problem}");
            }
        }
    }
    Ok(())
}

async fn search(
    client: &mut SearchServiceClient<Channel>,
    token: &MetadataValue<Ascii>,
    query: SearchQuery,
) -> Result<SearchCompaniesResponse, Status> {
    let mut request = Request::new(SearchCompaniesRequest { query: Some(query) });
    request.metadata_mut().insert("authorization", token.clone());
    request.set_timeout(DEADLINE);
    Ok(client.search_companies(request).await?.into_inner())
}
