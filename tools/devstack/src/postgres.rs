//! A Postgres cluster of our own, and databases in it or in one that is given.
//!
//! The cluster listens on the loopback alone, has no Unix socket, and wants passwords. Postgres refuses to run as root:
//! then it runs as the user that its package made.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use url::Url;

use crate::daemon::{Daemon, Program};
use crate::error::{Error, Tried as _};
use crate::folder::{Folder, write_private};
use crate::programs::{is_root, postgres_folder};
use crate::run::{checked, run, shown};

/// Name of its daemon.
pub(crate) const NAME: &str = "postgres";

/// Fast shutdown: clients are sent away, everything is written.
pub(crate) const STOP: Signal = Signal::INT;

const SYSTEM_USER: &str = "postgres";
const READY_LIMIT: Duration = Duration::from_mins(1);

/// How much a cluster values its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Nothing committed is ever lost.
    Full,
    /// Fast; lost when the machine crashes. For tests.
    None,
}

fn programs() -> Result<PathBuf, Error> {
    postgres_folder()
        .ok_or_else(|| Error::Missing("a Postgres server, version 15 or newer, is missing".to_owned()))
}

/// A program of Postgres's, to be run as a user that it accepts.
fn as_its_user(program: &Path) -> Vec<OsString> {
    let mut command: Vec<OsString> = Vec::new();
    if is_root() {
        let user = [format!("--reuid={SYSTEM_USER}"), format!("--regid={SYSTEM_USER}")];
        command.extend([
            "setpriv".into(),
            OsString::from(&user[0]),
            OsString::from(&user[1]),
            "--init-groups".into(),
        ]);
    }
    command.push(program.into());
    command
}

/// Where the cluster's files go: into the work folder, or, where Postgres's user can't get into that, to a place of
/// the system's that is named after it.
pub(crate) fn make_home(folder: &Folder) -> Result<PathBuf, Error> {
    let inside = folder.join("postgres");
    make_its_own(&inside)?;
    if !is_root() {
        return Ok(inside);
    }
    let mut look = Command::new("setpriv");
    look.args([
        &format!("--reuid={SYSTEM_USER}"),
        &format!("--regid={SYSTEM_USER}"),
        "--init-groups",
        "test",
        "-w",
    ]);
    if look.arg(&inside).status().is_ok_and(|status| status.success()) {
        return Ok(inside);
    }
    fs::remove_dir(&inside).tried(|| format!("removing {}", inside.display()))?;
    let name = folder.path().to_string_lossy().replace('/', "-");
    let outside = PathBuf::from(format!("/var/lib/devstack{name}"));
    eprintln!(
        "dev: {SYSTEM_USER} can't get into {}: the cluster goes to {}",
        folder.path().display(),
        outside.display()
    );
    make_its_own(&outside)?;
    Ok(outside)
}

fn make_its_own(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).tried(|| format!("making {}", path.display()))?;
    fs::set_permissions(path, Permissions::from_mode(0o700))
        .tried(|| format!("protecting {}", path.display()))?;
    give_away(path)
}

/// Makes Postgres's user the owner, if it is another.
fn give_away(path: &Path) -> Result<(), Error> {
    if !is_root() {
        return Ok(());
    }
    let id = |flag| run(Command::new("id").args([flag, SYSTEM_USER]));
    let number = |text: String| text.trim().parse::<u32>().ok();
    let (user, group) = (number(id("-u")?), number(id("-g")?));
    chown(path, user, group).tried(|| format!("giving {} to {SYSTEM_USER}", path.display()))
}

/// Makes the cluster's files, if they are not there yet. They get their name when they are whole, so that an interrupted
/// attempt is begun anew.
pub(crate) fn initialize(folder: &Folder, home: &Path, password: &str) -> Result<(), Error> {
    if data(home).exists() {
        return Ok(());
    }
    let unfinished = home.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).tried(|| format!("removing {}", unfinished.display()))?;
    }
    let password_file = folder.join("password");
    write_private(&password_file, password.as_bytes())?;
    give_away(&password_file)?;
    let mut password_argument = OsString::from("--pwfile=");
    password_argument.push(&password_file);
    let words = as_its_user(&programs()?.join("initdb"));
    let outcome = run(Command::new(&words[0])
        .args(&words[1..])
        .arg("--pgdata")
        .arg(&unfinished)
        .arg(password_argument)
        .args([
            "--username=postgres",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ])
        .env("LC_ALL", "C")
        .current_dir("/"));
    let _ = fs::remove_file(&password_file);
    outcome?;
    fs::rename(&unfinished, data(home)).tried(|| format!("naming {}", data(home).display()))
}

fn data(home: &Path) -> PathBuf {
    home.join("data")
}

