//! `./dev test --compose`: the system in containers, as `docker-compose.yml` starts it: built, started under a name, on
//! ports and with secrets of its own, filled with the sample, tested from outside, restarted piece by piece, removed.
//!
//! What the compose command and the tests have to know is in the environment of both, under the names that
//! `docker-compose.yml` has; so neither needs an `.env`, and a copy of the system that somebody uses is left alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use super::cargo::cargo;
use super::compose_env;
use super::steps::Steps;
use super::test::exit_code;
use crate::error::{Error, Tried as _};
use crate::ports::{Reserved, reserve_any};
use crate::run::{run, run_openly};

/// How the compose command is called, unless told.
pub(super) const PROGRAM: &str = "docker compose";

const FILES: &str = "docker-compose.yml:deploy/docker/published.yml";

const PORTS: [&str; 5] = [
    "GATEWAY_PORT",
    "SEARCH_1_PORT",
    "SEARCH_2_PORT",
    "KEYS_PORT",
    "BILLING_PORT",
];

/// A system in containers, gone when this is.
struct Containers<'a> {
    program: &'a str,
    environment: BTreeMap<String, String>,
}

pub(super) fn run_tests(program: &str, filter: Option<&str>) -> Result<ExitCode, Error> {
    let steps = Steps::begin();
    let (containers, ports) = Containers::prepare(program)?;
    run(&mut containers.compose(&["version"]))?;
    steps.tell("building the images; the first time this takes minutes");
    containers.openly(&["--profile", "tools", "build"])?;
    steps.tell("starting all containers");
    drop(ports);
    containers.openly(&["up", "--detach"])?;
    steps.tell("all containers are started; loading the sample");
    containers.openly(&["run", "--rm", "sample"])?;
    steps.tell("the sample is searchable; testing");
    let mut tests = cargo();
    tests
        .args(["test", "--workspace", "--test", "compose", "--no-fail-fast", "--"])
        .args(filter)
        .args(["--ignored", "--nocapture", "--test-threads=1"])
        .envs(&containers.environment)
        .env("DS_TEST__COMPOSE", program);
    let status = tests.status().tried(|| "running cargo test".to_owned())?;
    if !status.success() {
        steps.tell("tests FAILED; the ends of all logs:");
        containers.openly(&["logs", "--tail=30"])?;
    }
    steps.tell("removing the containers");
    drop(containers);
    steps.tell(if status.success() {
        "all tests passed"
    } else {
        "tests FAILED"
    });
    Ok(exit_code(status))
}

impl<'a> Containers<'a> {
    /// With secrets of its own, and ports that are free as long as they are held.
    fn prepare(program: &'a str) -> Result<(Self, Vec<Reserved>), Error> {
        let folder = tempfile::tempdir().tried(|| "making a temporary folder".to_owned())?;
        let file = folder.path().join("env");
        compose_env::write(Path::new(compose_env::COMPOSE_FILE), &file)?;
        let secrets = fs::read_to_string(&file).tried(|| format!("reading {}", file.display()))?;
        let mut environment: BTreeMap<String, String> = secrets
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut ports = Vec::new();
        for name in PORTS {
            let port = reserve_any()?;
            environment.insert(name.to_owned(), port.port()?.to_string());
            ports.push(port);
        }
        let project = format!("developer-search-test-{}", std::process::id());
        environment.insert("COMPOSE_PROJECT_NAME".to_owned(), project);
        environment.insert("COMPOSE_FILE".to_owned(), FILES.to_owned());
        Ok((Self { program, environment }, ports))
    }

    fn compose(&self, arguments: &[&str]) -> Command {
        let mut words = self.program.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or(PROGRAM));
        command.args(words).args(arguments).envs(&self.environment);
        command
    }

    fn openly(&self, arguments: &[&str]) -> Result<(), Error> {
        run_openly(&mut self.compose(arguments))
    }
}

impl Drop for Containers<'_> {
    fn drop(&mut self) {
        let down = [
            "--profile",
            "sample",
            "--profile",
            "tools",
            "down",
            "--volumes",
            "--remove-orphans",
        ];
        if let Err(error) = run(&mut self.compose(&down)) {
            eprintln!("dev: the containers are not removed: {error}");
        }
    }
}
