//! The binary: its settings, its migrations, its refusal to start without them.

use std::process::{Output, Stdio};

use futures::future::try_join_all;
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::keys::v1::{CreateKeyRequest, ListKeysRequest, VerifyKeyRequest};
use sqlx::{ConnectOptions as _, PgPool};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::fixture::{account, create, keys, redis_url, until};

const PEPPER: &str = "a pepper of thirty-two characters";
const TOKEN: &str = "a-token-for-tests-long-enough";

fn command(pool: &PgPool, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keys"));
    command
        .args(arguments)
        .env(
            "DS_KEYS__DATABASE_URL",
            pool.connect_options().to_url_lossy().as_str(),
        )
        .env("DS_KEYS__REDIS_URL", redis_url().expose())
        .env("DS_KEYS__PEPPER", PEPPER)
        .env("DS_KEYS__SERVICE_TOKENS", format!("tester:keys+verify:{TOKEN}"))
        .env("DS_KEYS__LISTEN", "127.0.0.1:0")
        .env("DS_KEYS__ADMIN_LISTEN", "127.0.0.1:0")
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
async fn it_does_not_serve_before_the_database_is_migrated(pool: PgPool) {
    let refused = command(&pool, &["serve"]).output().await.unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused));
    assert!(
        text(&refused).contains("run `migrate` first"),
        "{}",
        text(&refused)
    );
    // Replicas may migrate together, and again.
    let (mut one, mut two) = (command(&pool, &["migrate"]), command(&pool, &["migrate"]));
    let (one, two) = tokio::join!(one.output(), two.output());
    for migrated in [one.unwrap(), two.unwrap()] {
        assert_eq!(migrated.status.code(), Some(0), "{}", text(&migrated));
    }
    let applied: i64 = sqlx::query_scalar("SELECT count(*) FROM _sqlx_migrations WHERE success")
        .fetch_one(&pool)
        .await
        .unwrap();
    let known = keys::store::migrator().iter().count();
    assert_eq!(usize::try_from(applied).unwrap(), known);
}

#[sqlx::test]
async fn every_problem_with_the_settings_is_told_and_no_secret(pool: PgPool) {
    let refused = command(
        &pool,
        &["serve", "--last-used-flush", "50s", "--max-active-keys", "0"],
    )
    .env("DS_KEYS__PREVIOUS_PEPPER", PEPPER)
    .env("DS_KEYS__PEPER", "x")
    .output()
    .await
    .unwrap();
    let told = text(&refused);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    for problem in ["last_used_flush", "max_active_keys", "previous_pepper", "PEPER"] {
        assert!(told.contains(problem), "{problem} in {told}");
    }
    let printed = command(&pool, &["--print-config"]).output().await.unwrap();
    assert_eq!(printed.status.code(), Some(0));
    for shown in [told, text(&printed)] {
        assert!(!shown.contains(PEPPER) && !shown.contains(TOKEN), "{shown}");
    }
}

/// A process that serves.
struct Serving {
    child: Child,
    /// Where it serves.
    address: String,
    /// Where its admin port is.
    admin_address: String,
    /// All it logs, when it has ended.
    log: JoinHandle<String>,
}

/// Starts the process and reads from its log where it serves.
async fn serve(pool: &PgPool) -> Serving {
    serve_by(command(pool, &["serve", "--log-filter", "debug"])).await
}

/// Starts the process by this command and reads from its log where it serves.
async fn serve_by(mut command: Command) -> Serving {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let field = |line: &str, name: &str| {
        let value = line.split_once(&format!("{name}="))?.1;
        Some(value.split(' ').next().unwrap_or_default().to_owned())
    };
    while let Some(line) = lines.next_line().await.unwrap() {
        let addresses = (field(&line, "service.address"), field(&line, "admin.address"));
        if let (Some(address), Some(admin_address)) = addresses {
            #[expect(clippy::disallowed_methods, reason = "it ends with the process")]
            let log = tokio::spawn(async move {
                let mut log = String::new();
                while let Ok(Some(line)) = lines.next_line().await {
                    log.push_str(&line);
                    log.push('\n');
                }
                log
            });
            return Serving {
                child,
                address,
                admin_address,
                log,
            };
        }
    }
    panic!("the process has ended without telling where it serves");
}

impl Serving {
    /// A connection to it, once it is ready.
    async fn connect(&self) -> Channel {
        until("it is ready", async || {
            self.status("/readyz").await.contains("200")
        })
        .await;
        let endpoint = Channel::from_shared(format!("http://{}", self.address)).unwrap();
        endpoint.connect().await.unwrap()
    }

    /// The status line of an answer of the admin port.
    async fn status(&self, path: &str) -> String {
        let answer = self.answer(path).await;
        answer.lines().next().unwrap_or_default().to_owned()
    }