/// Starts the cluster, with further settings (`name=value`) that go before those made here.
pub(crate) fn start(
    folder: &Folder,
    home: &Path,
    port: u16,
    durability: Durability,
    further: &[String],
) -> Result<(), Error> {
    let mut command = as_its_user(&programs()?.join("postgres"));
    command.extend(["-D".into(), data(home).into()]);
    let port = format!("port={port}");
    let mut settings = vec![
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=300",
        "shared_buffers=128MB",
        "log_statement=none",
        "log_min_messages=warning",
        &port,
    ];
    if durability == Durability::None {
        settings.extend(["fsync=off", "synchronous_commit=off", "full_page_writes=off"]);
    }
    settings.extend(further.iter().map(String::as_str));
    for setting in settings {
        command.extend(["-c".into(), setting.into()]);
    }
    Daemon::new(folder, NAME).start(Program {
        command,
        environment: vec![("LC_ALL".to_owned(), "C".to_owned())],
    })
}

/// Waits until the cluster takes connections.
pub(crate) fn wait_ready(folder: &Folder, port: u16) -> Result<(), Error> {
    let program = programs()?.join("pg_isready");
    let mut ask = Command::new(program);
    ask.args(["--quiet", "--host=127.0.0.1", "--timeout=1"])
        .arg(format!("--port={port}"));
    Daemon::new(folder, NAME).wait_ready(READY_LIMIT, || ask.status().is_ok_and(|status| status.success()))
}

/// A database of this name and its roles: one of the same name, which owns it and its tables, and one that serves, which
/// may do what the first one lets it.
pub(crate) struct Database<'a> {
    /// Name of database and owner: lower-case letters, digits and underscores.
    pub(crate) name: &'a str,
    /// Password of both roles.
    pub(crate) password: &'a str,
}

/// Whom an address of a database is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Who migrates.
    Owner,
    /// Who serves.
    Server,
}

impl Database<'_> {
    /// Name of a role.
    pub(crate) fn role(&self, role: Role) -> String {
        match role {
            Role::Owner => self.name.to_owned(),
            Role::Server => format!("{}_server", self.name),
        }
    }

    /// Makes roles and database in the cluster that this address opens as its administrator, where they are missing.
    pub(crate) fn create(&self, administrator: &Url) -> Result<(), Error> {
        let Self { name, password } = self;
        let server = self.role(Role::Server);
        let make = |role: &str| {
            format!(
                "SELECT 'CREATE ROLE {role} LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') \\gexec\n\
                 ALTER ROLE {role} PASSWORD '{password}';\n"
            )
        };
        execute(
            administrator,
            &format!(
                "{}{}\
                 SELECT 'CREATE DATABASE {name} OWNER {name} TEMPLATE template0'\n\
                 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{name}') \\gexec\n\
                 REVOKE ALL ON DATABASE {name} FROM PUBLIC;\n\
                 GRANT CONNECT ON DATABASE {name} TO {server};\n",
                make(name),
                make(&server),
            ),
        )
    }

    /// Removes all, whoever uses them.
    pub(crate) fn remove(&self, administrator: &Url) -> Result<(), Error> {
        let (name, server) = (self.name, self.role(Role::Server));
        let sql = format!(
            "DROP DATABASE IF EXISTS {name} WITH (FORCE);\n\
             DROP ROLE IF EXISTS {server};\n\
             DROP ROLE IF EXISTS {name};\n"
        );
        execute(administrator, &sql)
    }

    /// Its address for a role.
    pub(crate) fn url(&self, administrator: &Url, role: Role) -> String {
        let host = administrator.host_str().unwrap_or("127.0.0.1");
        let port = administrator.port().unwrap_or(5432);
        let Self { name, password } = self;
        format!("postgres://{}:{password}@{host}:{port}/{name}", self.role(role))
    }
}

/// Runs statements, given on standard input since the process list is no place for passwords.
fn execute(administrator: &Url, sql: &str) -> Result<(), Error> {
    let mut command = Command::new(programs()?.join("psql"));
    command.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]);
    let shown = shown(&command);
    // The address holds a password too.
    let mut child = command
        .env("PGHOST", administrator.host_str().unwrap_or("127.0.0.1"))
        .env("PGPORT", administrator.port().unwrap_or(5432).to_string())
        .env("PGUSER", administrator.username())
        .env("PGPASSWORD", administrator.password().unwrap_or_default())
        .env("PGDATABASE", administrator.path().trim_start_matches('/'))
        .env("PGOPTIONS", "-c client_min_messages=warning")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .tried(|| format!("running `{shown}`"))?;
    if let Some(mut input) = child.stdin.take() {
        // If it does not read, it says why by its exit status.
        let _ = input.write_all(sql.as_bytes());
    }
    let output = child.wait_with_output().tried(|| format!("running `{shown}`"))?;
    checked(shown, output).map(|_| ())
}
