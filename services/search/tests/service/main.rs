//! The search service as its callers see it: over a real connection, on a real Postgres and a real index.

#![expect(clippy::unwrap_used, reason = "what fails in a test is a failed test")]

mod fixture;
mod imports;
mod index;
mod paging;
mod process;
mod reveals;
mod rows;
mod suggestions;
