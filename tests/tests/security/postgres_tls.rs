//! TLS to Postgres, as those who run it for others ask for it: the address says how (`sslmode`, `sslrootcert`).

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use devstack::{Options, Service};
use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};
use system_tests::{Authority, World};

/// Where the tests' Postgres listens.
const HERE: &str = "127.0.0.1";

/// What the administrator is answered: the first column of the first row, if there is one.
fn ask(world: &World, sql: &str) -> Option<String> {
    let url = world.stack.cluster_url().unwrap();
    world.operator.block_on(async {
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let rows = connection.fetch_all(AssertSqlSafe(sql)).await.unwrap();
        rows.first().map(|row| row.try_get(0).unwrap())
    })
}

/// A file of whoever owns the folder, for nobody else to read.
fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let owner = fs::metadata(folder).unwrap();
    chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
}

/// An address at which only a server of this authority is spoken with.
fn verifying(url: &str, authority: &Path) -> String {
    let mut url: reqwest::Url = url.parse().unwrap();
    url.query_pairs_mut()
        .append_pair("sslmode", "verify-full")
        .append_pair("sslrootcert", authority.to_str().unwrap());
    url.into()
}

#[test]
fn databases_are_spoken_with_in_tls_and_only_with_those_of_the_authority_that_is_named() {
    let world = World::start(Options::new().own_postgres());
    let [ours, others] = ["ours", "others"].map(Authority::new);
    let [our_file, other_file] = [("ours", &ours), ("others", &others)].map(|(name, authority)| {
        let path = world.stack.folder().join(format!("{name}.pem"));
        fs::write(&path, &authority.certificate).unwrap();
        path
    });
    let data = PathBuf::from(ask(&world, "SHOW data_directory").unwrap());
    let pair = ours.server(HERE);
    write(&data, "server.crt", &pair.certificate);
    write(&data, "server.key", &pair.key);
    let _ = ask(&world, "ALTER SYSTEM SET ssl = on");
    let _ = ask(&world, "SELECT pg_reload_conf()::text");
    // Nobody is let in without it any more, but for the administrator.
    let rules = PathBuf::from(ask(&world, "SHOW hba_file").unwrap());
    let encrypted = "local all all scram-sha-256\nhost all postgres all scram-sha-256\nhostssl all all all scram-sha-256\n";
    write(rules.parent().unwrap(), "pg_hba.conf", encrypted);
    let _ = ask(&world, "SELECT pg_reload_conf()::text");

    let environment = &world.environment;
    for (service, setting, url) in [
        (
            Service::Search,
            "DS_SEARCH__DATABASE_URL",
            &environment.database_url_search,
        ),
        (
            Service::Keys,
            "DS_KEYS__DATABASE_URL",
            &environment.database_url_keys,
        ),
        (
            Service::Billing,
            "DS_BILLING__DATABASE_URL",
            &environment.database_url_billing,
        ),
    ] {
        let connect = |url: String| {
            world
                .operator
                .block_on(async { PgConnection::connect(&url).await })
        };
        let refused = connect(verifying(url, &other_file)).unwrap_err().to_string();
        assert!(refused.contains("UnknownIssuer"), "{refused}");
        assert!(connect(format!("{url}?sslmode=disable")).is_err());
        world.stack.set(setting, &verifying(url, &our_file));
        world.stack.restart(service).unwrap();
    }
    world.stack.restart(Service::Gateway).unwrap();
    let account = world.account();
    let _ = account.companies(&json!({"limit": 1})).expect(200);
    let encrypted = "SELECT string_agg(DISTINCT (datname || ' ' || ssl), ', ') FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE usename <> 'postgres'";
    let told = ask(&world, encrypted).unwrap();
    assert_eq!(told.matches(" true").count(), 3, "{told}");
    assert!(!told.contains("false"), "{told}");
}
