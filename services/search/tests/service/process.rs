//! The binary: its settings, its migrations, its refusal to start without them, and its end.

use std::process::{Output, Stdio};

use proto::search::v1::record_service_client::RecordServiceClient;
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{ImportRequest, SearchCompaniesRequest, SearchCompaniesResponse, SearchQuery};
use sqlx::{ConnectOptions as _, PgPool};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tonic::Request;
use tonic::transport::Channel;

use crate::fixture::ToImport::Company;
use crate::fixture::{batch, company, until};

const TOKEN: &str = "a-token-for-tests-long-enough";

fn command(pool: &PgPool, dir: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_search"));
    command
        .args(arguments)
        .env(
            "DS_SEARCH__DATABASE_URL",
            pool.connect_options().to_url_lossy().as_str(),
        )
        .env(
            "DS_SEARCH__SERVICE_TOKENS",
            format!("tester:search+admin:{TOKEN}"),
        )
        .env("DS_SEARCH__CURSOR_KEY", "a key of thirty-two characters, or more")
        .env("DS_SEARCH__INDEX_DIR", dir.path())
        .env("DS_SEARCH__LISTEN", "127.0.0.1:0")
        .env("DS_SEARCH__ADMIN_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[sqlx::test(migrations = false)]
async fn replicas_may_migrate_together_and_it_does_not_serve_before(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let refused = command(&pool, &dir, &["serve"]).output().await.unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused));
    assert!(
        text(&refused).contains("run `migrate` first"),
        "{}",
        text(&refused)
    );

    let mut commands = [(); 3].map(|()| command(&pool, &dir, &["migrate"]));
    let [one, two, three] = &mut commands;
    let (one, two, three) = tokio::join!(one.output(), two.output(), three.output());
    for migrated in [one.unwrap(), two.unwrap(), three.unwrap()] {
        assert_eq!(migrated.status.code(), Some(0), "{}", text(&migrated));
    }
    let applied: i64 = sqlx::query_scalar("SELECT count(*) FROM _sqlx_migrations")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(
        usize::try_from(applied).unwrap(),
        search::store::migrator().iter().count()
    );
}

#[sqlx::test(migrations = false)]
async fn settings_that_are_wrong_are_all_told(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let refused = command(
        &pool,
        &dir,
        &["serve", "--feed-batch", "0", "--search-concurrency", "none"],
    )
    .env("DS_SEARCH__CURSOR_KEY", "too short")
    .env("DS_SEARCH__INDEX_WRITER_THREADS", "8")
    .output()
    .await
    .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    for name in [
        "feed_batch",
        "search_concurrency",
        "cursor_key",
        "index_writer_memory_mb",
    ] {
        assert!(text(&refused).contains(name), "{name}: {}", text(&refused));
    }
    assert!(!text(&refused).contains("too short"), "a secret is not repeated");
}

/// A process that serves.
struct Serving {
    child: Child,
    channel: Channel,
    admin_address: String,
    /// All it logs, when it has ended.
    log: JoinHandle<String>,
}

/// Starts the process and waits until it is ready.
async fn serve(pool: &PgPool, dir: &TempDir) -> Serving {
    let mut child = command(pool, dir, &["serve", "--feed-interval", "5ms"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let field = |line: &str, name: &str| {
        let (_, value) = line.split_once(&format!("{name}="))?;
        value.split(' ').next().map(str::to_owned)
    };
    let mut addresses = None;
    while let Some(line) = lines.next_line().await.unwrap() {
        addresses = field(&line, "service.address").zip(field(&line, "admin.address"));
        if addresses.is_some() {
            break;
        }
    }
    let (address, admin_address) = addresses.unwrap();
    #[expect(clippy::disallowed_methods, reason = "it ends with the process")]
    let log = tokio::spawn(async move {
        let mut log = String::new();
        while let Ok(Some(line)) = lines.next_line().await {
            log.push_str(&line);
        }
        log
    });
    let channel = Channel::from_shared(format!("http://{address}"))
        .unwrap()
        .connect_lazy();
    let serving = Serving {
        child,
        channel,
        admin_address,
        log,
    };
    until(async || serving.is_ready().await.then_some(())).await;
    serving
}

impl Serving {
    async fn is_ready(&self) -> bool {
        let mut stream = TcpStream::connect(&self.admin_address).await.unwrap();
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.starts_with("HTTP/1.1 200")
    }

    async fn find(&self, name: &str) -> SearchCompaniesResponse {
        let query = SearchQuery {
            company_name: name.to_owned(),
            ..SearchQuery::default()
        };
        let request = with_token(SearchCompaniesRequest { query: Some(query) });
        SearchServiceClient::new(self.channel.clone())
            .search_companies(request)
            .await
            .unwrap()
            .into_inner()
    }
}

fn with_token<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request
        .metadata_mut()
        .insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
    request
}

#[sqlx::test]
async fn killed_and_started_again_it_goes_on_and_told_to_stop_it_ends_well(pool: PgPool) {
    let dir = TempDir::new().unwrap();
    let mut first = serve(&pool, &dir).await;
    let records = batch([Company(company("c1", "Zephyrus Bakeries"))]);
    let request = with_token(tokio_stream::iter([ImportRequest { records }]));
    let mut client = RecordServiceClient::new(first.channel.clone());
    let mut answers = client.import(request).await.unwrap().into_inner();
    assert_eq!(answers.message().await.unwrap().unwrap().stored, 1);

    // A second replica needs a directory of its own.
    let refused = command(&pool, &dir, &["serve"]).output().await.unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused));
    assert!(
        text(&refused).contains("a directory of its own"),
        "{}",
        text(&refused)
    );

    first.child.kill().await.unwrap();
    let mut second = serve(&pool, &dir).await;
    let found =
        until(async || Some(second.find("zephyrus").await).filter(|found| !found.companies.is_empty())).await;
    assert_eq!(found.companies[0].name, "Zephyrus Bakeries");
    let pid = second.child.id().unwrap().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .await
            .unwrap()
            .success()
    );
    assert_eq!(second.child.wait().await.unwrap().code(), Some(0));
    let log = second.log.await.unwrap();
    for unsaid in ["zephyrus", "Zephyrus", TOKEN] {
        assert!(!log.contains(unsaid), "{log}");
    }
}
