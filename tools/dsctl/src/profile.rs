//! Profiles: addresses and API keys that `dsctl login` keeps, so that no shell has to.
//!
//! They are in `profiles.toml` of the user's configuration folder (`$XDG_CONFIG_HOME/dsctl`, else `~/.config/dsctl`), which
//! only the user may read: a file that others can read is refused, since its keys may be known to them by now. It is replaced
//! as a whole, so that no crash leaves half of it.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment;
use crate::failure::Failure;
use crate::whole_file;

/// The profile of those who name none.
pub(crate) const DEFAULT: &str = "default";

/// Where a user searches, and with what key.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// Public address, with `/api/v1`.
    pub(crate) base_url: String,
    /// The API key.
    pub(crate) api_key: String,
}

/// All profiles of the user.
pub(crate) struct Profiles {
    path: PathBuf,
    saved: BTreeMap<String, Profile>,
}

impl Profiles {
    /// Those that are kept; none if there is no file yet.
    pub(crate) fn read() -> Result<Self, Failure> {
        Self::read_from(folder()?.join("profiles.toml"))
    }

    fn read_from(path: PathBuf) -> Result<Self, Failure> {
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    path,
                    saved: BTreeMap::new(),
                });
            }
            Err(error) => return Err(failed(&path, error)),
        };
        let mode = file
            .metadata()
            .map_err(|error| failed(&path, error))?
            .permissions()
            .mode();
        if mode & 0o077 != 0 {
            return Err(Failure::Refused(format!(
                "{path}: other users can open it (mode {:o}), and it has API keys: run `chmod 600 {path}`, and regenerate \
                 the keys if somebody may have read it",
                mode & 0o777,
                path = path.display()
            )));
        }
        let text = io::read_to_string(file).map_err(|error| failed(&path, error))?;
        // The parser's message would show the line, and with it perhaps a key.
        let saved = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                1 + text[..span.start.min(text.len())].matches('\n').count()
            });
            Failure::Refused(format!(
                "{}: line {line} is not understood: mend it, or remove the file and run `dsctl login`",
                path.display()
            ))
        })?;
        Ok(Self { path, saved })
    }

    /// Names and profiles, by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Profile)> {
        self.saved.iter().map(|(name, profile)| (name.as_str(), profile))
    }

    /// The profile of that name, if there is one.
    pub(crate) fn get(&self, name: &str) -> Option<&Profile> {
        self.saved.get(name)
    }

    /// The profile that was asked for by name.
    pub(crate) fn named(&self, name: &str) -> Result<&Profile, Failure> {
        self.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.saved.keys().map(String::as_str).collect();
            Failure::Usage(if known.is_empty() {
                format!("there is no profile {name}: run `dsctl login --profile {name}`")
            } else {
                format!(
                    "there is no profile {name} (there are: {}): run `dsctl login --profile {name}`",
                    known.join(", ")
                )
            })
        })
    }

    /// Keeps a profile, in place of one of that name.
    pub(crate) fn put(&mut self, name: &str, profile: Profile) -> Result<&Path, Failure> {
        self.saved.insert(name.to_owned(), profile);
        self.write()?;
        Ok(&self.path)
    }

    /// Forgets a profile; whether there was one.
    pub(crate) fn remove(&mut self, name: &str) -> Result<bool, Failure> {
        let removed = self.saved.remove(name).is_some();
        if removed {
            self.write()?;
        }
        Ok(removed)
    }

    fn write(&self) -> Result<(), Failure> {
        let text = toml::to_string(&self.saved)
            .map_err(|error| Failure::Refused(format!("profiles can't be written: {error}")))?;
        let write = || {
            if let Some(folder) = self.path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            whole_file::replace(&self.path, text.as_bytes())
        };
        write().map_err(|error| failed(&self.path, error))
    }
}

/// Where the user's configuration of this program is.
fn folder() -> Result<PathBuf, Failure> {
    // A relative one is to be ignored, says the standard of these folders.
    let given = environment::variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    let usual = || environment::variable("HOME").map(|home| PathBuf::from(home).join(".config"));
    given
        .or_else(usual)
        .map(|folder| folder.join("dsctl"))
        .ok_or_else(|| {
            Failure::Usage("neither XDG_CONFIG_HOME nor HOME is set: profiles have no place".to_owned())
        })
}

fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::File {
        path: path.display().to_string(),
        error,
        hint: "profiles are kept here; XDG_CONFIG_HOME moves them",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn profile(key: &str) -> Profile {
        Profile {
            base_url: "http://127.0.0.1:1/api/v1".to_owned(),
            api_key: key.to_owned(),
        }
    }

    #[test]
    fn profiles_are_kept_for_their_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dsctl").join("profiles.toml");
        let mut profiles = Profiles::read_from(path.clone()).unwrap();
        assert!(
            profiles
                .named("a")
                .is_err_and(|failure| failure.to_string().contains("dsctl login --profile a"))
        );
        profiles.put("a", profile("dsk_1")).unwrap();
        profiles.put("b", profile("dsk_2")).unwrap();
        assert!(profiles.remove("b").unwrap() && !profiles.remove("b").unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let read = Profiles::read_from(path.clone()).unwrap();
        assert_eq!(read.named("a").unwrap().api_key, "dsk_1");
        assert_eq!(read.all().count(), 1);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_others_can_read_or_nobody_understands_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profiles.toml");
        fs::write(&path, "[a]\nbase_url = \"x\"\napi_key = \"dsk_secret\" oops\n").unwrap();
        for (mode, expected) in [(0o640, "chmod 600"), (0o604, "chmod 600"), (0o600, "line 3")] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let failure = Profiles::read_from(path.clone()).err().unwrap().to_string();
            assert!(failure.contains(expected), "{mode:o}: {failure}");
            assert!(!failure.contains("dsk_secret"), "{failure}");
        }
    }
}
