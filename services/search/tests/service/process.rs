//! The binary: its settings, its migrations, its refusal to start without them, and its end.

use std::process::{Output, Stdio};

use sqlx::{ConnectOptions as _, PgPool};
use tempfile::TempDir;
use tokio::process::Command;

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
            "tester:search:a-token-for-tests-long-enough",
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
