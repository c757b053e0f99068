//! Inputs to the targets of the package `fuzz`: libFuzzer changes what it has, and keeps what reaches code that nothing
//! before it has reached.
//!
//! Everything is built anew for it, with counters in its code, in a folder of its own. What it has found stays there
//! from run to run; what is worth keeping for good is in the repository.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::Effort;
use crate::commands::cargo::cargo;
use crate::commands::steps::Steps;
use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::run::{run as run_quietly, run_openly};

/// The folder of builds, of what was found, and of what has failed.
const FOLDER: &str = "target/fuzz";

/// Has the compiler count which code was reached, and what it was compared with. No nightly compiler is needed.
const INSTRUMENTED: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Longest input, in bytes: two of the longest texts of a filter.
const MAX_BYTES: usize = 4096;

/// An input that takes so many seconds has failed.
const MAX_SECONDS: usize = 10;

/// How often it is told how far it is.
const PAUSE: Duration = Duration::from_secs(10);

pub(super) fn run(steps: &Steps, name: &'static str, effort: Effort, keep: bool) -> Result<ExitCode, Error> {
    provide(&[Need::CxxCompiler])?;
    let kept = PathBuf::from("fuzz/corpora").join(name);
    let found = PathBuf::from(FOLDER).join("found").join(name);
    let failed = PathBuf::from(FOLDER).join("failed");
    for folder in [&found, &failed] {
        fs::create_dir_all(folder).tried(|| format!("making {}", folder.display()))?;
    }
    steps.tell("building everything with counters; the first time this takes many minutes");
    let program = build(name)?;
    steps.tell(&format!("trying inputs for {}", effort.told()));
    let mut fuzzer = Command::new(&program);
    fuzzer
        .arg(format!("-artifact_prefix={}/{name}-", failed.display()))
        .arg(format!("-dict=fuzz/dictionaries/{name}.dict"))
        .arg(format!("-max_len={MAX_BYTES}"))
        .arg(format!("-timeout={MAX_SECONDS}"))
        .arg(format!("-seed={}", effort.seed))
        .arg("-print_final_stats=1");
    if let Some(seconds) = effort.seconds {
        fuzzer.arg(format!("-max_total_time={seconds}"));
    }
    if let Some(cases) = effort.cases {
        fuzzer.arg(format!("-runs={cases}"));
    }
    let succeeded = watch(fuzzer.args([&found, &kept]))?;
    if !succeeded {
        steps.tell(&format!("FAILED: the input is in {}", failed.display()));
        return Ok(ExitCode::FAILURE);
    }
    if keep {
        steps.tell("keeping what reaches code that nothing kept does");
        // By the code alone, not by how often it ran: few inputs do.
        run_quietly(
            Command::new(&program)
                .args(["-merge=1", "-use_counters=0"])
                .args([&kept, &found]),
        )?;
    }
    steps.tell("nothing failed");
    Ok(ExitCode::SUCCESS)
}

/// Builds a target, and tells where it is.
fn build(name: &str) -> Result<PathBuf, Error> {
    let told = run_quietly(Command::new("rustc").arg("-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| Error::Answer("rustc does not tell what it builds for".to_owned()))?;
    // With a target named, build scripts and macros are built without the flags.
    run_openly(
        cargo()
            .args([
                "build",
                "--package",
                "fuzz",
                "--features",
                "libfuzzer",
                "--profile",
                "fuzz",
            ])
            .args(["--bin", name, "--target", host, "--target-dir", FOLDER])
            .env("RUSTFLAGS", INSTRUMENTED),
    )?;
    Ok(PathBuf::from(FOLDER).join(host).join("fuzz").join(name))
}

/// Runs the fuzzer, which has a line for each input that it keeps; of these only some are shown, all others are.
fn watch(fuzzer: &mut Command) -> Result<bool, Error> {
    let running = || "running the fuzzer".to_owned();
    let mut child = fuzzer.stderr(Stdio::piped()).spawn().tried(running)?;
    let mut shown = None::<Instant>;
    let lines = child.stderr.take().map(|told| BufReader::new(told).lines());
    for line in lines.into_iter().flatten() {
        let line = line.tried(running)?;
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
