//! `./dev env`: lines for a shell.

use std::process::ExitCode;

use clap::Args;

use super::up::ACCOUNT;
use super::{Place, say};
use crate::environment::{Environment, Operator};
use crate::error::Error;

#[derive(Debug, Args)]
pub(super) struct Env {
    #[command(flatten)]
    place: Place,
}

impl Env {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let installation = self.place.installation()?;
        let Some(api_key) = installation.state.api_key.clone() else {
            return Err(Error::Missing(
                "`./dev up` has not come to its end yet".to_owned(),
            ));
        };
        let jwt = Operator {
            installation: &installation,
            account: ACCOUNT,
        }
        .token()?;
        let account = [
            ("API_KEY", api_key),
            ("JWT", jwt),
            ("ACCOUNT_ID", ACCOUNT.to_owned()),
        ];
        for (name, value) in Environment::of(&installation)?
            .variables()
            .into_iter()
            .chain(account)
        {
            say(&format!("export {name}={}", quoted(&value)));
        }
        let programs = installation.folder.join("bin");
        say(&format!(
            "export PATH={}:\"$PATH\"",
            quoted(&programs.to_string_lossy())
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// As one word of a shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for text in ["", "plain", "a b", "it's", "$HOME `x` \"y\" \\ \n ;&|"] {
            let output = Command::new("sh")
                .arg("-c")
                .arg(format!("printf %s {}", quoted(text)))
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        }
    }
}
