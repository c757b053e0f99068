//! The least that a gateway of these libraries can do: an axum route that reads a JSON body, asks one script of Redis,
//! searches and charges by tonic, and answers JSON. Nobody is authenticated, nothing is validated, limited, measured or told.
//! What the gateway takes beyond it is the contract's; what this takes is the libraries' and the system's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use devstack::Environment;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::billing::v1::{ChargeRequest, Operation};
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{SearchCompaniesRequest, SearchQuery};
use redis::Script;
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};
use tonic::transport::{Channel, Endpoint};
use uuid::Uuid;

use crate::BoxError;
use crate::account::{ACCOUNT, variable, with_token};
use crate::served::{self, Served};

/// As little as a script can do that has to count.
const SCRIPT: &str = "return redis.call('INCR', KEYS[1])";

/// What it asks.
struct Plain {
    redis: MultiplexedConnection,
    script: Script,
    search: SearchServiceClient<Channel>,
    billing: BillingServiceClient<Channel>,
    token: String,
    /// The number of the next charge, from when this was started: of those before none is told again.
    charges: AtomicU64,
}

/// Serves it before the system that the environment names.
pub(crate) async fn serve() -> Result<(), BoxError> {
    let channel = async |name| {
        let endpoint = Endpoint::from_shared(variable(name)?)?.tcp_nodelay(true);
        Ok::<_, BoxError>(endpoint.connect().await?)
    };
    let redis = redis::Client::open(variable("REDIS_URL")?)?;
    let plain = Plain {
        redis: redis.get_multiplexed_async_connection().await?,
        script: Script::new(SCRIPT),
        search: SearchServiceClient::new(channel("SEARCH_GRPC").await?),
        billing: BillingServiceClient::new(channel("BILLING_GRPC").await?),
        token: variable("SERVICE_TOKEN")?,
        charges: AtomicU64::new(u64::try_from(SystemTime::UNIX_EPOCH.elapsed()?.as_nanos())?),
    };
    let search = async |State(plain): State<Arc<Plain>>, Json(body): Json<Value>| {
        let found = plain.search(&body).await;
        found.map_err(|error| (StatusCode::BAD_GATEWAY, error.to_string()))
    };
    let router = Router::new().route("/search", post(search));
    served::serve(router.with_state(Arc::new(plain))).await
}

/// Starts it before this system, as a process of its own.
pub(super) async fn start(system: &Environment) -> Result<Served, BoxError> {
    Served::start("serve-plain", system.variables()).await
}

impl Plain {
    fn next_charge(&self) -> Uuid {
        Uuid::from_u128(self.charges.fetch_add(1, Ordering::Relaxed).into())
    }

    async fn search(&self, body: &Value) -> Result<Json<Value>, BoxError> {
        let mut redis = self.redis.clone();
        let counted: u64 = self.script.key("plain").invoke_async(&mut redis).await?;
        let request = SearchCompaniesRequest {
            query: Some(SearchQuery {
                company_domain: body["companyDomain"].as_str().unwrap_or_default().to_owned(),
                limit: Some(1),
                fields: vec!["id".to_owned()],
                ..SearchQuery::default()
            }),
        };
        let mut search = self.search.clone();
        let found = search.search_companies(with_token(request, &self.token)?).await?;
        let companies = found.into_inner().companies;
        let request = ChargeRequest {
            account_id: ACCOUNT.to_owned(),
            charge_id: self.next_charge().to_string(),
            operation: Operation::SearchCompanies.into(),
            amount: 1,
            idempotency: None,
        };
        let mut billing = self.billing.clone();
        let charged = billing.charge(with_token(request, &self.token)?).await?;
        let ids: Vec<&str> = companies.iter().map(|company| company.id.as_str()).collect();
        let balance = charged.into_inner().balance;
        Ok(Json(json!({"ids": ids, "balance": balance, "counted": counted})))
    }
}
