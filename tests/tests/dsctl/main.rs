//! `dsctl` as its users meet it: the program itself, on a running system.

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

mod free;
mod mcp;
mod profiles;
mod relay;
mod shell;
mod table;
mod walk;

use std::process::{Command, Output};

use proto::search::v1::import_record::Change;
use system_tests::{Account, company, world};

/// `dsctl` with the key of an account.
fn dsctl(account: &Account) -> Command {
    let mut command = world().stack.dsctl().unwrap();
    command
        .env("API_KEY", &account.key)
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR");
    command
}

/// Companies that only this test finds, by this word in their name, and their ids at their source.
fn companies(count: usize) -> (String, Vec<String>) {
    let word = world().word();
    let names: Vec<String> = (0..count).map(|number| format!("{word} {number:03}")).collect();
    let records = names.iter().map(|name| Change::Company(company(name, name)));
    let answer = world().operator.import(records);
    assert!(answer.rejected.is_empty(), "{answer:?}");
    (word, names)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Standard output, if it went as it should.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    stdout(&output)
}

/// Exit status and standard error of a command that ended otherwise.
fn refused(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{command:?}: {}", stdout(&output));
    (output.status.code().unwrap(), stderr(&output))
}
