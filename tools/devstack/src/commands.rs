//! What `./dev` can be told.

mod bench;
mod browser;
mod cargo;
mod check;
mod clients;
mod compose_env;
mod docs;
mod env;
mod fuzz;
mod grpc;
mod logs;
mod mcp;
mod observability;
mod status;
mod steps;
mod test;
mod test_containers;
mod test_upgrade;
mod up;

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::error::{Error, Tried as _};
use crate::folder::Folder;
use crate::installation::{Installation, Manner, Plan, remove, stop_all};
use crate::postgres::Durability;
use crate::stack::reap_nested;

/// Prints an answer. Whoever reads it may leave before its end (`./dev status | head -1`).
fn say(text: &str) {
    match writeln!(std::io::stdout(), "{}", text.trim_end()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => eprintln!("dev: writing the answer: {error}"),
        _ => {}
    }
}

/// The whole system on this machine, and all that is done to it while developing.
#[derive(Debug, Parser)]
#[command(name = "dev", bin_name = "./dev", version)]
pub struct Dev {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start everything, with data in it: install what is missing, build, start, load the sample, print how to search
    Up(up::Up),
    /// Stop everything that `up` has started; its data stays
    Down(Down),
    /// Tell what runs, and where; exit status 0 if all of it is ready
    Status(status::Status),
    /// Show what the processes have logged
    Logs(logs::Logs),
    /// Print `export` lines for a shell: eval "$(./dev env)"
    Env(env::Env),
    /// Write random secrets for docker-compose.yml into .env
    ComposeEnv(compose_env::ComposeEnv),
    /// Run all tests, on a Postgres and a Redis of their own that are gone afterwards
    Test(test::Test),
    /// Run a measurement
    Bench(bench::Bench),
    /// Check what CI checks besides the tests: formatting, lints, docs, dependencies, protos, the OpenAPI document, the
    /// Dockerfile, the manifests for Kubernetes
    Check(check::Check),
    /// Write docs/configuration.md anew: its tables are what the processes say of their settings
    Docs,
    /// Send made-up requests to a stack of its own, and hold every answer against the OpenAPI document
    Fuzz(fuzz::Fuzz),
    /// Wait until standard input ends, then stop all that runs in a work folder and remove it
    #[command(hide = true)]
    Reap {
        /// Leave the folder there
        #[arg(long)]
        keep: bool,
        /// The work folder
        folder: PathBuf,
    },
}

/// Where `up` keeps what it has.
#[derive(Clone, Debug, Args)]
struct Place {
    /// Work folder: two of them are two systems side by side
    #[arg(
        long,
        env = "DEV_WORK_DIR",
        default_value = ".devstack",
        value_name = "FOLDER"
    )]
    work_dir: PathBuf,
}

impl Place {
    /// The folder, if `up` was ever there.
    fn existing(&self) -> Result<Folder, Error> {
        Folder::open(&self.work_dir).ok_or_else(|| {
            Error::Missing(format!(
                "nothing is in {}: `./dev up` first",
                self.work_dir.display()
            ))
        })
    }

    /// The installation that `up` has made there, to look at and to ask for `dsctl`.
    fn installation(&self) -> Result<Installation, Error> {
        let folder = self.existing()?;
        let binaries = folder.join("bin");
        Installation::open(folder, plan(binaries))
    }
}

/// What an installation by `up` is like.
fn plan(binaries: PathBuf) -> Plan {
    Plan {
        binaries,
        cluster: None,
        database_prefix: String::new(),
        durability: Durability::Full,
        settings: crate::daemon::settings_here(),
        postgres_settings: Vec::new(),
    }
}

#[derive(Debug, Args)]
struct Down {
    #[command(flatten)]
    place: Place,

    /// Remove all of its data too
    #[arg(long)]
    wipe: bool,
}

impl Dev {
    /// Does what the command line says. The exit status is that of what it ran for.
    pub fn run(self) -> Result<ExitCode, Error> {
        match self.command {
            Command::Up(command) => command.run(),
            Command::Down(command) => command.run(),
            Command::Status(command) => command.run(),
            Command::Logs(command) => command.run(),
            Command::Env(command) => command.run(),
            Command::ComposeEnv(command) => command.run(),
            Command::Test(command) => command.run(),
            Command::Bench(command) => command.run(),
            Command::Check(command) => command.run(),
            Command::Docs => docs::run(),
            Command::Fuzz(command) => command.run(),
            Command::Reap { keep, folder } => reap(&folder, keep),
        }
    }
}

impl Down {
    fn run(self) -> Result<ExitCode, Error> {
        let Some(folder) = Folder::open(&self.place.work_dir) else {
            eprintln!("dev: nothing is in {}", self.place.work_dir.display());
            return Ok(ExitCode::SUCCESS);
        };
        let _lock = folder.lock()?;
        let stopped = stop_all(&folder, Manner::InGoodOrder)?;
        if stopped.is_empty() {
            eprintln!("dev: nothing was running");
        } else {
            eprintln!("dev: stopped {}", stopped.join(", "));
        }
        if self.wipe {
            remove(&folder)?;
            eprintln!("dev: removed {}", folder.path().display());
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The other end of a stack's life: see [`crate::Stack`].
fn reap(folder: &Path, keep: bool) -> Result<ExitCode, Error> {
    let folder = Folder::open(folder)
        .ok_or_else(|| Error::Missing(format!("{} is no work folder", folder.display())))?;
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .tried(|| "reading standard input".to_owned())?;
    reap_nested(&folder);
    if keep {
        stop_all(&folder, Manner::InGoodOrder)?;
    } else {
        remove(&folder)?;
    }
    Ok(ExitCode::SUCCESS)
}
