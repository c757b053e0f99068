//! `./dev docs`: writes anew what of the documents is told by the programs.

use std::fs;
use std::process::ExitCode;

use super::cargo;
use crate::configuration;
use crate::error::{Error, Tried as _};

pub(super) fn run() -> Result<ExitCode, Error> {
    cargo::build_all()?;
    let file = configuration::FILE;
    let old = fs::read_to_string(file).tried(|| format!("reading {file}"))?;
    let new = configuration::refreshed(&old)?;
    if new == old {
        eprintln!("dev: {file} is as it should be");
    } else {
        fs::write(file, new).tried(|| format!("writing {file}"))?;
        eprintln!("dev: {file} is written anew");
    }
    Ok(ExitCode::SUCCESS)
}
