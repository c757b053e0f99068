//! The binary and its two roles: the one that migrates, and the one that serves and can't rewrite the ledger.

use std::process::{Output, Stdio};

use futures::future::try_join_all;
use proto::credits::{Adjustment, LedgerPage, Refund};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgPool};
use tokio::process::Command;

use crate::bank::{DAY, charge, id, open, with_key};

const PASSWORD: &str = "a password for tests";

async fn billing(command: &str, options: &PgConnectOptions, serving_role: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_billing"))
        .arg(command)
        .env("DS_BILLING__DATABASE_URL", options.to_url_lossy().as_str())
        .env("DS_BILLING__DATABASE_SERVING_ROLE", serving_role)
        .env(
            "DS_BILLING__SERVICE_TOKENS",
            "tester:charge+admin:a-token-for-tests-long-enough",
        )
        .env("DS_BILLING__LISTEN", "127.0.0.1:0")
        .env("DS_BILLING__ADMIN_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn run(pool: &PgPool, statement: String) {
    sqlx::query(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}

/// A role of this database's own; its quotation mark is to be quoted.
async fn make_role(pool: &PgPool) -> String {
    let database: String = sqlx::query_scalar("SELECT current_database()")
        .fetch_one(pool)
        .await
        .unwrap();
    let role = format!("server\" of {database}");
    // Of a run that was broken off.
    run(pool, format!("DROP ROLE IF EXISTS {}", quoted(&role))).await;
    run(
        pool,
        format!("CREATE ROLE {} LOGIN PASSWORD '{PASSWORD}'", quoted(&role)),
    )
    .await;
    role
}

async fn remove_role(pool: &PgPool, role: &str) {
    run(pool, format!("DROP OWNED BY {}", quoted(role))).await;
    run(pool, format!("DROP ROLE {}", quoted(role))).await;
}

fn quoted(role: &str) -> String {
    format!("\"{}\"", role.replace('"', "\"\""))
}

#[sqlx::test(migrations = false)]
async fn the_role_that_serves_does_its_work_and_can_not_rewrite_the_ledger(pool: PgPool) {
    let owner = pool.connect_options().as_ref().clone();
    let role = make_role(&pool).await;
    // Replicas may migrate together, and again.
    let both = [
        billing("migrate", &owner, &role),
        billing("migrate", &owner, &role),
    ];
    for migrated in futures::future::join_all(both).await {
        assert!(migrated.status.success(), "{}", text(&migrated));
    }
    let serving = owner.clone().username(&role).password(PASSWORD);
    let served = PgPoolOptions::new().connect_with(serving).await.unwrap();

    let bank = open(&served);
    bank.give("acct", 100).await;
    let keyed = |number: u128| with_key(charge("acct", number), &number.to_string(), 1);
    try_join_all((0..20).map(|number| bank.charge(keyed(number))))
        .await
        .unwrap();
    bank.billing.preview(&keyed(1).purchase).await.unwrap();
    let page = LedgerPage {
        account: id("acct"),
        size: 1,
        before: None,
    };
    let (newest, _) = bank.billing.ledger(&page).await.unwrap();
    let entry = newest[0].id;
    let refund = Refund {
        account: id("acct"),
        entry,
    };
    bank.billing.refund(refund).await.unwrap();
    let adjustment = Adjustment {
        account: id("acct"),
        id: "a".to_owned(),
        entry,
        amount: -1,
    };
    bank.billing.adjust(adjustment).await.unwrap();
    bank.ambient.advance(DAY);
    // Bound anew, where the binding no longer counts.
    bank.charge(with_key(charge("acct", 1_000), "1", 2))
        .await
        .unwrap();
    let expired = bank.ambient.now() - DAY;
    assert_eq!(
        bank.billing.store.remove_bindings(expired, 100).await.unwrap(),
        19
    );
    let mut verification = bank.billing.verify();
    while let Some(verified) = verification.step().await.unwrap() {
        assert_eq!(verified.differences, []);
    }
    bank.audit().await;

    for statement in [
        "UPDATE ledger_entries SET amount = 6",
        "UPDATE ledger_entries SET amount = 6 WHERE false",
        "DELETE FROM ledger_entries WHERE false",
        "TRUNCATE ledger_entries",
        "SELECT * FROM ledger_entries FOR UPDATE",
        "ALTER TABLE ledger_entries DISABLE TRIGGER ALL",
        "ALTER TABLE ledger_entries DROP CONSTRAINT one_cause",
        "DROP TABLE ledger_entries",
        "CREATE TABLE mine (a int)",
        "SET session_replication_role = replica",
        "UPDATE accounts SET account_id = 'another'",
        "DELETE FROM accounts",
        "DELETE FROM _sqlx_migrations",
    ] {
        let refused = sqlx::query(statement).execute(&served).await;
        let told = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            ["permission denied", "must be owner"]
                .iter()
                .any(|reason| told.contains(reason)),
            "{statement}: {told}"
        );
    }
    served.close().await;
    remove_role(&pool, &role).await;
}

#[sqlx::test]
async fn it_does_not_serve_as_a_role_that_could_rewrite_the_ledger(pool: PgPool) {
    let owner = pool.connect_options().as_ref().clone();
    let role = make_role(&pool).await;
    let as_owner = billing("serve", &owner, &role).await;
    assert_eq!(as_owner.status.code(), Some(1), "{}", text(&as_owner));
    let quoted = quoted(&role);
    run(&pool, format!("GRANT SELECT ON _sqlx_migrations TO {quoted}")).await;
    let serving = owner.clone().username(&role).password(PASSWORD);
    for right in ["UPDATE (amount)", "DELETE", "TRUNCATE"] {
        run(&pool, format!("GRANT {right} ON ledger_entries TO {quoted}")).await;
        let refused = billing("serve", &serving, &role).await;
        assert_eq!(refused.status.code(), Some(1), "{right}: {}", text(&refused));
        assert!(
            text(&refused).contains("may change what is in ledger_entries"),
            "{right}: {}",
            text(&refused)
        );
        run(&pool, format!("REVOKE {right} ON ledger_entries FROM {quoted}")).await;
    }
    remove_role(&pool, &role).await;
}