    /// An answer of the admin port.
    async fn answer(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.admin_address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

async fn terminate(serving: &Serving) {
    let pid = serving.child.id().unwrap().to_string();
    let told = Command::new("kill").args(["-TERM", &pid]).status().await.unwrap();
    assert!(told.success());
}

fn with_token<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    let bearer = format!("Bearer {TOKEN}").parse().unwrap();
    request.metadata_mut().insert("authorization", bearer);
    request
}

#[sqlx::test]
async fn told_to_stop_it_writes_the_last_uses_and_its_log_has_no_secret(pool: PgPool) {
    let mut serving = serve(&pool).await;
    let mut client = KeyServiceClient::new(serving.connect().await);
    let request = CreateKeyRequest {
        account_id: "acme".to_owned(),
        name: None,
    };
    let created = client.create_key(with_token(request)).await.unwrap().into_inner();
    let mistyped = format!("{}x", created.secret);
    for (secret, opens) in [(created.secret.clone(), true), (mistyped, false)] {
        let verified = client.verify_key(with_token(VerifyKeyRequest { secret })).await;
        assert_eq!(verified.unwrap().into_inner().key.is_some(), opens);
    }
    terminate(&serving).await;
    assert_eq!(serving.child.wait().await.unwrap().code(), Some(0));
    let used: bool = sqlx::query_scalar("SELECT last_used_at IS NOT NULL FROM keys")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(used);
    let log = serving.log.await.unwrap();
    assert!(log.contains("keys.v1.KeyService/VerifyKey"), "{log}");
    for secret in [&created.secret[12..], TOKEN, PEPPER] {
        assert!(!log.contains(secret), "{log}");
    }
}

/// The door of a database: nobody gets in while it is shut, and those who were in are put out.
struct Door {
    database: String,
    /// Into another database, since nobody gets into this one for a while.
    elsewhere: PgPool,
}

impl Door {
    async fn of(pool: &PgPool) -> Self {
        let elsewhere = (*pool.connect_options()).clone().database("postgres");
        Self {
            database: pool.connect_options().get_database().unwrap().to_owned(),
            elsewhere: PgPool::connect_with(elsewhere).await.unwrap(),
        }
    }

    async fn shut(&self) {
        self.allow(false).await;
        sqlx::query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1")
            .bind(&self.database)
            .execute(&self.elsewhere)
            .await
            .unwrap();
    }

    async fn open(&self) {
        self.allow(true).await;
    }

    async fn allow(&self, allowed: bool) {
        let statement = format!("ALTER DATABASE \"{}\" ALLOW_CONNECTIONS {allowed}", self.database);
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .execute(&self.elsewhere)
            .await
            .unwrap();
    }
}

#[sqlx::test]
async fn it_is_ready_while_its_database_answers(pool: PgPool) {
    let serving = serve(&pool).await;
    let is = async |path, status| serving.status(path).await == format!("HTTP/1.1 {status}");
    until("it is ready", async || is("/readyz", "200 OK").await).await;
    let door = Door::of(&pool).await;
    door.shut().await;
    until("it is not ready", async || {
        is("/readyz", "503 Service Unavailable").await
    })
    .await;
    assert!(is("/livez", "200 OK").await);
    door.open().await;
    until("it is ready again", async || is("/readyz", "200 OK").await).await;
}

/// Ends all connections of others to the database, and waits until they have ended; how many there were.
async fn end_connections(pool: &PgPool) -> usize {
    let ended: Vec<(i32, bool)> = sqlx::query_as(
        "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    let ended = ended.into_iter().map(|(pid, _)| pid).collect::<Vec<_>>();
    until("they have ended", async || {
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1)")
            .bind(&ended)
            .fetch_one(pool)
            .await
            .unwrap();
        left == 0
    })
    .await;
    ended.len()
}

#[sqlx::test]
async fn lost_connections_cost_no_transaction_and_one_statement_at_most(pool: PgPool) {
    let serving = serve(&pool).await;
    let client = KeyServiceClient::new(serving.connect().await);
    let make_key = async |account_id: String| {
        let request = CreateKeyRequest {
            account_id,
            name: None,
        };
        client.clone().create_key(with_token(request)).await
    };
    for round in 0..8 {
        let together = || try_join_all((0..16).map(|number| make_key(format!("acct-{round}-{number}"))));
        together().await.unwrap();
        assert!(end_connections(&pool).await > 3, "it has several");
        if round % 2 == 0 {
            make_key(format!("acct-{round}")).await.unwrap();
        }
        together().await.unwrap();
        assert!(end_connections(&pool).await > 3, "it has several");
        // One after the other.
        let mut lost = 0;
        for _ in 0..16 {
            let request = ListKeysRequest {
                account_id: format!("acct-{round}-0"),
            };
            if let Err(status) = client.clone().list_keys(with_token(request)).await {
                assert_eq!(status.code(), Code::Unavailable, "{status}");
                lost += 1;
            }
        }
        assert!(lost <= 1, "{lost} of 16 in round {round}");
    }
}

/// What `health` says of the process whose admin port is this one, told nothing but that.
async fn health(admin_listen: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keys"))
        .arg("health")
        .env_clear()
        .env("DS_KEYS__ADMIN_LISTEN", admin_listen)
        .output()
        .await
        .unwrap()
}

#[sqlx::test]
async fn its_health_can_be_asked_without_secrets(pool: PgPool) {
    let door = Door::of(&pool).await;
    door.shut().await;
    let mut serving = serve(&pool).await;
    let port = serving.admin_address.rsplit(':').next().unwrap();
    let listens = format!("0.0.0.0:{port}");
    let waiting = health(&listens).await;
    assert_eq!(waiting.status.code(), Some(1), "{}", text(&waiting));
    assert!(text(&waiting).contains("not ready: "), "{}", text(&waiting));
    door.open().await;
    until("it is in good health", async || {
        health(&listens).await.status.code() == Some(0)
    })
    .await;
    terminate(&serving).await;
    assert_eq!(serving.child.wait().await.unwrap().code(), Some(0));
    let ended = health(&listens).await;
    assert_eq!(ended.status.code(), Some(1), "{}", text(&ended));
    let misspelt = health("everywhere").await;
    assert_eq!(misspelt.status.code(), Some(1), "{}", text(&misspelt));
    assert!(
        text(&misspelt).contains("admin_listen: \"everywhere\""),
        "{}",
        text(&misspelt)
    );
}

#[tokio::test]
async fn whoever_reads_its_help_may_leave_before_the_end() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    // `output` would put its own pipe there.
    let told = Command::new(env!("CARGO_BIN_EXE_keys"))
        .arg("--help")
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .await
        .unwrap();
    assert_eq!(told.status.code(), Some(0), "{}", text(&told));
    assert_eq!(text(&told), "");
}

