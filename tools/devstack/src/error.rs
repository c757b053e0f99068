//! What can go wrong with a stack.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a stack could not do what was asked of it. The text is for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{action}: {source}")]
    Io {
        /// What was tried.
        action: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A command ran and failed.
    #[error("`{command}` failed ({status})\n{output}")]
    Command {
        /// The command as one would type it.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        output: String,
    },
    /// A process ended before it was ready.
    #[error("{name} ended while it started; the end of its log:\n{log}")]
    Ended {
        /// The process.
        name: String,
        /// The last lines of its log.
        log: String,
    },
    /// A process runs but does not get ready.
    #[error("{name} was not ready after {} s; the end of its log:\n{log}", waited.as_secs())]
    NotReady {
        /// The process.
        name: String,
        /// How long it was waited for.
        waited: Duration,
        /// The last lines of its log.
        log: String,
    },
    /// A process outlived SIGKILL.
    #[error("{name} (process {pid}) does not end, even by SIGKILL")]
    Unstoppable {
        /// The process.
        name: String,
        /// Its process id.
        pid: i32,
    },
    /// Programs of other makers are missing.
    #[error("{0}")]
    Missing(String),
    /// One of our own binaries is not built.
    #[error("{} is not there: build it first (`cargo build --workspace`), or use ./dev", .0.display())]
    NotBuilt(PathBuf),
    /// The work folder holds something that is not understood.
    #[error("{}: {problem}", path.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No answer, or not the one that was expected.
    #[error("{0}")]
    Answer(String),
}

/// Names what was tried when the system refuses.
pub(crate) trait Tried<T> {
    /// The result with the action in its error.
    fn tried(self, action: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Tried<T> for io::Result<T> {
    fn tried(self, action: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Io {
            action: action(),
            source,
        })
    }
}
