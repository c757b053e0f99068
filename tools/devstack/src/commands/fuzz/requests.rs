//! schemathesis makes up requests, good and bad, and holds every answer against the OpenAPI document.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::Effort;
use crate::commands::cargo;
use crate::commands::steps::Steps;
use crate::commands::test::exit_code;
use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::run::{run as run_quietly, run_openly};
use crate::stack::{Options, Stack};

const SCHEMATHESIS: &str = "schemathesis==4.32.5";
const CREDITS: u64 = 1_000_000_000;

pub(super) fn run(steps: &Steps, effort: Effort, tool_dir: &Path) -> Result<ExitCode, Error> {
    provide(&[Need::Postgres, Need::Redis, Need::Python])?;
    let schemathesis = schemathesis(steps, tool_dir)?;
    steps.tell("building");
    cargo::build_all()?;
    steps.tell("starting a stack");
    let stack = Stack::start(Options::new())?;
    let configuration = stack.folder().join("schemathesis.toml");
    fs::write(&configuration, credentials(&stack)?)
        .tried(|| format!("writing {}", configuration.display()))?;
    steps.tell(&format!("sending requests for {}", effort.told()));
    let base_url = stack.environment()?.base_url;
    let mut command = Command::new(schemathesis);
    command
        .arg("--config-file")
        .arg(&configuration)
        .args(["run", &format!("{base_url}/openapi.json"), "--url", &base_url])
        .args([
            "--checks",
            "all",
            // What the rules say of a text ("holds something to search for", "is a registrable domain") no JSON schema
            // can: texts that are good by the schema alone may be refused.
            "--exclude-checks",
            "positive_data_acceptance",
        ])
        .args(["--seed", &effort.seed.to_string()])
        .args(["--continue-on-failure", "--warnings", "off"])
        .current_dir(stack.folder());
    if let Some(seconds) = effort.seconds {
        command.args(["--max-time", &seconds.to_string()]);
    }
    let status = command.status().tried(|| "running schemathesis".to_owned())?;
    steps.tell(if status.success() {
        "every answer was as documented"
    } else {
        "FAILED"
    });
    Ok(exit_code(status))
}

/// An account's key for the searches and its session for the keys. The rate is not what is tried here.
fn credentials(stack: &Stack) -> Result<String, Error> {
    let account = stack.account("fuzz", CREDITS)?;
    let rate = ["--requests", "1000000", "--window", "1s"];
    run_quietly(
        stack
            .dsctl()?
            .args(["rate", "set", "--account", "fuzz"])
            .args(rate),
    )?;
    Ok(format!(
        "[[operations]]\ninclude-path-regex = \"/search$\"\nheaders = {{ X-API-Key = \"{}\" }}\n\n\
         [[operations]]\ninclude-path-regex = \"^/keys\"\nheaders = {{ Authorization = \"Bearer {}\" }}\n",
        account.api_key, account.jwt
    ))
}

/// The fuzzer, installed if it is missing. It is no part of the project: it has a folder of its own.
fn schemathesis(steps: &Steps, tool_dir: &Path) -> Result<PathBuf, Error> {
    let program = tool_dir.join("bin").join("schemathesis");
    let wanted = tool_dir.join(SCHEMATHESIS);
    if !wanted.exists() {
        steps.tell(&format!(
            "missing: schemathesis; installing it into {}",
            tool_dir.display()
        ));
        run_openly(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(tool_dir),
        )?;
        let pip = tool_dir.join("bin").join("pip");
        run_openly(Command::new(pip).args(["install", "--quiet", SCHEMATHESIS]))?;
        fs::write(&wanted, "").tried(|| format!("writing {}", wanted.display()))?;
    }
    program
        .canonicalize()
        .tried(|| format!("finding {}", program.display()))
}
