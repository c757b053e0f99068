//! `./dev test`: everything is built once, then all tests run on a Postgres and a Redis that are theirs alone. Those of
//! the system in containers are another matter ([`test_containers`]).

use std::fs;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{ArgGroup, Args};
use rand::TryRng as _;
use rand::rngs::SysRng;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::steps::Steps;
use super::{browser, cargo, clients, grpc, mcp, observability, test_containers, test_upgrade};
use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::stack::{NESTED, Stack, reap_nested};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("only").conflicts_with_all(["size", "package"])))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Test {
    /// Only tests whose name holds this
    filter: Option<String>,

    /// Only these packages
    #[arg(long, short, value_name = "PACKAGE")]
    package: Vec<String>,

    /// Compare the search with its oracle on 20,000 requests, others each time, rather than on the same 1,000, and draw
    /// as many values of each property
    #[arg(long, group = "size")]
    long: bool,

    /// Only what dies while it is used, one test after another, and in 200 rounds rather than a few, other faults each
    /// time: charges while every part is killed and paused, the index while it and its database are killed
    #[arg(long, group = "size", conflicts_with = "package")]
    faults: bool,

    /// Only the system in containers, as docker-compose.yml starts it: built, started, used and restarted; by this
    /// compose command, if it is another than `docker compose`
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = test_containers::PROGRAM,
        value_name = "COMMAND",
        group = "only"
    )]
    compose: Option<String>,

    /// Only what needs programs of others: one trace in Jaeger by way of an OpenTelemetry Collector, every question of the
    /// dashboards and every alert in Prometheus. Builds them once
    #[arg(long, group = "only", conflicts_with = "filter")]
    observability: bool,

    /// Only what docs/grpc.md says to type, with grpcurl and Python's gRPC; gets these once
    #[arg(long, group = "only", conflicts_with = "filter")]
    grpc: bool,

    /// Only upgrades: from this commit's binaries, which are built once, to today's, back and forth under load; from the
    /// newest tag vX.Y.Z behind this commit unless another is named
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = test_upgrade::PREVIOUS_RELEASE,
        value_name = "COMMIT",
        group = "only",
        conflicts_with = "filter"
    )]
    upgrade_from: Option<String>,

    /// Only the reference at /docs, in Chromium, and what its guides say to type; gets what it needs once, and leaves
    /// pictures of the page
    #[arg(long, group = "only", conflicts_with = "filter")]
    docs: bool,

    /// Only the tools for language models, by the official inspector and conformance runner of their protocol; gets these once
    #[arg(long, group = "only", conflicts_with = "filter")]
    mcp: bool,

    /// Only clients that others' programs generate from the OpenAPI document, in TypeScript and Python; gets these once
    #[arg(long, group = "only", conflicts_with = "filter")]
    clients: bool,

    /// The number that such a run has told, for the requests or the faults of that run
    #[arg(long, value_name = "NUMBER", requires = "size")]
    seed: Option<u32>,
}

/// Requests of a long run.
const LONG_CASES: u32 = 20_000;

/// What property tests draw their values by.
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";

/// Rounds of a run of faults.
const FAULT_ROUNDS: u32 = 200;

