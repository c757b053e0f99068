//! The command line of operators and developers.
//!
//! It speaks only the public REST interface and the gRPC contracts. Results go to standard output, all else to standard
//! error. Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 stopped and goes on when run again.

mod balance;
mod connection;
mod count;
mod credits;
mod csv;
mod duration;
mod environment;
mod explain;
mod failure;
mod import;
mod index;
mod keys;
mod login;
mod manual;
mod mcp;
mod output;
mod profile;
mod rate;
mod records;
mod rest;
mod sample;
mod search;
mod source;
mod suggest;
mod timestamp;
mod token;
mod whole_file;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use console::style;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::output::Output;

/// Searches people and companies, and looks after keys, records, credits, rates and the index.
///
/// Developers: `dsctl login` keeps an address and an API key; `API_KEY` (or `API_KEY_FILE`) and `BASE_URL` do without. Operators:
/// addresses and secrets are those that `./dev env` prints: run eval "$(./dev env)" first. Secrets (`API_KEY`, `JWT`,
/// `SERVICE_TOKEN`, `JWT_SECRET`) are never flags: other users can see a command line.
#[derive(Parser)]
#[command(name = "dsctl", version, after_help = EXIT_STATUS, after_long_help = AFTER_LONG_HELP)]
struct Cli {
    /// Print the result as one JSON document (`search --all`: one row a line)
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "\
Exit status:
  0  done
  1  refused or failed; standard error tells why and what to do
  2  wrong usage: the command line, a setting that is missing, a file that is there already
  3  search --all stopped before its end: the same command goes on from there";

const AFTER_LONG_HELP: &str = "\
Examples:
  dsctl login --base-url https://api.example.com/api/v1
  dsctl search people --job-title \"Head of Marketing\" --location Berlin
  dsctl search companies --business-type software --all -o software.csv

Exit status:
  0  done
  1  refused or failed; standard error tells why and what to do
  2  wrong usage: the command line, a setting that is missing, a file that is there already
  3  search --all stopped before its end: the same command goes on from there

Colours are for terminals; NO_COLOR=1 does without. COLUMNS tells how wide a table may be.";

#[derive(Subcommand)]
enum Command {
    /// Keeps an address and an API key as a profile, once the key is accepted
    Login(login::Login),
    /// Forgets a profile
    Logout,
    /// The profiles that are kept
    Profiles,
    /// Imports companies and people from JSON Lines
    Import(import::Import),
    /// Searches people or companies with the API key
    Search(Box<search::Search>),
    /// Counts people or companies with the API key, free of charge
    Count(Box<count::Count>),
    /// Tells how a search would be understood, free of charge
    Explain(Box<explain::Explain>),
    /// Suggests values for a search with the API key, free of charge
    Suggest(suggest::Suggest),
    /// The balance of the API key's account, and what has moved it
    Balance(balance::Balance),
    /// Serves the operations as tools to a host of a language model, over standard input and output
    Mcp(mcp::Mcp),
    /// The API keys of the session's account, with `JWT`
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Credits of any account, for operators
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
    /// Prints completions for a shell
    Completions(manual::Completions),
    /// Prints the manual page, or writes one for each command
    Man(manual::Man),
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
        eprintln!("{} {failure}", style("dsctl:").for_stderr().red().bold());
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
        Command::Login(command) => wait(command.run(connection, output)),
        Command::Logout => login::log_out(connection, output),
        Command::Profiles => login::list(output),
        Command::Completions(command) => command.run(Cli::command()),
        Command::Man(command) => command.run(Cli::command()),
        Command::Import(command) => wait(command.run(connection, output)),
        Command::Search(command) => wait(command.run(connection, output)),
        Command::Count(command) => wait(command.run(connection, output)),
        Command::Explain(command) => wait(command.run(connection, output)),
        Command::Suggest(command) => wait(command.run(connection, output)),
        Command::Balance(command) => wait(command.run(connection, output)),
        Command::Mcp(command) => wait(command.run(connection)),
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
    use std::collections::BTreeSet;

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
            "search people --all -o a.csv --max-credits 5 --overwrite",
            "search people --csv --profile staging",
            "count people --job-title CEO",
            "explain companies --location Paris --sort name:asc",
            "suggest job-titles chief --limit 3",
            "suggest places muni",
            "balance --limit 3 --cursor 17 --json",
            "login --base-url http://127.0.0.1/api/v1 --profile p --api-key-file -",
            "logout",
            "profiles --json",
            "mcp",
            "mcp --budget 50 --profile staging",
            "completions bash",
            "man pages",
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
            "search people --all --page 2",
            "search people --output a.csv",
            "search people --max-credits 5",
            "count",
            "suggest places",
            "explain",
            "mcp --budget -1",
            "completions",
            "login --api-key dsk_x",
            "token --account A --jwt-secret S",
        ] {
            let parsed = Cli::try_parse_from(
                std::iter::once("dsctl").chain(line.split(' ').filter(|word| !word.is_empty())),
            );
            assert!(parsed.is_err_and(|error| error.exit_code() == 2), "{line}");
        }
    }

    /// Every flag of every command.
    fn flags() -> BTreeSet<String> {
        let mut command = Cli::command();
        command.build();
        let mut commands = vec![&command];
        let mut flags = BTreeSet::new();
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands());
            let long = command.get_arguments().filter_map(|argument| argument.get_long());
            flags.extend(long.map(str::to_owned));
        }
        flags
    }

    #[test]
    fn no_secret_is_a_flag() {
        for secret in ["api-key", "jwt", "service-token", "jwt-secret"] {
            assert!(!flags().contains(secret), "{secret}");
        }
    }

    const GUIDE: &str = include_str!("../../../docs/dsctl.md");

    #[test]
    fn the_guide_names_what_there_is() {
        let flags = flags();
        let words = GUIDE.split(|character: char| !(character.is_ascii_alphanumeric() || character == '-'));
        let named: BTreeSet<&str> = words.filter_map(|word| word.strip_prefix("--")).collect();
        assert!(named.len() > 5, "{named:?}");
        for flag in named
            .into_iter()
            .filter(|flag| flag.starts_with(char::is_alphabetic))
        {
            assert!(flags.contains(flag), "--{flag} is no flag");
        }
        let command = Cli::command();
        let (_, table) = GUIDE.split_once("## Commands").unwrap();
        let (table, _) = table.split_once("\n## ").unwrap();
        let first_cells = table.lines().filter_map(|line| line.split('|').nth(1));
        let listed: BTreeSet<&str> = first_cells
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .collect();
        let there: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(listed, there);
    }

    #[test]
    fn the_guide_and_the_help_tell_the_same_exit_statuses() {
        let (_, table) = GUIDE.split_once("## Exit status").unwrap();
        let plain = |text: &str| text.replace(['`', ';', ':'], "").trim().to_owned();
        let rows = table.lines().filter_map(|line| {
            let mut cells = line.split('|').skip(1).map(plain);
            let status = cells.next()?.parse::<u8>().ok()?;
            Some((status, cells.next()?))
        });
        let of_help = EXIT_STATUS.lines().filter_map(|line| {
            let (status, when) = line.trim().split_once("  ")?;
            Some((status.parse::<u8>().ok()?, plain(when)))
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 4);
        for ((status, told), (of_help, when)) in rows.into_iter().zip(of_help) {
            assert_eq!(status, of_help);
            // The guide may say more.
            assert!(
                told.starts_with(when.split_once(' ').map_or(&*when, |(first, _)| first)),
                "{told}: {when}"
            );
        }
        assert!(AFTER_LONG_HELP.contains(EXIT_STATUS));
    }
}
