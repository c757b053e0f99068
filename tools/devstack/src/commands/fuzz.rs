//! `./dev fuzz`: schemathesis makes up requests, good and bad, and holds every answer against the OpenAPI document.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;

use super::cargo;
use super::steps::Steps;
use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::run::{run, run_openly};
use crate::stack::{Options, Stack};

const SCHEMATHESIS: &str = "schemathesis==4.32.5";
const CREDITS: u64 = 1_000_000_000;

#[derive(Debug, Args)]
pub(super) struct Fuzz {
    /// How long
    #[arg(long, default_value_t = 180)]
    seconds: u32,

    /// Number that the requests are made up from: the same one, the same requests
    #[arg(long, default_value_t = 1)]
    seed: u32,

    /// Where the fuzzer itself is installed
    #[arg(
        long,
        env = "DEV_FUZZ_DIR",
        default_value = "target/schemathesis",
        value_name = "FOLDER"
    )]
    tool_dir: PathBuf,
}

impl Fuzz {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let steps = Steps::begin();
        provide(&[Need::Postgres, Need::Redis, Need::Python])?;
        let schemathesis = self.schemathesis(&steps)?;
        steps.tell("building");
        cargo::build_all()?;
        steps.tell("starting a stack");
        // The rate is not what is tried here.
        let stack = Stack::start(Options::new())?;
        let account = stack.account("fuzz", CREDITS)?;
        run(stack.dsctl()?.args([
            "rate",
            "set",
            "--account",
            "fuzz",
            "--requests",
            "1000000",
            "--window",
            "1s",
        ]))?;
        let configuration = stack.folder().join("schemathesis.toml");
        let text = format!(
            "[[operations]]\ninclude-path-regex = \"/search$\"\nheaders = {{ X-API-Key = \"{}\" }}\n\n\
             [[operations]]\ninclude-path-regex = \"^/keys\"\nheaders = {{ Authorization = \"Bearer {}\" }}\n",
            account.api_key, account.jwt
        );
        fs::write(&configuration, text).tried(|| format!("writing {}", configuration.display()))?;
        steps.tell(&format!("sending requests for {} s", self.seconds));
        let base_url = stack.environment()?.base_url;
        let status = Command::new(schemathesis)
            .arg("--config-file")
            .arg(&configuration)
            .args([
                "run",
                &format!("{base_url}/openapi.json"),
                "--url",
                &base_url,
                "--checks",
                "all",
                // What the rules say of a text ("holds something to search for", "is a registrable domain") no JSON
                // schema can: texts that are good by the schema alone may be refused.
                "--exclude-checks",
                "positive_data_acceptance",
            ])
            .args([
                "--max-time",
                &self.seconds.to_string(),
                "--seed",
                &self.seed.to_string(),
            ])
            .args(["--continue-on-failure", "--warnings", "off"])
            .current_dir(stack.folder())
            .status()
            .tried(|| "running schemathesis".to_owned())?;
        steps.tell(if status.success() {
            "every answer was as documented"
        } else {
            "FAILED"
        });
        Ok(super::test::exit_code(status))
    }

    /// The fuzzer, installed if it is missing. It is no part of the project: it has a folder of its own.
    fn schemathesis(&self, steps: &Steps) -> Result<PathBuf, Error> {
        let program = self.tool_dir.join("bin").join("schemathesis");
        let wanted = self.tool_dir.join(SCHEMATHESIS);
        if !wanted.exists() {
            steps.tell(&format!(
                "missing: schemathesis; installing it into {}",
                self.tool_dir.display()
            ));
            run_openly(
                Command::new("python3")
                    .args(["-m", "venv", "--clear"])
                    .arg(&self.tool_dir),
            )?;
            let pip = self.tool_dir.join("bin").join("pip");
            run_openly(Command::new(pip).args(["install", "--quiet", SCHEMATHESIS]))?;
            fs::write(&wanted, "").tried(|| format!("writing {}", wanted.display()))?;
        }
        program
            .canonicalize()
            .tried(|| format!("finding {}", program.display()))
    }
}
