//! Commands that run and end.

use std::process::{Command, Output, Stdio};

use crate::error::{Error, Tried as _};

/// Runs it to its end; what it printed if it did well, what it said if not.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let shown = shown(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .tried(|| format!("running `{shown}`"))?;
    checked(shown, output)
}

/// What a command that has ended printed, if it did well.
pub(crate) fn checked(shown: String, output: Output) -> Result<String, Error> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    Err(Error::Command {
        command: shown,
        status: output.status,
        output: said,
    })
}

/// Runs it in the open: it has the terminal.
pub(crate) fn run_openly(command: &mut Command) -> Result<(), Error> {
    let shown = shown(command);
    let status = command.status().tried(|| format!("running `{shown}`"))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Command {
        command: shown,
        status,
        output: String::new(),
    })
}

/// The command as one would type it, without its environment (which may hold secrets).
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
