//! Why a command ended without having done what it was told.

use std::io;

/// A failure, with all that its reader needs: what, where, what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A file can't be read.
    #[error("{path}: {error} ({hint})")]
    File {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// The output can't be written.
    #[error("can't write the output: {0}")]
    Output(io::Error),
    /// Anything else, in words.
    #[error("{0}")]
    Refused(String),
}
