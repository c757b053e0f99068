//! The command line of operators and developers.
//!
//! It speaks only the public REST interface and the gRPC contracts. Results go to standard output, all else to standard
//! error. Exit status: 0 done, 1 refused or failed, 2 wrong usage.

mod connection;
mod credits;
mod duration;
mod failure;
mod import;
mod index;
mod keys;
mod output;
mod rate;
mod records;
mod sample;
mod search;
mod source;
mod timestamp;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::output::Output;

/// Imports records, searches, and looks after keys, credits, rates and the index.
///
/// Addresses and secrets are those that `./dev env` prints: run eval "$(./dev env)" first. Secrets (`API_KEY`, `JWT`,
/// `SERVICE_TOKEN`, `JWT_SECRET`) are taken from the environment only.
#[derive(Parser)]
#[command(name = "dsctl", version)]
struct Cli {
    /// Print the result as one JSON document
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Imports companies and people from JSON Lines
    Import(import::Import),
    /// Searches people or companies with `API_KEY`
    Search(Box<search::Search>),
    /// The API keys of the session's account, with `JWT`
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Credits of an account
    #[command(subcommand)]
    Credits(credits::Credits),
    /// Request rate of an account
    #[command(subcommand)]
    Rate(rate::Rate),
    /// Reveals the e-mail address of a person to an account
    Reveal(records::Reveal),
    /// Single records
    #[command(subcommand)]
    Records(records::Records),
    /// The search index
    #[command(subcommand)]
    Index(index::Index),
    /// Makes a session token for development, signed with `JWT_SECRET`
    Token(token::Token),
    /// Loads the sample into an empty system, and makes an account that can search it
    LoadSample(sample::LoadSample),
    /// Writes the sample's companies: real ones, with made-up facts where they lack them
    SampleCompanies(sample::SampleCompanies),
    /// Writes made-up people for the sample's companies
    SamplePeople(sample::SamplePeople),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = if cli.json { Output::Json } else { Output::Human };
    let Err(failure) = run(cli, output) else {
        return ExitCode::SUCCESS;
    };
    let status = failure.exit_status();
    if status != 0 {
        if let (Failure::Rest(refusal), Output::Json) = (&failure, output) {
            // The refusal is the document that was asked for; if it can't be printed, standard error still tells.
            drop(output.show(&refusal.body, String::new));
        }
        eprintln!("dsctl: {failure}");
    }
    ExitCode::from(status)
}

fn run(cli: Cli, output: Output) -> Result<(), Failure> {
    let connection = &cli.connection;
    match cli.command {
        Command::LoadSample(command) => wait(command.run(connection, output)),
        Command::SampleCompanies(command) => command.run(),
        Command::SamplePeople(command) => command.run(),
        Command::Token(command) => command.run(output),
        Command::Import(command) => wait(command.run(connection, output)),
        Command::Search(command) => wait(command.run(connection, output)),
        Command::Keys(command) => wait(command.run(connection, output)),
        Command::Credits(command) => wait(command.run(connection, output)),
        Command::Rate(command) => wait(command.run(connection, output)),
        Command::Reveal(command) => wait(command.run(connection, output)),
        Command::Records(command) => wait(command.run(connection, output)),
        Command::Index(command) => wait(command.run(connection, output)),
    }
}

/// Runs what waits for answers.
fn wait(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .map_err(|error| Failure::Refused(format!("can't wait for answers: {error}")))?
        .block_on(command)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_commands_of_the_contract_are_understood() {
        for line in [
            "import a.jsonl b.jsonl.gz --wait",
            "import - --quiet --json",
            "token --account A --ttl 1h",
            "credits grant --account A --amount 5 --id I",
            "credits show --account A --json",
            "--json credits ledger --account A",
            "reveal --account A --person P",
            "rate set --account A --requests 10 --window 60s",
            "rate show --account A",
            "keys list",
            "keys create --name N",
            "keys rename I --name N",
            "keys revoke I",
            "keys regenerate I",
            "search people --job-title CEO --json",
            "search companies --cursor --limit 5",
            "index status",
            "index rebuild",
            "records delete --company X",
            "records delete --person X --person Y",
            "sample-people --count 10 --seed 3",
            "sample-companies",
            "load-sample --account A --credits 5",
        ] {
            let parsed = Cli::try_parse_from(std::iter::once("dsctl").chain(line.split(' ')));
            assert!(
                parsed.is_ok(),
                "{line}: {}",
                parsed.err().map(|error| error.to_string()).unwrap_or_default()
            );
        }
        for line in [
            "",
            "import",
            "no-such-command",
            "credits grant --account A --amount 0",
            "rate set --account A --requests 10 --window soon",
            "records delete",
            "search",
            "token --account A --jwt-secret S",
        ] {
            let parsed = Cli::try_parse_from(
                std::iter::once("dsctl").chain(line.split(' ').filter(|word| !word.is_empty())),
            );
            assert!(parsed.is_err_and(|error| error.exit_code() == 2), "{line}");
        }
    }

    #[test]
    fn no_secret_is_a_flag() {
        let mut command = Cli::command();
        command.build();
        let mut commands = vec![&command];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands());
            for flag in command.get_arguments().filter_map(|argument| argument.get_long()) {
                assert!(
                    !["api-key", "jwt", "service-token", "jwt-secret"].contains(&flag),
                    "{flag}"
                );
            }
        }
    }
}
