//! What the tests stand on: a served service, and clients of it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeZone as _, Utc};
use proto::error_code::ErrorCode;
use proto::search::v1::import_record::Change;
use proto::search::v1::index_service_client::IndexServiceClient;
use proto::search::v1::record_service_client::RecordServiceClient;
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{
    CompanyRecord, DeleteCompany, DeletePerson, GetIndexStatusRequest, GetIndexStatusResponse, ImportRecord,
    ImportRequest, ImportResponse, PersonRecord, RevealEmailRequest, RevealEmailResponse,
    SearchCompaniesRequest, SearchCompaniesResponse, SearchPeopleRequest, SearchPeopleResponse, SearchQuery,
};
use proto::violation::{self, Violation};
use runtime::ambient::Ambient;
use runtime::grpc_server;
use runtime::process::{self, Process};
use runtime::readiness::Readiness;
use runtime::settings::Settings;
use runtime::shutdown::Shutdown;
use search::config::SearchConfig;
use search::engine::{Index, IndexSettings, Opened};
use search::feed::Feed;
use search::grpc::{self, IndexApi, RecordApi, SearchApi};
use search::recording::Recorder;
use search::search::Search;
use search::store::Store;
use search::suggest::Suggest;
use sqlx::PgPool;
use tempfile::TempDir;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// A token for a scope.
fn token(scope: &str) -> String {
    format!("a-token-for-{scope}-long-enough")
}

type Client = InterceptedService<Channel, Showing>;

/// The service, served, and clients with the tokens they need.
pub(crate) struct Served {
    pub(crate) channel: Channel,
    pub(crate) domain: Search,
    pub(crate) ambient: Ambient,
    pub(crate) shutdown: Shutdown,
    pub(crate) search: SearchServiceClient<Client>,
    pub(crate) records: RecordServiceClient<Client>,
    pub(crate) index: IndexServiceClient<Client>,
    _dir: TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

/// The day of the tests.
pub(crate) fn start() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 28, 12, 0, 0).unwrap()
}

/// Shows the token for a scope with every call.
#[derive(Clone)]
pub(crate) struct Showing(&'static str);

impl Interceptor for Showing {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        show(&mut request, self.0);
        Ok(request)
    }
}

/// Puts the token for the scope on a request.
pub(crate) fn show<T>(request: &mut Request<T>, scope: &str) {
    let bearer = format!("Bearer {}", token(scope)).parse().unwrap();
    request.metadata_mut().insert("authorization", bearer);
}

/// The settings, as the process reads them.
fn config(dir: &TempDir) -> SearchConfig {
    let tokens = ["search", "admin"].map(|scope| format!("tester-{scope}:{scope}:{}", token(scope)));
    let environment = [
        ("DATABASE_URL", "postgres://localhost/unused".to_owned()),
        ("SERVICE_TOKENS", tokens.join(",")),
        ("CURSOR_KEY", "a key of thirty-two characters, or more".to_owned()),
        ("INDEX_DIR", dir.path().display().to_string()),
        ("FEED_INTERVAL", "5ms".to_owned()),
    ]
    .map(|(name, value)| (format!("DS_SEARCH__{name}"), value));
    let (mut settings, _) = Settings::read("search", [], environment);
    let config = SearchConfig::read(&mut settings);
    settings.finish().unwrap();
    config
}

/// Serves on the database, with a clock that stands still.
pub(crate) async fn serve(pool: &PgPool) -> Served {
    let dir = TempDir::new().unwrap();
    let config = config(&dir);
    let settings = IndexSettings {
        writer_memory_bytes: 16 << 20,
        search_threads: 3,
        shared_from: 0,
        kept_from: 0,
        ..config.index
    };
    let Opened::Ready(index) = Index::open(dir.path(), settings).unwrap() else {
        panic!("a new index is usable")
    };
    let (store, index) = (Store::new(pool.clone()), Arc::new(index));
    let (ambient, shutdown, readiness) = (Ambient::fixed(start(), 1), Shutdown::new(), Readiness::default());
    let feed = Feed::new(
        store.clone(),
        Arc::clone(&index),
        config.feed,
        ambient.clone(),
        shutdown.clone(),
    );
    let built = readiness.condition("the index is built");
    shutdown.spawn_critical("feed", Arc::clone(&feed).run(built));
    let suggest = Suggest::new(config.search.concurrency, config.search.timeout);
    let counting = suggest.clone().follow(Arc::clone(&index), shutdown.clone());
    shutdown.spawn_critical("suggestions", counting);
    let search = Search::new(store.clone(), index, config.search, ambient.clone());
    let domain = search.clone();
    let recorder = Recorder {
        store,
        ambient: ambient.clone(),
        shutdown: shutdown.clone(),
    };
    let records = RecordApi {
        recorder,
        search_time: search.time(),
    };
    let service = grpc::service(SearchApi { search, suggest }, records, IndexApi { feed });
    let socket = process::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = format!("http://{}", socket.local_addr().unwrap());
    let process = Process::new(socket, ambient.clone(), readiness.clone(), shutdown.clone());
    let serving = grpc_server::serve(process, config.grpc, service);
    shutdown.spawn(async move { serving.await.unwrap() });
    until(async || readiness.is_ready().then_some(())).await;
    let channel = Endpoint::from_shared(address).unwrap().connect_lazy();
    let client = |scope| InterceptedService::new(channel.clone(), Showing(scope));
    Served {
        search: SearchServiceClient::new(client("search")),
        records: RecordServiceClient::new(client("admin")),
        index: IndexServiceClient::new(client("admin")),
        channel,
        domain,
        ambient,
        shutdown,
        _dir: dir,
    }
}

