//! Inputs to the targets of the package `fuzz`: libFuzzer changes what it has, and keeps what reaches code that nothing
//! before it has reached.
//!
//! Our crates are built anew for it, with counters in their code. What it has found stays in a folder of its own from
//! run to run; what is worth keeping for good is in the repository.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::Effort;
use crate::commands::cargo::cargo;
use crate::commands::steps::Steps;
use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::run::{run as run_quietly, run_openly};

/// The folder of what was found, and of what has failed.
const FOLDER: &str = "target/fuzz";

/// The compiler that has our crates count which of their code was reached.
const COMPILER: &str = "fuzz/rustc-counting";

/// Longest input, in bytes: two of the longest texts of a filter.
const MAX_BYTES: usize = 4096;

/// An input that takes so many seconds has failed, even on a machine that does other things too.
const MAX_SECONDS: usize = 30;

/// How often it is told how far it is.
const PAUSE: Duration = Duration::from_secs(10);

pub(super) fn run(steps: &Steps, name: &'static str, effort: Effort, keep: bool) -> Result<ExitCode, Error> {
    provide(&[Need::CxxCompiler])?;
    let kept = absolute(&Path::new("fuzz/corpora").join(name))?;
    let dictionary = absolute(&Path::new("fuzz/dictionaries").join(format!("{name}.dict")))?;
    let found = made(&Path::new(FOLDER).join("found").join(name))?;
    let failed = made(&Path::new(FOLDER).join("failed"))?;
    steps.tell("building with counters; the first time this takes minutes");
    run_openly(fuzzer(name)?.arg("--no-run"))?;
    steps.tell(&format!("trying inputs for {}", effort.told()));
    let mut trying = fuzzer(name)?;
    trying
        .arg("--")
        .arg(format!("-artifact_prefix={}/{name}-", failed.display()))
        .arg(format!("-dict={}", dictionary.display()))
        .arg(format!("-max_len={MAX_BYTES}"))
        .arg(format!("-timeout={MAX_SECONDS}"))
        .arg(format!("-seed={}", effort.seed))
        .arg("-print_final_stats=1");
    if let Some(seconds) = effort.seconds {
        trying.arg(format!("-max_total_time={seconds}"));
    }
    if let Some(cases) = effort.cases {
        trying.arg(format!("-runs={cases}"));
    }
    if !watch(trying.args([&found, &kept]))? {
        steps.tell(&format!("FAILED: the input is in {}", failed.display()));
        return Ok(ExitCode::FAILURE);
    }
    if keep {
        steps.tell("keeping what reaches code that nothing kept does");
        // By the code alone, not by how often it ran: few inputs do.
        run_quietly(
            fuzzer(name)?
                .args(["--", "-merge=1", "-use_counters=0"])
                .args([&kept, &found]),
        )?;
    }
    steps.tell("nothing failed");
    Ok(ExitCode::SUCCESS)
}

/// The path from the root: cargo runs tests in the folder of their package.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize()
        .tried(|| format!("finding {}", path.display()))
}

fn made(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).tried(|| format!("making {}", folder.display()))?;
    absolute(folder)
}

/// Builds and runs a target. All packages are named, so that what others have made is what the tests are built of.
fn fuzzer(name: &str) -> Result<Command, Error> {
    let mut command = cargo();
    command
        .args(["test", "--quiet", "--workspace", "--features", "fuzz/libfuzzer"])
        .args(["--test", name])
        .env("RUSTC_WORKSPACE_WRAPPER", absolute(Path::new(COMPILER))?);
    Ok(command)
}

/// Runs the fuzzer, which has a line for each input that it keeps; of these only some are shown, all others are.
fn watch(fuzzer: &mut Command) -> Result<bool, Error> {
    let running = || "running the fuzzer".to_owned();
    let mut child = fuzzer.stderr(Stdio::piped()).spawn().tried(running)?;
    let mut shown = None::<Instant>;
    let lines = child.stderr.take().map(|told| BufReader::new(told).split(b'\n'));
    for line in lines.into_iter().flatten() {
        // Parts of inputs are in it, whatever they are.
        let line = line.tried(running)?;
        let line = String::from_utf8_lossy(&line);
        if line.starts_with('#') {
            if shown.is_some_and(|shown| shown.elapsed() < PAUSE) {
                continue;
            }
            shown = Some(Instant::now());
        }
        eprintln!("{line}");
    }
    Ok(child.wait().tried(running)?.success())
}
