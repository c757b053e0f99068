//! The internal side, over gRPC, with the operators' token.

use std::time::{Duration, Instant};

use devstack::Environment;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::billing::v1::{GetBalanceRequest, GrantCreditsRequest, LedgerEntry, ListLedgerEntriesRequest};
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::keys::v1::{Rate, SetRateRequest};
use proto::search::v1::import_record::Change;
use proto::search::v1::index_service_client::IndexServiceClient;
use proto::search::v1::record_service_client::RecordServiceClient;
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{
    CompanyRecord, GetIndexStatusRequest, ImportRecord, ImportRequest, ImportResponse, PersonRecord,
    RevealEmailRequest, SuggestRequest, Vocabulary,
};
use tokio::runtime::Runtime;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

/// Longest wait for a change to become searchable; far beyond what is promised, since tests hold no time.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection with a service token.
type OperatorChannel = InterceptedService<Channel, Token>;

/// Puts the token on each call.
#[derive(Clone)]
struct Token(MetadataValue<Ascii>);

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

/// The internal side. Calls block and panic when refused, but for those that say otherwise.
pub struct Operator {
    runtime: Runtime,
    billing: BillingServiceClient<OperatorChannel>,
    keys: KeyServiceClient<OperatorChannel>,
    records: RecordServiceClient<OperatorChannel>,
    index: IndexServiceClient<OperatorChannel>,
    search: SearchServiceClient<OperatorChannel>,
}

impl Operator {
    pub(crate) fn connect(environment: &Environment, tls: Option<&ClientTlsConfig>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("threads can be started");
        let token = format!("Bearer {}", environment.service_token)
            .parse()
            .expect("a token fits into a header");
        let channel = |address: &str| {
            let _inside = runtime.enter();
            InterceptedService::new(channel(address, tls), Token(MetadataValue::clone(&token)))
        };
        Self {
            billing: BillingServiceClient::new(channel(&environment.billing_grpc)),
            keys: KeyServiceClient::new(channel(&environment.keys_grpc)),
            records: RecordServiceClient::new(channel(&environment.search_grpc)),
            index: IndexServiceClient::new(channel(&environment.search_grpc)),
            search: SearchServiceClient::new(channel(&environment.search_grpc)),
            runtime,
        }
    }

    /// Runs a future to its end.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Gives credits; the balance after it.
    pub fn grant(&self, account: &str, amount: i64) -> i64 {
        let grant = GrantCreditsRequest {
            account_id: account.to_owned(),
            grant_id: format!("{account}-{amount}"),
            amount,
        };
        let answer = self
            .block_on(self.billing.clone().grant_credits(grant))
            .expect("credits are granted");
        answer.into_inner().balance
    }

    /// Gives credits under an id, if billing does so.
    pub async fn try_grant(&self, account: &str, id: &str, amount: i64) -> Result<(), Status> {
        let grant = GrantCreditsRequest {
            account_id: account.to_owned(),
            grant_id: id.to_owned(),
            amount,
        };
        self.billing.clone().grant_credits(grant).await.map(|_| ())
    }

    /// The balance.
    pub fn balance(&self, account: &str) -> i64 {
        let request = GetBalanceRequest {
            account_id: account.to_owned(),
        };
        self.block_on(self.billing.clone().get_balance(request))
            .expect("the balance is told")
            .into_inner()
            .balance
    }

    /// The ledger, newest first.
    pub fn ledger(&self, account: &str) -> Vec<LedgerEntry> {
        let request = ListLedgerEntriesRequest {
            account_id: account.to_owned(),
            page_size: Some(1_000),
            ..Default::default()
        };
        let answer = self
            .block_on(self.billing.clone().list_ledger_entries(request))
            .expect("the ledger is told");
        answer.into_inner().entries
    }

    /// Gives the account a rate of its own.
    pub fn set_rate(&self, account: &str, requests: i64, seconds: i64) {
        let rate = Rate {
            requests,
            window: Some(prost_types::Duration { seconds, nanos: 0 }),
        };
        self.set_rate_to(SetRateRequest {
            account_id: account.to_owned(),
            rate: Some(rate),
        });
    }

