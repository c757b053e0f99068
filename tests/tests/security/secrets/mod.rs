//! Secrets are nowhere but where they are meant to be.
//!
//! A system of its own is told to log and trace all that it can, its database too. Secrets are sent through it: on the
//! right paths, on the wrong ones, while parts of it are dead. Then all that it has left behind is searched for them.

mod evidence;
mod marks;
mod paths;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use devstack::{Options, Part, Service};
use proto::search::v1::PersonRecord;
use proto::search::v1::import_record::Change;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use system_tests::{Collector, World, person, program};

use evidence::{Monitor, Places};
use marks::Marks;
use paths::Sender;

/// What the ids of requests begin with, to see that logs and traces are those of this test.
const REQUEST: &str = "a-request-of-this-test";

fn talkative(collector: &Collector) -> World {
    let mut options = Options::new().own_postgres();
    for service in Service::ALL {
        let setting = |name: &str| format!("DS_{}__{name}", service.name().to_uppercase());
        options = options
            .setting(&setting("LOG_FILTER"), "trace")
            .setting(&setting("OTLP_ENDPOINT"), &collector.address);
    }
    let world = World::start(options);
    let databases = [
        &world.environment.database_url_search,
        &world.environment.database_url_keys,
        &world.environment.database_url_billing,
    ];
    let administrator = world.stack.cluster_url().unwrap();
    world.operator.block_on(async {
        let mut connection = PgConnection::connect(&administrator).await.unwrap();
        for database in databases {
            let name = database.rsplit('/').next().unwrap();
            for setting in [
                "log_statement = 'all'",
                "log_min_messages = 'debug2'",
                "log_min_error_statement = 'debug5'",
                "log_parameter_max_length_on_error = -1",
            ] {
                let statement = format!("ALTER DATABASE {name} SET {setting}");
                sqlx::query(sqlx::AssertSqlSafe(statement))
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
        }
    });
    // New connections have the settings.
    for service in Service::WITH_DATABASE {
        world.stack.restart(service).unwrap();
    }
    world
}

/// What the system remembers of itself.
fn state(world: &World) -> Value {
    let state = std::fs::read(world.stack.folder().join("state.json")).unwrap();
    serde_json::from_slice(&state).unwrap()
}

/// The system's own secrets, by name.
fn own_secrets(world: &World) -> Vec<(String, String)> {
    let state = state(world);
    let secrets = state["secrets"].as_object().unwrap();
    let texts = secrets
        .iter()
        .map(|(name, secret)| (name.clone(), secret.as_str().unwrap().to_owned()));
    texts.collect()
}

#[test]
fn no_secret_is_left_anywhere() {
    let collector = Collector::start();
    let world = talkative(&collector);
    let monitor = Monitor::start(&world);
    let mut marks = Marks::default();
    let own = own_secrets(&world);
    assert!(own.len() >= 7);
    for (name, secret) in &own {
        marks.add(name, secret);
    }
    let account = world.account();
    marks.add_key("the first key of an account", &account.key);
    let wrong_token = "a-service-token-of-no-worth-0123456789";
    marks.add("a wrong service token", wrong_token);

    let mut sender = Sender::new(&world);
    let mut keys = sender.life_of_a_key(&account, &mut marks);
    let (unknown, mistyped) = (unknown_key(), mistyped(&account.key));
    marks.add_key("an unknown key", &unknown);
    marks.add("a mistyped key", &mistyped[proto::api_key::SHOWN_LENGTH..]);
    keys.extend([account.key.clone(), unknown, mistyped]);
    for key in &keys {
        sender.key_everywhere(key, &mut marks);
    }
    sender.sessions_everywhere(&account, &mut marks);
    sender.services(&keys, wrong_token);
    let traced = account.search_with("companies", &json!({"limit": 1}), &[("X-Request-Id", REQUEST)]);
    let _ = traced.expect(200);

    let mut places = evidence::metrics(&world);
    places.extend(evidence::redis_content(&world));
    places.extend(evidence::processes(&world));
    for part in [
        Part::from(Service::Keys),
        Part::from(Service::Billing),
        Part::from(Service::Search),
        Part::Redis,
        Part::Postgres,
    ] {
        world.stack.kill(part).unwrap();
        sender.right_paths(&account, &keys[2..], &mut marks);
        sender.services(&keys[..1], wrong_token);
        world.stack.start_part(part).unwrap();
    }
    places.push(("what Redis was told".to_owned(), monitor.heard()));
    places.push(("the answers".to_owned(), std::mem::take(&mut sender.answers)));
    places.extend(evidence::metrics(&world));
    places.extend(evidence::databases(&world));
    // The last traces leave when the processes end.
    let home = state(&world)["postgres"]["Own"]["home"]
        .as_str()
        .map(PathBuf::from);
    for part in Service::ALL
        .map(Part::from)
        .into_iter()
        .chain([Part::Redis, Part::Postgres])
    {
        world.stack.stop(part).unwrap();
    }
    places.extend(evidence::files(&world, &home.unwrap()));
    places.push(("the traces".to_owned(), collector.exports().concat()));

    assert_talks(&places, &account.id);
    assert_nothing_of(&marks, &places);
}

/// What is searched holds what it has to hold: a search of nothing finds nothing.
fn assert_talks(places: &Places, account: &str) {
    let holds = |place: &str, text: &str| {
        let found = places
            .iter()
            .filter(|(name, _)| name.contains(place))
            .any(|(_, bytes)| bytes.windows(text.len()).any(|window| window == text.as_bytes()));
        assert!(found, "{text} is not in {place}");
    };
    for service in Service::ALL {
        let log = format!("logs/{}.log", service.name());
        holds(&log, "TRACE");
        holds(&log, "DEBUG");
    }
    holds("logs/gateway.log", REQUEST);
    holds("logs/keys.log", "keys.v1.KeyService/VerifyKey");
    holds("logs/postgres.log", "INSERT INTO keys");
    holds("the traces", REQUEST);
    holds("the traces", "keys.v1.KeyService/VerifyKey");
    holds("what Redis was told", account);
    holds("the answers", "INVALID_API_KEY");
    holds("the metrics of keys", "keys_verifications_total");
    holds("keys of keys", account);
    holds("of billing", account);
}

fn assert_nothing_of(marks: &Marks, places: &Places) {
    let search = marks.search();
    let found: Vec<String> = places
        .iter()
        .filter_map(|(place, bytes)| Some(format!("{place}: {}", search.found_in(bytes)?)))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// A key that was never handed out.
fn unknown_key() -> String {
    let body = "dsk_ThisKeyWasNeverHandedOutByAnyone";
    let body = format!("{body:0<36}");
    format!("{body}{}", proto::api_key::checksum(&body))
}

/// The key with one character changed.
fn mistyped(key: &str) -> String {
    let last = if key.ends_with('a') { 'b' } else { 'a' };
    format!("{}{last}", &key[..key.len() - 1])
}

#[test]
fn a_locked_address_leaves_the_search_service_on_no_path() {
    let collector = Collector::start();
    let world = talkative(&collector);
    let monitor = Monitor::start(&world);
    let account = world.account();
    let (name, address) = (world.word(), "marked.address.of.somebody@locked.example");
    let mut marks = Marks::default();
    marks.add("a locked address", address);
    marks.add("its first part", "marked.address.of.somebody");
    let record = PersonRecord {
        email: Some(address.to_owned()),
        job_title: Some(name.clone()),
        ..person(&name, "Somebody")
    };
    world.operator.import([Change::Person(record)]);
    let mut sender = Sender::new(&world);
    for filter in [
        json!({"jobTitles": [name]}),
        json!({"jobTitles": [name], "fields": ["email", "emailStatus"]}),
        json!({"jobTitles": [name], "businessEmail": "locked.example"}),
        json!({"jobTitles": [name], "sort": {"field": "fullName"}, "cursor": null}),
    ] {
        let request = account.request(reqwest::Method::POST, "/people/search");
        sender.send(request.header("X-API-Key", &account.key).json(&filter));
    }
    let mut places = evidence::metrics(&world);
    places.extend(evidence::redis_content(&world));
    places.push(("the answers".to_owned(), std::mem::take(&mut sender.answers)));
    for part in [Part::Redis].into_iter().chain(Service::ALL.map(Part::from)) {
        world.stack.stop(part).unwrap();
    }
    places.push(("what Redis was told".to_owned(), monitor.heard()));
    places.push(("the traces".to_owned(), collector.exports().concat()));
    for service in Service::ALL {
        let log = world.stack.log(service).unwrap();
        places.push((format!("the log of {}", service.name()), log.into_bytes()));
    }
    let (_, answers) = places.iter().find(|(name, _)| name == "the answers").unwrap();
    let locked = answers.windows(6).filter(|window| *window == b"locked").count();
    assert!(locked >= 2, "{}", String::from_utf8_lossy(answers));
    assert_nothing_of(&marks, &places);
}

#[test]
fn what_a_process_says_of_its_settings_holds_no_secret() {
    let world = World::start(Options::new());
    let own = own_secrets(&world);
    let mark = "marked-secret-0123";
    let mut marks = Marks::default();
    marks.add("a mark", mark);
    for (name, secret) in &own {
        marks.add(name, secret);
    }
    let mut places = Places::new();
    for service in Service::ALL {
        let file = world
            .stack
            .folder()
            .join(format!("settings/{}.toml", service.name()));
        let settings: toml::Table = std::fs::read_to_string(&file).unwrap().parse().unwrap();
        let secrets = settings.iter().filter(|(_, value)| {
            let value = value.as_str().unwrap();
            own.iter().any(|(_, secret)| value.contains(secret))
        });
        let secrets: Vec<&String> = secrets.map(|(name, _)| name).collect();
        assert!(secrets.len() >= 2, "{secrets:?}");
        let mut ask = |argument: &str, changed: Option<(&str, String)>| {
            let variable =
                |name: &str| format!("DS_{}__{}", service.name().to_uppercase(), name.to_uppercase());
            let mut command = Command::new(program(service));
            command
                .arg(argument)
                .stdin(Stdio::null())
                .env(variable("config"), &file)
                .env(variable("listen"), "127.0.0.1:0")
                .env(variable("admin_listen"), "127.0.0.1:0");
            if let Some((name, value)) = &changed {
                command.env(variable(name), value);
            }
            let output = command.output().unwrap();
            let told = [output.stdout, output.stderr].concat();
            places.push((
                format!("what {} says of {changed:?} to {argument}", service.name()),
                told,
            ));
            output.status.success()
        };
        assert!(ask("--print-config", None));
        assert!(ask("--help", None));
        for name in secrets {
            // None of these is good: too short, no address, no list of tokens.
            for bad in [
                mark.to_owned(),
                format!("postgres://user:{mark}@host:no-port/name"),
                format!("caller:no-scope:{mark}"),
            ] {
                ask("--print-config", Some((name, bad.clone())));
                // Nobody is waited for at an address that is none.
                if bad == mark || (name == "database_url" && bad.starts_with("postgres://")) {
                    assert!(!ask("serve", Some((name, bad))), "{name}");
                }
            }
        }
    }
    assert!(places.len() > 20);
    assert_nothing_of(&marks, &places);
}
