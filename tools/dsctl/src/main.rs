//! The command line of operators and developers.

mod failure;
mod sample;
mod source;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes the sample's companies with made-up facts where they lack them
    SampleCompanies(sample::SampleCompanies),
    /// Writes made-up people for the sample's companies
    SamplePeople(sample::SamplePeople),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::SampleCompanies(command) => command.run(),
        Command::SamplePeople(command) => command.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("dsctl: {failure}");
            ExitCode::FAILURE
        }
    }
}
