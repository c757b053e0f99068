//! The OpenAPI document that a running gateway serves keeps the rules of several programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::cargo;
use crate::error::{Error, Tried as _};
use crate::node;
use crate::programs::{Need, provide};
use crate::run::run_openly;
use crate::stack::{Options, Stack};

/// Rules, and the packages that know them; one of these is Node, newer than some systems have.
const RULES: &str = "gateway/openapi";

/// Where packages, programs and the document are.
const FOLDER: &str = "target/openapi";

/// The document as it is served.
const DOCUMENT: &str = "openapi.json";

const VACUUM: &str = "github.com/daveshanley/vacuum";
const VACUUM_VERSION: &str = "v0.30.3";

/// Those of Redocly and Spectral.
pub(super) fn openapi() -> Result<(), Error> {
    let (folder, rules) = (Path::new(FOLDER), Path::new(RULES));
    node::provide_packages(folder, rules)?;
    write_document(folder)?;
    // The rules refer to packages and to the document, which are found from where the rules are.
    for name in ["redocly.yaml", "spectral.yaml"] {
        fs::copy(rules.join(name), folder.join(name)).tried(|| format!("copying {name}"))?;
    }
    let lint = |program: &str, arguments: &[&str]| -> Result<(), Error> {
        let mut command = node::program(folder, program)?;
        command.args(["lint", DOCUMENT]).args(arguments);
        run_openly(command.current_dir(folder).env("REDOCLY_TELEMETRY", "off"))
    };
    lint("redocly", &["--config", "redocly.yaml"])?;
    lint(
        "spectral",
        &["--ruleset", "spectral.yaml", "--fail-severity", "hint"],
    )
}

/// Those of vacuum, which takes long to build.
pub(super) fn vacuum() -> Result<(), Error> {
    let folder = Path::new(FOLDER);
    let program = vacuum_program(folder)?;
    write_document(folder)?;
    let arguments = [
        "lint",
        "--details",
        "--no-banner",
        "--fail-severity",
        "warn",
        DOCUMENT,
    ];
    run_openly(Command::new(program).args(arguments).current_dir(folder))
}

/// Vacuum itself. Its module replaces others, so that it can't be installed by name: it is built as a requirement.
fn vacuum_program(folder: &Path) -> Result<PathBuf, Error> {
    let module = folder.join(format!("vacuum-{VACUUM_VERSION}"));
    let program = module.join("vacuum");
    if !program.exists() {
        provide(&[Need::Go])?;
        eprintln!("dev: building vacuum {VACUUM_VERSION}, once; this takes several minutes");
        fs::create_dir_all(&module).tried(|| format!("making {}", module.display()))?;
        let requirement = format!("module check\n\nrequire {VACUUM} {VACUUM_VERSION}\n");
        fs::write(module.join("go.mod"), requirement).tried(|| "writing go.mod".to_owned())?;
        let mut build = Command::new("go");
        build.args(["build", "-o", "vacuum", VACUUM]).current_dir(&module);
        run_openly(build.env("GOFLAGS", "-mod=mod"))?;
    }
    program
        .canonicalize()
        .tried(|| format!("finding {}", program.display()))
}

/// Asks a gateway for the document.
fn write_document(folder: &Path) -> Result<(), Error> {
    provide(&[Need::Postgres, Need::Redis])?;
    cargo::build_all()?;
    let stack = Stack::start(Options::new())?;
    let address = format!("{}/openapi.json", stack.environment()?.base_url);
    let document = ureq::get(&address)
        .call()
        .and_then(|mut answer| answer.body_mut().read_to_string())
        .map_err(|error| Error::Answer(format!("{address}: {error}")))?;
    fs::create_dir_all(folder).tried(|| format!("making {}", folder.display()))?;
    let file = folder.join(DOCUMENT);
    fs::write(&file, document).tried(|| format!("writing {}", file.display()))
}