impl Test {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        // Ctrl-C reaches cargo and the tests too: they end, and then this tidies up.
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .tried(|| "handling signals".to_owned())?;
        }
        if let Some(program) = &self.compose {
            return test_containers::run_tests(program, self.filter.as_deref());
        }
        let steps = Steps::begin();
        provide(&[Need::Postgres, Need::Redis])?;
        let programs = if self.observability {
            observability::programs(&steps)?
        } else if self.grpc {
            grpc::programs(&steps)?
        } else if self.docs {
            browser::programs()?
        } else if self.mcp {
            mcp::programs()?
        } else if self.clients {
            clients::programs()?
        } else {
            Vec::new()
        };
        let previous = self
            .upgrade_from
            .as_deref()
            .map(|version| test_upgrade::binaries(&steps, version))
            .transpose()?;
        steps.tell("building everything; the first time this takes minutes");
        cargo::build_all()?;
        steps.tell("starting a Postgres and a Redis for the tests");
        let stores = Stack::start_stores()?;
        let nested = stores.folder().join(NESTED);
        fs::create_dir(&nested).tried(|| format!("making {}", nested.display()))?;
        let redis_url = stores.redis_url();
        steps.tell("testing");
        let mut command = cargo::cargo();
        command.args(["test", "--no-fail-fast"]);
        if self.package.is_empty() {
            command.arg("--workspace");
        }
        for package in &self.package {
            command.args(["--package", package]);
        }
        self.draw_values(&mut command, &steps)?;
        command.args(self.filter);
        if self.faults {
            let seed = self.seed.map_or_else(any_seed, Ok)?;
            steps.tell(&format!(
                "{FAULT_ROUNDS} rounds of faults; the same ones again by --faults --seed {seed}"
            ));
            // They tell how far they are.
            command
                .args(["--test", "faults", "--", "--nocapture", "--test-threads=1"])
                .env("DS_TEST__FAULT_ROUNDS", FAULT_ROUNDS.to_string())
                .env("DS_TEST__FAULT_SEED", seed.to_string());
        }
        if self.observability {
            command.args(["--test", "telemetry", "--", "--ignored"]);
        }
        if self.grpc {
            command.args(["grpc", "--test", "guides", "--examples", "--", "--ignored"]);
        }
        if self.docs {
            // The tests tell what the browser tells.
            command.args(["docs", "--test", "guides", "--", "--ignored", "--nocapture"]);
        }
        if self.mcp {
            // The tests tell what the runner tells.
            command.args(["--test", "mcp", "--", "--ignored", "--nocapture"]);
        }
        if self.clients {
            command.args(["--test", "clients", "--", "--ignored"]);
        }
        if let Some(binaries) = previous {
            command
                .args(["--test", "faults", "--", "--ignored", "--nocapture", "upgrade"])
                .env(test_upgrade::VARIABLE, binaries);
        }
        let status = command
            .envs(programs)
            .env("DATABASE_URL", stores.cluster_url()?)
            .env("DS_TEST__REDIS_URL", redis_url)
            .env("TMPDIR", &nested)
            .status()
            .tried(|| "running cargo test".to_owned())?;
        steps.tell(if status.success() {
            "all tests passed; tidying up"
        } else {
            "tests FAILED; tidying up"
        });
        reap_nested_of(&stores);
        drop(stores);
        steps.tell("done");
        Ok(exit_code(status))
    }

    /// Tells the tests which values to draw, and how many.
    fn draw_values(&self, command: &mut Command, steps: &Steps) -> Result<(), Error> {
        if !self.long {
            // A change is judged by what it changes, not by luck: `--long` looks for what nobody has thought of.
            command.env(PROPERTY_SEED, "1");
            return Ok(());
        }
        let seed = self.seed.map_or_else(any_seed, Ok)?;
        steps.tell(&format!(
            "{LONG_CASES} requests and {LONG_CASES} values of each property; the same ones again by --long --seed {seed}"
        ));
        command
            .env("DS_TEST__ORACLE_CASES", LONG_CASES.to_string())
            .env("DS_TEST__ORACLE_SEED", seed.to_string())
            .env("PROPTEST_CASES", LONG_CASES.to_string())
            .env(PROPERTY_SEED, seed.to_string());
        Ok(())
    }
}

fn any_seed() -> Result<u32, Error> {
    SysRng
        .try_next_u32()
        .map_err(|error| Error::Answer(format!("no random number: {error}")))
}

/// Stacks of tests outlive them by a moment; the cluster that their databases are in must outlive the stacks.
fn reap_nested_of(stores: &Stack) {
    reap_nested(stores.work_folder());
}

/// The same status for whoever runs this.
pub(super) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
