//! The command behind `./dev`.

use std::process::ExitCode;

use clap::Parser as _;
use devstack::commands::Dev;

fn main() -> ExitCode {
    match Dev::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("dev: {error}");
            ExitCode::FAILURE
        }
    }
}
