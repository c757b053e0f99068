//! `./dev bench`: builds everything for release and hands over to the measurements.

use std::process::{Command, ExitCode};

use clap::Args;

use super::cargo;
use super::steps::Steps;
use crate::error::{Error, Tried as _};
use crate::installation::binary;
use crate::programs::{Need, provide};

const PROFILE: &str = "release";

#[derive(Debug, Args)]
pub(super) struct Bench {
    /// Name of the measurement and what else it is told; none: the names of all
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Bench {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let steps = Steps::begin();
        provide(&[Need::Postgres, Need::Redis])?;
        if self.arguments.first().is_some_and(|name| name == "gateway") {
            provide(&[Need::Nginx])?;
        }
        steps.tell("building for release; the first time this takes minutes");
        cargo::build(PROFILE)?;
        steps.tell("measuring");
        let program = binary(&cargo::binaries(PROFILE)?, "bench")?;
        let status = Command::new(program)
            .args(self.arguments)
            .status()
            .tried(|| "running bench".to_owned())?;
        Ok(super::test::exit_code(status))
    }
}