/// Asks until there is an answer; gives up when five minutes of pauses have been in vain.
pub(crate) async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..60_000 {
        if let Some(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain");
}

impl Served {
    /// Imports batches over one stream, and waits until they are searchable.
    pub(crate) async fn import(&self, batches: Vec<Vec<ImportRecord>>) -> Vec<ImportResponse> {
        let requests = batches.into_iter().map(|records| ImportRequest { records });
        let stream = self
            .records
            .clone()
            .import(tokio_stream::iter(requests.collect::<Vec<_>>()))
            .await
            .unwrap();
        let mut stream = stream.into_inner();
        let mut answers = Vec::new();
        while let Some(answer) = stream.message().await.unwrap() {
            answers.push(answer);
        }
        let position = answers.iter().map(|answer| answer.position).max().unwrap_or(0);
        until(async || (self.status().await.position >= position).then_some(())).await;
        answers
    }

    pub(crate) async fn status(&self) -> GetIndexStatusResponse {
        self.index
            .clone()
            .get_index_status(GetIndexStatusRequest {})
            .await
            .unwrap()
            .into_inner()
    }

    pub(crate) async fn companies(&self, query: SearchQuery) -> Result<SearchCompaniesResponse, Status> {
        let request = SearchCompaniesRequest { query: Some(query) };
        Ok(self.search.clone().search_companies(request).await?.into_inner())
    }

    pub(crate) async fn people(
        &self,
        account: &str,
        query: SearchQuery,
    ) -> Result<SearchPeopleResponse, Status> {
        let request = SearchPeopleRequest {
            account_id: account.to_owned(),
            query: Some(query),
        };
        Ok(self.search.clone().search_people(request).await?.into_inner())
    }

    pub(crate) async fn reveal(&self, account: &str, person: &str) -> Result<RevealEmailResponse, Status> {
        let request = RevealEmailRequest {
            account_id: account.to_owned(),
            person_id: person.to_owned(),
        };
        Ok(self.records.clone().reveal_email(request).await?.into_inner())
    }
}

/// The violations of a refusal.
pub(crate) fn violations(refusal: &Status) -> Vec<Violation> {
    assert_eq!(ErrorCode::of(refusal), ErrorCode::ValidationError, "{refusal:?}");
    violation::from_status(refusal)
}

/// A record of a source, in this line.
pub(crate) fn at(line: u64, change: Change) -> ImportRecord {
    ImportRecord {
        line,
        change: Some(change),
    }
}

/// A company of this external id and name.
pub(crate) fn company(external_id: &str, name: &str) -> CompanyRecord {
    CompanyRecord {
        external_id: external_id.to_owned(),
        name: name.to_owned(),
        ..CompanyRecord::default()
    }
}

/// A person of this external id and name, who works there.
pub(crate) fn person(external_id: &str, name: &str, company: Option<&str>) -> PersonRecord {
    PersonRecord {
        external_id: external_id.to_owned(),
        full_name: Some(name.to_owned()),
        company_external_id: company.map(str::to_owned),
        ..PersonRecord::default()
    }
}

impl From<ToImport> for ImportRecord {
    fn from(record: ToImport) -> Self {
        let change = match record {
            ToImport::Company(company) => Change::Company(company),
            ToImport::Person(person) => Change::Person(person),
            ToImport::NoCompany(id) => Change::DeleteCompany(DeleteCompany {
                external_id: id.to_owned(),
            }),
            ToImport::NoPerson(id) => Change::DeletePerson(DeletePerson {
                external_id: id.to_owned(),
            }),
        };
        at(0, change)
    }
}

/// What to import.
pub(crate) enum ToImport {
    Company(CompanyRecord),
    Person(PersonRecord),
    NoCompany(&'static str),
    NoPerson(&'static str),
}

/// A batch of these, in lines from 1.
pub(crate) fn batch(records: impl IntoIterator<Item = ToImport>) -> Vec<ImportRecord> {
    let lines = (1..).zip(records);
    lines
        .map(|(line, record)| ImportRecord {
            line,
            ..record.into()
        })
        .collect()
}
