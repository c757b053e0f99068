//! What can go wrong with the index on disk.

use std::io;
use std::path::{Path, PathBuf};

/// Why the index could not be opened, written or switched.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process, or another part of this one, has the directory.
    #[error("the index in {} is open elsewhere: each replica needs a directory of its own", .0.display())]
    Locked(PathBuf),
    /// A rebuild is under way already.
    #[error("the index is being rebuilt already")]
    RebuildRunning,
    /// The rebuild was started from another index, or has not been committed, or is still being written.
    #[error("the rebuilt index can't take over: {0}")]
    NotReady(&'static str),
    /// A file or directory could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Tantivy failed.
    #[error("the index could not be written")]
    Tantivy(#[from] tantivy::TantivyError),
}

impl IndexError {
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            error,
        }
    }
}

/// Why an index that is there can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It was written by a version with another format.
    #[error("it has another format")]
    OtherFormat,
    /// A file does not have the content it was written with.
    #[error("the file {} is damaged", file.display())]
    Checksum {
        /// Which.
        file: PathBuf,
    },
    /// Files are missing or make no sense.
    #[error("it is damaged")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Unreadable {
    pub(super) fn damaged(error: tantivy::TantivyError) -> Self {
        Self::Damaged(Box::new(error))
    }
}
