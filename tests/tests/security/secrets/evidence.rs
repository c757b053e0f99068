//! All that a system leaves behind: what it answered, logged, traced, counted, stored, and what others see of its processes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use devstack::{Part, Service};
use sqlx::{Connection as _, PgConnection};
use system_tests::World;

/// What was found in one place.
pub(crate) type Places = Vec<(String, Vec<u8>)>;

/// Hears every command that Redis is given, until Redis ends.
pub(crate) struct Monitor(JoinHandle<Vec<u8>>);

impl Monitor {
    pub(crate) fn start(world: &World) -> Self {
        let url = world.stack.redis_url();
        let (password, address) = url.trim_start_matches("redis://:").split_once('@').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .write_all(format!("AUTH {password}\r\nMONITOR\r\n").as_bytes())
            .unwrap();
        let mut begun = [0; 10];
        stream.read_exact(&mut begun).unwrap();
        assert_eq!(&begun, b"+OK\r\n+OK\r\n");
        Self(std::thread::spawn(move || {
            let mut heard = Vec::new();
            let _ = stream.read_to_end(&mut heard);
            heard
        }))
    }

    /// What it has heard. Redis has to have ended.
    pub(crate) fn heard(self) -> Vec<u8> {
        self.0.join().unwrap()
    }
}

/// What the processes tell by their admin ports.
pub(crate) fn metrics(world: &World) -> Places {
    let places = Service::ALL.into_iter().map(|service| {
        let address = world.stack.admin_address(service).unwrap();
        let text = ["metrics", "readyz"].map(|path| {
            reqwest::blocking::get(format!("{address}/{path}"))
                .unwrap()
                .text()
                .unwrap()
        });
        (
            format!("the metrics of {}", service.name()),
            text.concat().into_bytes(),
        )
    });
    places.collect()
}

/// What others can see of the processes: arguments and environment; and that none of them would leave a core file.
pub(crate) fn processes(world: &World) -> Places {
    let mut places = Vec::new();
    for part in Service::ALL
        .map(Part::from)
        .into_iter()
        .chain([Part::Redis, Part::Postgres])
    {
        let process = PathBuf::from(format!("/proc/{}", world.stack.pid(part).unwrap()));
        // Other systems have no such folder.
        if !process.exists() {
            continue;
        }
        for what in ["environ", "cmdline"] {
            places.push((
                format!("{what} of {part}"),
                std::fs::read(process.join(what)).unwrap(),
            ));
        }
        if matches!(part, Part::Process(..)) {
            let limits = std::fs::read_to_string(process.join("limits")).unwrap();
            let core = limits
                .lines()
                .find(|line| line.starts_with("Max core file size"))
                .unwrap();
            let numbers: Vec<_> = core.split_whitespace().filter(|word| *word == "0").collect();
            assert_eq!(numbers.len(), 2, "{part}: {core}");
        }
    }
    places
}

/// Every row of every table, as text.
pub(crate) fn databases(world: &World) -> Places {
    let environment = &world.environment;
    let addresses = [
        ("search", &environment.database_url_search),
        ("keys", &environment.database_url_keys),
        ("billing", &environment.database_url_billing),
    ];
    world.operator.block_on(async {
        let mut places = Vec::new();
        for (name, address) in addresses {
            let mut connection = PgConnection::connect(address).await.unwrap();
            let tables: Vec<String> = sqlx::query_scalar(
                "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables
                 WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'",
            )
            .fetch_all(&mut connection)
            .await
            .unwrap();
            for table in tables {
                let select = format!("SELECT rows::text FROM {table} AS rows");
                let rows: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(select))
                    .fetch_all(&mut connection)
                    .await
                    .unwrap();
                places.push((format!("{table} of {name}"), rows.join("\n").into_bytes()));
            }
        }
        places
    })
}

/// Every key in Redis, with its value.
pub(crate) fn redis_content(world: &World) -> Places {
    let client = redis::Client::open(world.stack.redis_url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
    let mut content = Vec::new();
    for key in keys {
        let value: Option<Vec<u8>> = redis::cmd("DUMP").arg(&key).query(&mut connection).unwrap();
        content.extend_from_slice(&key);
        content.extend_from_slice(&value.unwrap_or_default());
    }
    vec![("the keys of Redis".to_owned(), content)]
}

/// Every file that the system wrote, logs too, but for those that secrets are handed over in.
pub(crate) fn files(world: &World, postgres_home: &Path) -> Places {
    let folder = world.stack.folder();
    let handed_over = [
        folder.join("state.json"),
        folder.join("settings"),
        folder.join("redis/redis.conf"),
    ];
    let mut places = Vec::new();
    let mut folders = vec![folder.clone(), postgres_home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if handed_over.contains(&path) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                places.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    places.sort();
    places.dedup_by(|one, other| one.0 == other.0);
    places
}
