//! Why the service did not do what it was asked.

use proto::violation::Violation;

use crate::feed::FeedError;
use crate::plan::EngineError;
use crate::store::StoreError;

/// A refusal or a failure of any method.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The request breaks rules: all of them.
    #[error("the request breaks {} rule(s)", .0.len())]
    Invalid(Vec<Violation>),
    /// There is no such person.
    #[error("there is no such person")]
    NoSuchPerson,
    /// What is suggested has not been counted yet.
    #[error("what is suggested has not been counted yet")]
    NotCounted,
    /// The time for the request ran out.
    #[error("the time for the request ran out")]
    DeadlineExceeded,
    /// The process has been told to stop.
    #[error("the process has been told to stop")]
    Draining,
    /// The records could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The index could not be read.
    #[error("the search was not answered")]
    Engine(#[source] EngineError),
    /// The index does not do as it is told.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// The index holds a row that is none.
    #[error("a row of the index can't be read")]
    Row(#[from] prost::DecodeError),
    /// Work that was begun has panicked.
    #[error("the work was broken off")]
    BrokenOff(#[from] tokio::task::JoinError),
}

impl From<EngineError> for SearchError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::DeadlineExceeded => Self::DeadlineExceeded,
            error @ EngineError::Index(_) => Self::Engine(error),
        }
    }
}
