//! `./dev compose-env`: secrets for `docker-compose.yml`.
//!
//! Which there are is told by that file alone: a name without a default, `${NAME:?...}`, is a secret. Each becomes a
//! random text that needs no quoting anywhere. A file that is there is never touched: to lose a pepper is to lose all keys.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::error::{Error, Tried as _};
use crate::state::random_text;

/// What tells the names of the secrets.
pub(super) const COMPOSE_FILE: &str = "docker-compose.yml";

#[derive(Debug, Args)]
pub(super) struct ComposeEnv {
    /// Where to write them; only its owner can read it
    #[arg(default_value = ".env", value_name = "FILE")]
    file: PathBuf,
}

impl ComposeEnv {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        write(Path::new(COMPOSE_FILE), &self.file)?;
        eprintln!(
            "dev: secrets are in {}: keep a copy where secrets are kept; without KEY_PEPPER all API keys are lost",
            self.file.display()
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a new file with a secret for each name that the compose file asks for.
pub(super) fn write(compose_file: &Path, file: &Path) -> Result<(), Error> {
    let text = fs::read_to_string(compose_file).tried(|| format!("reading {}", compose_file.display()))?;
    let mut content =
        String::from("# Secrets of docker-compose.yml, made by ./dev compose-env. Never commit them.\n");
    for name in required(&text) {
        content.extend([name, "=", &random_text()?, "\n"]);
    }
    let created = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    match created {
        Ok(mut created) => created
            .write_all(content.as_bytes())
            .and_then(|()| created.sync_all())
            .tried(|| format!("writing {}", file.display())),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::Folder {
            path: file.to_owned(),
            problem: "is there already, and is left as it is".to_owned(),
        }),
        Err(error) => Err(error).tried(|| format!("writing {}", file.display())),
    }
}

/// Names of variables that have to be set, `${NAME:?...}`.
fn required(compose_file: &str) -> BTreeSet<&str> {
    let names = compose_file.split("${").skip(1);
    names
        .filter_map(|text| text.split_once(":?"))
        .map(|(name, _)| name)
        .filter(|name| name.chars().all(|char| char.is_ascii_uppercase() || char == '_'))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn each_name_without_a_default_gets_a_secret_of_its_own_and_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let (compose, file) = (folder.path().join("compose.yml"), folder.path().join("env"));
        fs::write(
            &compose,
            "a: ${ONE:?run it}\nb: x${TWO:?}y${ONE:?run it}\nc: ${PORT:-7100} $$HOME ${PLAIN} ${PORT:-1:?}\n",
        )
        .unwrap();
        write(&compose, &file).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let secrets: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let names: Vec<&str> = secrets.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["ONE", "TWO"]);
        assert!(secrets.iter().all(|(_, secret)| secret.len() == 64));
        assert_ne!(secrets[0].1, secrets[1].1);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let refused = write(&compose, &file).unwrap_err().to_string();
        assert!(refused.contains("is there already"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn the_compose_file_has_a_default_for_nothing_that_sounds_secret() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = fs::read_to_string(root.join(COMPOSE_FILE)).unwrap();
        assert!(required(&text).len() > 10);
        let defaulted = text.split("${").skip(1).filter_map(|text| text.split_once(":-"));
        // Given by whoever runs `dsctl`, to it alone.
        let own = ["JWT", "API_KEY"];
        for (name, _) in defaulted.filter(|(name, _)| !name.contains('}') && !own.contains(name)) {
            let sounds_secret = ["PASSWORD", "SECRET", "TOKEN", "KEY", "PEPPER"]
                .iter()
                .any(|word| name.contains(word));
            assert!(!sounds_secret, "{name} has a default");
        }
    }
}