#[sqlx::test]
async fn whoever_watches_its_health_does_not_keep_it_up(pool: PgPool) {
    let mut serving = serve(&pool).await;
    let mut health = HealthClient::new(serving.connect().await);
    let watched = health.watch(HealthCheckRequest::default()).await.unwrap();
    let mut watched = watched.into_inner();
    assert!(watched.message().await.unwrap().is_some());
    terminate(&serving).await;
    while let Ok(Some(_)) = watched.message().await {}
    assert_eq!(serving.child.wait().await.unwrap().code(), Some(0));
}

#[sqlx::test]
async fn it_may_start_before_its_database(pool: PgPool) {
    let door = Door::of(&pool).await;
    door.shut().await;
    let serving = serve(&pool).await;
    let is = async |path, status| serving.status(path).await == format!("HTTP/1.1 {status}");
    assert!(is("/livez", "200 OK").await);
    assert!(is("/readyz", "503 Service Unavailable").await);
    door.open().await;
    until("it is ready", async || is("/readyz", "200 OK").await).await;
}

#[sqlx::test]
async fn told_to_stop_while_it_waits_for_its_database_it_ends(pool: PgPool) {
    let door = Door::of(&pool).await;
    door.shut().await;
    let mut serving = serve(&pool).await;
    terminate(&serving).await;
    assert_eq!(serving.child.wait().await.unwrap().code(), Some(0));
    door.open().await;
}

#[sqlx::test]
async fn a_database_that_is_not_there_is_told_and_not_waited_for(pool: PgPool) {
    let nowhere = (*pool.connect_options()).clone().database("there_is_none");
    let refused = command(&pool, &["serve"])
        .env("DS_KEYS__DATABASE_URL", nowhere.to_url_lossy().as_str())
        .output()
        .await
        .unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused));
    assert!(text(&refused).contains("there_is_none"), "{}", text(&refused));
}

#[sqlx::test]
async fn with_a_pepper_of_another_database_it_does_not_serve(pool: PgPool) {
    const THEIRS: &str = "the current pepper of the tests, long enough";
    create(&keys(&pool), &account("acme"), "x").await;
    let refused = command(&pool, &["serve"]).output().await.unwrap();
    let told = text(&refused);
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(
        told.contains("none of the 1 active keys was hashed with pepper"),
        "{told}"
    );
    assert!(!told.contains(PEPPER), "{told}");
    let mut command = command(&pool, &["serve"]);
    command.env("DS_KEYS__PREVIOUS_PEPPER", THEIRS);
    let serving = serve_by(command).await;
    until("it is ready", async || {
        serving.status("/readyz").await.contains("200")
    })
    .await;
    let metrics = serving.answer("/metrics").await;
    assert!(
        metrics.contains("keys_active{pepper=\"previous\"} 1"),
        "{metrics}"
    );
}
