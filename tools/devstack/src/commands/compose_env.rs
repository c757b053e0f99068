//! `./dev compose-env`: secrets for `docker-compose.yml`.
//!
//! Which there are is told by that file alone: a name without a default, `${NAME:?...}`, is a secret. Each becomes a
//! random text that needs no quoting anywhere. What is in the file already stays, since to lose a pepper is to lose all
//! keys: only what it lacks is added, for a version that asks for more than the one before.

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
        let file = self.file.display();
        match write(Path::new(COMPOSE_FILE), &self.file)?.as_slice() {
            [] => eprintln!("dev: {file} has all secrets already, and is left as it is"),
            added => eprintln!(
                "dev: secrets were written to {file}: {}. Keep a copy where secrets are kept; without KEY_PEPPER all \
                 API keys are lost",
                added.join(", ")
            ),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Adds to the file a secret for each name that the compose file asks for and the file lacks; the names.
pub(super) fn write(compose_file: &Path, file: &Path) -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(compose_file).tried(|| format!("reading {}", compose_file.display()))?;
    let there = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.tried(|| format!("reading {}", file.display()))?),
    };
    let known: BTreeSet<&str> = there.iter().flat_map(|there| names(there)).collect();
    let added: Vec<&str> = required(&text).difference(&known).copied().collect();
    let mut content = match &there {
        None => "# Secrets of docker-compose.yml, made by ./dev compose-env. Never commit them.\n".to_owned(),
        Some(there) if there.is_empty() || there.ends_with('\n') => String::new(),
        Some(_) => "\n".to_owned(),
    };
    for &name in &added {
        content.extend([name, "=", &random_text()?, "\n"]);
    }
    if !added.is_empty() {
        let mut options = File::options();
        // One that somebody else has made meanwhile is not written to.
        options.append(true).create_new(there.is_none()).mode(0o600);
        let written = options.open(file).and_then(|mut file| {
            file.write_all(content.as_bytes())?;
            file.sync_all()
        });
        written.tried(|| format!("writing {}", file.display()))?;
    }
    Ok(added.into_iter().map(str::to_owned).collect())
}

/// Names that the file has values of. Of two lines with one name the later counts, so that one without a value is added to.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let with_value = lines.filter(|(_, value)| !value.trim().is_empty());
    with_value.map(|(name, _)| name.trim().trim_start_matches("export "))
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
        assert_eq!(write(&compose, &file).unwrap(), ["ONE", "TWO"]);
        let text = fs::read_to_string(&file).unwrap();
        let secrets: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let names: Vec<&str> = secrets.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["ONE", "TWO"]);
        assert!(secrets.iter().all(|(_, secret)| secret.len() == 64));
        assert_ne!(secrets[0].1, secrets[1].1);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(write(&compose, &file).unwrap().is_empty());
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn what_a_file_lacks_is_added_and_what_it_has_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (compose, file) = (folder.path().join("compose.yml"), folder.path().join("env"));
        fs::write(
            &compose,
            "a: ${ONE:?run it}\nb: ${TWO:?run it}\nc: ${THREE:?run it}\n",
        )
        .unwrap();
        for before in [
            "TWO=mine\nPORT=1\n",
            "# TWO=old\nTWO=mine",
            "ONE=\nTWO=mine\n",
            "",
        ] {
            fs::write(&file, before).unwrap();
            let added = write(&compose, &file).unwrap();
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.starts_with(before), "{text}");
            let has = |name: &str| {
                text.lines()
                    .filter_map(|line| line.strip_prefix(&format!("{name}=")))
                    .filter(|value| !value.is_empty())
                    .count()
            };
            assert_eq!(["ONE", "TWO", "THREE"].map(has), [1; 3], "{text}");
            assert_eq!(added.len(), if before.is_empty() { 3 } else { 2 });
        }
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
