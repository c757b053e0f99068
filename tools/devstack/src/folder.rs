//! The work folder: where one copy of the system keeps everything it has.
//!
//! ```text
//! state.json     ports and secrets (mode 600)
//! lock           held by the command that changes something
//! run/NAME       process id and start of each process that was started
//! logs/NAME.log  what it said
//! settings/      what each of our processes is told, secrets too (mode 600)
//! postgres/      the cluster (elsewhere if its user could not get there)
//! redis/         the configuration
//! index/         the search index, one folder for each replica
//! bin/dsctl      for PATH
//! ```

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Tried as _};

/// Paths in a work folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder where it is missing. Others may pass through it (Postgres may run as another user) and not
    /// look into it.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        for path in [
            path.to_owned(),
            path.join("run"),
            path.join("logs"),
            path.join("bin"),
            path.join("settings"),
        ] {
            fs::create_dir_all(&path).tried(|| format!("making {}", path.display()))?;
        }
        fs::set_permissions(path, Permissions::from_mode(0o711))
            .tried(|| format!("protecting {}", path.display()))?;
        for own in [path.join("logs"), path.join("settings")] {
            fs::set_permissions(&own, Permissions::from_mode(0o700))
                .tried(|| format!("protecting {}", own.display()))?;
        }
        Ok(Self(
            path.canonicalize()
                .tried(|| format!("finding {}", path.display()))?,
        ))
    }

    /// The folder if it is there and in use.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        path.join("run").is_dir().then_some(Self(path))
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Something in it.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// The record of a process.
    pub(crate) fn run(&self, name: &str) -> PathBuf {
        self.0.join("run").join(name)
    }

    /// The log of a process.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.0.join("logs").join(format!("{name}.log"))
    }

    /// The settings of a process of ours.
    pub(crate) fn settings(&self, name: &str) -> PathBuf {
        self.0.join("settings").join(format!("{name}.toml"))
    }

    /// The last lines of a log; empty if there is none.
    pub(crate) fn log_end(&self, name: &str) -> String {
        const LINES: usize = 20;
        let text = fs::read(self.log(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    /// Holds the folder for one command at a time, until the file is dropped; tells when it has to wait.
    pub(crate) fn lock(&self) -> Result<File, Error> {
        let path = self.0.join("lock");
        let file = File::create(&path).tried(|| format!("opening {}", path.display()))?;
        if file.try_lock().is_err() {
            eprintln!("dev: another ./dev works in {}; waiting for it", self.0.display());
            file.lock().tried(|| format!("locking {}", path.display()))?;
        }
        Ok(file)
    }
}

/// Writes a file that only its owner can read, all of it or nothing.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    let next = path.with_extension("new");
    let write = || {
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&next)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&next, path)
    };
    write().tried(|| format!("writing {}", path.display()))
}
