//! Building with cargo.

use std::path::PathBuf;
use std::process::Command;

use crate::error::Error;
use crate::run::run_openly;
use crate::stack;

/// Cargo, as it was when it built this.
pub(super) fn cargo() -> Command {
    Command::new("cargo")
}

/// Builds all programs: whoever needs some of them gets all, so that dependencies are built with one set of features,
/// once. Cargo shows how far it is.
pub(super) fn build(profile: &str) -> Result<(), Error> {
    run_openly(cargo().args(["build", "--workspace", "--bins", "--profile", profile]))
}

/// Builds everything, tests too, for development: one build for all that tests and checks, so that dependencies are
/// built with one set of features, once.
pub(super) fn build_all() -> Result<(), Error> {
    run_openly(cargo().args(["build", "--workspace", "--all-targets"]))
}

/// Where binaries of a profile are: beside the folder that this program is in.
pub(super) fn binaries(profile: &str) -> Result<PathBuf, Error> {
    let here = stack::binaries()?;
    let name = if profile == "dev" { "debug" } else { profile };
    Ok(here.with_file_name(name))
}
