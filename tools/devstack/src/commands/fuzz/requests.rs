//! schemathesis makes up requests, good and bad, and holds every answer against the OpenAPI document.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

use serde_json::Value;

use super::Effort;
use crate::commands::cargo;
use crate::commands::steps::Steps;
use crate::commands::test::exit_code;
use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::python::provide_packages;
use crate::run::run as run_quietly;
use crate::stack::{Options, Stack};

const SCHEMATHESIS: &str = "schemathesis==4.32.5";
const CREDITS: u64 = 1_000_000_000;

/// Of so many cases wanted in all, one for each operation in a run: its phases have several times that, and an operation
/// without a body has few that differ.
const SHARE: u32 = 20;

/// Cases for each operation without a word about it.
const FEWEST_EXAMPLES: u32 = 100;

/// Runs until there have been enough cases, each from the next seed.
pub(super) fn run(steps: &Steps, effort: Effort, tool_dir: &Path) -> Result<ExitCode, Error> {
    provide(&[Need::Postgres, Need::Redis])?;
    let schemathesis = provide_packages(tool_dir, &[SCHEMATHESIS])?.join("schemathesis");
    steps.tell("building");
    cargo::build_all()?;
    steps.tell("starting a stack");
    let stack = Stack::start(Options::new())?;
    fs::write(stack.folder().join(CONFIGURATION), configuration(&stack)?)
        .tried(|| format!("writing {CONFIGURATION}"))?;
    steps.tell(&format!("sending requests for {}", effort.told()));
    let begun = Instant::now();
    let mut cases = 0;
    for seed in effort.seed.. {
        let elapsed = u32::try_from(begun.elapsed().as_secs()).unwrap_or(u32::MAX);
        let left = effort.seconds.map(|seconds| seconds.saturating_sub(elapsed));
        let status = run_once(&schemathesis, &stack, seed, left, effort.cases)?;
        cases += generated(&stack)?;
        steps.tell(&format!(
            "{cases} cases so far, the last of them from --seed {seed}"
        ));
        if !status.success() {
            steps.tell("FAILED");
            return Ok(exit_code(status));
        }
        if left.is_some_and(|left| left <= 1 || effort.cases.is_none())
            || effort.cases.is_some_and(|enough| cases >= u64::from(enough))
        {
            break;
        }
    }
    steps.tell("every answer was as documented");
    Ok(ExitCode::SUCCESS)
}

const CONFIGURATION: &str = "schemathesis.toml";
const REPORT: &str = "report.json";

fn run_once(
    schemathesis: &Path,
    stack: &Stack,
    seed: u32,
    seconds: Option<u32>,
    cases: Option<u32>,
) -> Result<ExitStatus, Error> {
    let base_url = stack.environment()?.base_url;
    let mut command = Command::new(schemathesis);
    command
        .args(["--config-file", CONFIGURATION])
        .args(["run", &format!("{base_url}/openapi.json"), "--url", &base_url])
        .args(["--checks", "all", "--seed", &seed.to_string()])
        .args(["--report-json-path", REPORT])
        // How fast an answer comes is measured elsewhere: this machine may be busy.
        .args(["--request-timeout", "60"])
        .args(["--continue-on-failure", "--warnings", "off"])
        .current_dir(stack.folder());
    if let Some(seconds) = seconds {
        command.args(["--max-time", &seconds.max(1).to_string()]);
    }
    if let Some(cases) = cases {
        let examples = (cases / SHARE).max(FEWEST_EXAMPLES);
        command.args(["--max-examples", &examples.to_string()]);
    }
    command.status().tried(|| "running schemathesis".to_owned())
}

/// How many cases the last run has had, by its own report.
fn generated(stack: &Stack) -> Result<u64, Error> {
    let path = stack.folder().join(REPORT);
    let text = fs::read_to_string(&path).tried(|| format!("reading {}", path.display()))?;
    let report: Value = serde_json::from_str(&text).map_err(|error| Error::Answer(error.to_string()))?;
    let cases = report["test_cases"]["generated"].as_u64();
    cases.ok_or_else(|| Error::Answer("schemathesis does not tell how many cases it had".to_owned()))
}

/// An account's key for the searches and its session for the keys. The rate is not what is tried here.
///
/// Every check is on, in every operation. One of them is told more: what the rules say of a text of a search ("holds
/// something to search for", "is a registrable domain") no JSON schema can, and a cursor belongs to one search; so
/// bodies of searches that are good by the schema alone may be refused with 400, and those with an `Idempotency-Key`
/// that was used for another body with 422.
fn configuration(stack: &Stack) -> Result<String, Error> {
    let account = stack.account("fuzz", CREDITS)?;
    let rate = ["--requests", "1000000", "--window", "1s"];
    run_quietly(
        stack
            .dsctl()?
            .args(["rate", "set", "--account", "fuzz"])
            .args(rate),
    )?;
    Ok(format!(
        r#"
[[operations]]
include-path-regex = "/search$"
headers = {{ X-API-Key = "{}" }}
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "422", "429", "5xx"]

[[operations]]
include-path-regex = "^/keys"
headers = {{ Authorization = "Bearer {}" }}
"#,
        account.api_key, account.jwt
    ))
}