    /// Gives the account a rate of its own, or the default again.
    pub fn set_rate_to(&self, request: SetRateRequest) {
        self.block_on(self.keys.clone().set_rate(request))
            .expect("the rate is set");
    }

    /// Imports records, each with the number of its place as its line; returns when they are searchable.
    pub fn import(&self, changes: impl IntoIterator<Item = Change>) -> ImportResponse {
        let answer = self.send(batch(changes));
        self.wait_for(answer.position);
        answer
    }

    /// Imports a batch; returns when it is durable.
    pub fn send(&self, batch: ImportRequest) -> ImportResponse {
        let stream = tokio_stream::once(batch);
        self.block_on(async {
            let mut answers = self
                .records
                .clone()
                .import(stream)
                .await
                .expect("an import is taken")
                .into_inner();
            answers
                .message()
                .await
                .expect("a batch is answered")
                .expect("a batch is answered")
        })
    }

    /// Position of the feed that searches see.
    pub fn position(&self) -> i64 {
        self.block_on(self.index.clone().get_index_status(GetIndexStatusRequest {}))
            .expect("the index tells of itself")
            .into_inner()
            .position
    }

    /// Waits until searches see this position of the feed.
    ///
    /// # Panics
    /// If they don't within a minute.
    pub fn wait_for(&self, position: i64) {
        let deadline = Instant::now() + PATIENCE;
        self.block_on(async {
            loop {
                let status = self
                    .index
                    .clone()
                    .get_index_status(GetIndexStatusRequest {})
                    .await;
                let status = status.expect("the index tells of itself").into_inner();
                if status.position >= position {
                    return;
                }
                assert!(
                    Instant::now() < deadline,
                    "{position} is not searchable: {status:?}"
                );
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
    }

    /// Waits until what is suggested has been counted as of what searches see now.
    ///
    /// # Panics
    /// If that is not so within a minute.
    pub fn wait_suggested(&self) {
        let position = self.position();
        let deadline = Instant::now() + PATIENCE;
        let request = SuggestRequest {
            vocabulary: Vocabulary::Tags.into(),
            q: "a".to_owned(),
            limit: None,
        };
        self.block_on(async {
            loop {
                let answer = self.search.clone().suggest(request.clone()).await;
                match answer {
                    Ok(answer) if answer.get_ref().position >= position => return,
                    answer => assert!(Instant::now() < deadline, "{position} is not counted: {answer:?}"),
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
    }

    /// Notes a reveal; the address, if one is known.
    pub fn reveal(&self, account: &str, person: &str) -> Option<String> {
        let request = RevealEmailRequest {
            account_id: account.to_owned(),
            person_id: person.to_owned(),
        };
        self.block_on(self.records.clone().reveal_email(request))
            .expect("a reveal is noted")
            .into_inner()
            .email
    }
}

/// A connection to a service at this address, made when it is first called. Within a runtime.
pub(crate) fn channel(address: &str, tls: Option<&ClientTlsConfig>) -> Channel {
    let mut endpoint = Endpoint::from_shared(address.to_owned()).expect("an address is an address");
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls.clone()).expect("certificates are some");
    }
    endpoint.connect_lazy()
}

/// One batch of an import; each record has the number of its place as its line.
pub fn batch(changes: impl IntoIterator<Item = Change>) -> ImportRequest {
    let records = (1..).zip(changes).map(|(line, change)| ImportRecord {
        line,
        change: Some(change),
    });
    ImportRequest {
        records: records.collect(),
    }
}

/// A company with nothing but its names.
#[must_use]
pub fn company(external_id: &str, name: &str) -> CompanyRecord {
    CompanyRecord {
        external_id: external_id.to_owned(),
        name: name.to_owned(),
        ..Default::default()
    }
}

/// A person with nothing but their names.
#[must_use]
pub fn person(external_id: &str, full_name: &str) -> PersonRecord {
    PersonRecord {
        external_id: external_id.to_owned(),
        full_name: Some(full_name.to_owned()),
        ..Default::default()
    }
}
