//! The binary: its settings, its migrations, its refusal to start without them.

use std::process::{Output, Stdio};

use sqlx::{ConnectOptions as _, PgPool};
use tokio::process::Command;

use crate::fixture::redis_url;

const PEPPER: &str = "a pepper of thirty-two characters";

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
        .env(
            "DS_KEYS__SERVICE_TOKENS",
            "tester:keys+verify:a-token-for-tests-long-enough",
        )
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
    assert_eq!(applied, keys::store::migrator().iter().count() as i64);
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
        assert!(
            !shown.contains(PEPPER) && !shown.contains("a-token-for-tests"),
            "{shown}"
        );
    }
}
