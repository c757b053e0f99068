//! What a statement costs does not grow with its tables. A connection keeps the plan of a statement: one that was made
//! while a table was small would go through all of it for as long as nobody analyses the table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use devstack::{Options, Part, Service};
use proto::search::v1::import_record::Change;
use reqwest::Method;
use serde_json::json;
use system_tests::{Account, World, company, person};

use crate::restore::{databases, program};

/// How often each operation is done on small tables: Postgres settles on a plan after five times.
const BEFORE: u32 = 8;
/// And how often on large ones.
const AFTER: u32 = 20;
/// Rows that are added to each table in between.
const ROWS: u32 = 20_000;
/// Most rows of a table that one operation looks at, on average.
const MOST_ROWS: u64 = 100;

/// Everything that a table is read for.
fn use_all(world: &World, account: &Account, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let id = format!("used-{number}");
        let mut employee = person(&id, "Ada Example");
        employee.company_external_id = Some(id.clone());
        employee.email = Some(format!("ada@example-{number}.com"));
        let record = company(&id, &format!("Used {number}"));
        // New ones, the same again, and others in their place.
        for name in ["Used", "Used", "Used again"] {
            let mut record = record.clone();
            record.name = format!("{name} {number}");
            employee.full_name = Some(format!("{name} Example"));
            world
                .operator
                .import([Change::Company(record), Change::Person(employee.clone())]);
        }
        let people = account.people(&json!({"companyName": format!("Used again {number}")}));
        let found = people.expect(200).rows()[0]["id"].as_str().unwrap().to_owned();
        let _ = world.operator.reveal(&account.id, &found);
        let _ = account
            .people(&json!({"companyName": "Used", "businessEmail": "example.com"}))
            .expect(200);
        let key = format!("key-{number}");
        let with_key = [("Idempotency-Key", key.as_str())];
        let _ = account
            .search_with("companies", &json!({}), &with_key)
            .expect(200);
        let _ = account
            .search_with("companies", &json!({}), &with_key)
            .expect(200);
        let _ = account.get("/credits").expect(200);
        let made = account
            .keys(Method::POST, "", Some(json!({"name": "used"})))
            .expect(201);
        let mut other = account.clone();
        made.body["secret"].as_str().unwrap().clone_into(&mut other.key);
        let _ = other.companies(&json!({"limit": 1})).expect(200);
        let id = made.body["key"]["id"].as_str().unwrap().to_owned();
        let _ = account.keys(Method::GET, "", None).expect(200);
        let _ = account.keys(Method::DELETE, &format!("/{id}"), None).expect(200);
        world.operator.set_rate(&account.id, 1_000_000, 1);
    }
}

fn sql(world: &World, database: &str, statements: &str) -> String {
    let output = program(&world.stack, "psql")
        .args(["--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1"])
        .args(["--dbname", database, "--command", statements])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Adds rows behind everybody's back, so that nothing but the tables' sizes changes. (Looking up what they refer to would
/// be counted too.)
fn grow(world: &World, [search, keys, billing]: &[String; 3]) {
    let add = |database: &str, statements: &str| {
        let statements = statements.replace("NUMBERS", &format!("generate_series(1, {ROWS}) AS n"));
        let _ = sql(
            world,
            database,
            &format!("BEGIN; SET LOCAL session_replication_role = replica; {statements}; COMMIT"),
        );
    };
    add(
        search,
        "INSERT INTO companies (id, external_id, name, business_types, tags, info_updated_at)
         SELECT md5(n::text)::uuid, 'grown-' || n, 'Grown', '{}', '{}', now() FROM NUMBERS;
         INSERT INTO people (id, external_id, company_external_id, full_name, email, info_updated_at)
         SELECT md5(n::text)::uuid, 'grown-' || n, 'grown-' || n, 'Grown', 'a@example.com', now() FROM NUMBERS;
         INSERT INTO reveals (account_id, person_id, revealed_at)
         SELECT 'grown', md5(n::text)::uuid, now() FROM NUMBERS",
    );
    add(
        keys,
        "INSERT INTO keys (id, account_id, name, key_prefix, secret_hash, pepper_id, created_at)
         SELECT md5(n::text)::uuid, 'grown-' || n, 'grown', 'dsk_grown000', sha256(n::text::bytea), 'ffffffff', now()
         FROM NUMBERS;
         INSERT INTO rates (account_id, requests, window_ms) SELECT 'grown-' || n, 1, 1000 FROM NUMBERS",
    );
    add(
        billing,
        "INSERT INTO accounts (account_id, balance) SELECT 'grown-' || n, 0 FROM NUMBERS;
         INSERT INTO ledger_entries (account_id, amount, balance, created_at, charge_id, operation)
         SELECT 'grown-' || n, 0, 0, now(), md5(n::text)::uuid, 1 FROM NUMBERS;
         INSERT INTO idempotency_bindings (account_id, operation, key, fingerprint, cost, bound_at)
         SELECT 'grown-' || n, 1, 'grown', sha256(''), 0, now() FROM NUMBERS",
    );
}

/// How many rows of each table have been looked at, as far as connections have told it: they do when they end.
fn looked_at(world: &World, database: &str) -> BTreeMap<String, u64> {
    let told = sql(
        world,
        database,
        "SELECT relname, seq_tup_read + coalesce((
             SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE pg_stat_user_indexes.relid = tables.relid
         ), 0)
         FROM pg_stat_user_tables AS tables",
    );
    let rows = told.lines().filter_map(|line| line.split_once('|'));
    rows.map(|(table, rows)| (table.to_owned(), rows.parse().unwrap()))
        .collect()
}

#[test]
fn no_table_that_had_a_few_rows_is_gone_through_when_it_has_grown() {
    expect_no_table_is_gone_through(2);
}

#[test]
fn no_table_that_had_some_rows_is_gone_through_when_it_has_grown() {
    expect_no_table_is_gone_through(20);
}

/// After statements were planned for tables of about so many rows.
fn expect_no_table_is_gone_through(few: u32) {
    let options = Options::new()
        .own_postgres()
        .postgres_setting("autovacuum=off")
        .setting("DS_SEARCH__DATABASE_MAX_CONNECTIONS", "3")
        .setting("DS_KEYS__DATABASE_MAX_CONNECTIONS", "1")
        .setting("DS_BILLING__DATABASE_MAX_CONNECTIONS", "1")
        .setting("DS_BILLING__IDEMPOTENCY_SWEEP", "100ms");
    let world = World::start(options);
    let databases = databases(&world);
    let account = world.account();
    world.operator.set_rate(&account.id, 1_000_000, 1);
    // Plans are made of what is known of a table: at first nothing, then that it is small.
    use_all(&world, &account, 0..few);
    for database in &databases {
        let _ = sql(&world, database, "ANALYZE");
    }
    let many = few + BEFORE + AFTER;
    use_all(&world, &account, few..few + BEFORE);
    grow(&world, &databases);
    use_all(&world, &account, few + BEFORE..many);
    for service in Service::ALL {
        world.stack.stop(Part::from(service)).unwrap();
    }
    let mut problems = String::new();
    let most = u64::from(many) * MOST_ROWS;
    for database in &databases {
        for (table, rows) in looked_at(&world, database) {
            if rows > most {
                let _ = writeln!(
                    problems,
                    "{database}: {rows} rows of {table} were looked at, {most} are too many"
                );
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}
