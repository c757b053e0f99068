//! Backups, as `docs/operations.md` tells: three dumps are all that is needed, and what came after them is gone.

use std::fs;
use std::process::Command;

use devstack::{Options, Service, Stack};
use proto::search::v1::import_record::Change;
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, World, company, person};

/// A client program of Postgres that speaks to the stack's cluster. The password is in the environment, since
/// everybody can read the process list.
pub(crate) fn program(stack: &Stack, name: &str) -> Command {
    let cluster: reqwest::Url = stack.cluster_url().unwrap().parse().unwrap();
    let mut command = Command::new(Stack::postgres_program(name).unwrap());
    command
        .env("PGHOST", cluster.host_str().unwrap())
        .env("PGPORT", cluster.port().unwrap().to_string())
        .env("PGUSER", cluster.username())
        .env("PGPASSWORD", cluster.password().unwrap_or_default());
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}: {}",
        command.get_program().display(),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Names of the databases of search, keys and billing.
pub(crate) fn databases(world: &World) -> [String; 3] {
    let environment = &world.environment;
    [
        &environment.database_url_search,
        &environment.database_url_keys,
        &environment.database_url_billing,
    ]
    .map(|url| {
        let url: reqwest::Url = url.parse().unwrap();
        url.path().trim_start_matches('/').to_owned()
    })
}

fn import(world: &World, numbers: std::ops::Range<u32>) {
    let changes = numbers.flat_map(|number| {
        let mut person = person(&format!("p{number}"), &format!("Ada Example {number}"));
        person.company_external_id = Some(format!("c{number}"));
        let company = company(&format!("c{number}"), &format!("Restored {number}"));
        [Change::Company(company), Change::Person(person)]
    });
    world.operator.import(changes.collect::<Vec<_>>());
}

/// All that an account can see without paying for it, and rows.
fn seen(world: &World, account: &Account) -> Value {
    let rows = |kind: &str| account.search(kind, &json!({"limit": 250})).expect(200).body["data"].clone();
    let keys = account.keys(Method::GET, "", None).expect(200).body;
    let names: Vec<_> = keys["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["name"].clone())
        .collect();
    let (companies, people) = (rows("companies"), rows("people"));
    json!({
        "companies": companies["rows"],
        "people": people["rows"],
        "totals": [companies["total"], people["total"]],
        "keys": names,
        "balance": world.operator.balance(&account.id),
        "ledger": world.operator.ledger(&account.id).len(),
    })
}

#[test]
fn what_was_dumped_is_there_again_and_the_index_is_built_of_it() {
    let world = World::start(Options::new());
    import(&world, 0..30);
    let account = world.account();
    let before = seen(&world, &account);
    assert_eq!(before["totals"], json!([30, 30]));

    let dumps = tempfile::tempdir().unwrap();
    let dump = |database: &str| dumps.path().join(database);
    for database in databases(&world) {
        let file = dump(&database);
        run(program(&world.stack, "pg_dump")
            .args(["--format=custom", "--file"])
            .arg(&file)
            .arg(&database));
    }
    import(&world, 20..40);
    let made = account
        .keys(Method::POST, "", Some(json!({"name": "later"})))
        .expect(201);
    let mut later = account.clone();
    later.key = made.body["secret"].as_str().unwrap().to_owned();
    assert_ne!(seen(&world, &later), before);

    for service in Service::ALL {
        world.stack.stop(service).unwrap();
    }
    for database in databases(&world) {
        run(program(&world.stack, "pg_restore")
            .args([
                "--clean",
                "--create",
                "--if-exists",
                "--exit-on-error",
                "--dbname=postgres",
            ])
            .arg(dump(&database)));
    }
    fs::remove_dir_all(world.stack.folder().join("index")).unwrap();
    for service in Service::ALL {
        world.stack.start_part(service).unwrap();
    }

    // Whoever looks pays for two searches.
    assert_eq!(seen(&world, &account), charged_for(before, 2));
    assert_eq!(later.companies(&json!({"limit": 1})).status, 401);
    run(world.stack.dsctl().unwrap().args(["credits", "verify"]));
}

/// The same after so many more searches.
fn charged_for(mut seen: Value, searches: i64) -> Value {
    seen["balance"] = json!(seen["balance"].as_i64().unwrap() - searches);
    seen["ledger"] = json!(seen["ledger"].as_i64().unwrap() + searches);
    seen
}
