//! `./dev fuzz`: made-up requests to a whole system, or made-up inputs to what a stranger's bytes reach first.

mod inputs;
mod requests;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::steps::Steps;
use crate::error::Error;

/// How long without a word about it.
const SECONDS: u32 = 180;

#[derive(Debug, Args)]
pub(super) struct Fuzz {
    /// What is tried
    #[arg(value_enum, default_value_t = Target::Requests)]
    target: Target,

    /// How long; without --cases 180
    #[arg(long)]
    seconds: Option<u32>,

    /// How many cases, at least
    #[arg(long, value_name = "NUMBER")]
    cases: Option<u32>,

    /// Number that the cases are made up from
    #[arg(long, default_value_t = 1)]
    seed: u32,

    /// Keep of what was found, in the corpus that `./dev test` tries, what reaches code that nothing there does
    #[arg(long)]
    keep: bool,

    /// Where schemathesis is installed
    #[arg(
        long,
        env = "DEV_FUZZ_DIR",
        default_value = "target/schemathesis",
        value_name = "FOLDER"
    )]
    tool_dir: PathBuf,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Requests to a stack of its own, made from the OpenAPI document, each answer held against it
    Requests,
    /// Bodies of requests
    Body,
    /// Cursors
    Cursor,
    /// Texts of filters, up to their plan and to records with the same texts
    Filters,
    /// API keys and session tokens
    Key,
}

/// When it is enough.
#[derive(Clone, Copy, Debug)]
struct Effort {
    seconds: Option<u32>,
    cases: Option<u32>,
    seed: u32,
}

impl Fuzz {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let steps = Steps::begin();
        let effort = Effort {
            seconds: self.seconds.or(self.cases.is_none().then_some(SECONDS)),
            cases: self.cases,
            seed: self.seed,
        };
        let name = match self.target {
            Target::Requests if self.keep => {
                return Err(Error::Missing("requests have no corpus to keep".to_owned()));
            }
            Target::Requests => return requests::run(&steps, effort, &self.tool_dir),
            Target::Body => "body",
            Target::Cursor => "cursor",
            Target::Filters => "filters",
            Target::Key => "key",
        };
        inputs::run(&steps, name, effort, self.keep)
    }
}

impl Effort {
    /// `600 s`, `20000 cases`.
    fn told(self) -> String {
        let seconds = self.seconds.map(|seconds| format!("{seconds} s"));
        let cases = self.cases.map(|cases| format!("{cases} cases"));
        let told: Vec<String> = seconds.into_iter().chain(cases).collect();
        told.join(" or ")
    }
}
