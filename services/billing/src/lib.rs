//! Balances, the ledger, charges.
//!
//! # The promise
//! A balance is the sum of its account's ledger, is never below 0, and a charge moves it once. A caller is answered
//! after the commit, never before.
//!
//! # Charges in groups
//! Under load the charges of one account would queue for its row lock, one commit each. Instead an account belongs to
//! one of a few lanes ([`lanes`]); a lane takes all charges that have queued while its last transaction ran, decides
//! them in their order in memory ([`books`]) and writes them in one transaction of a handful of statements ([`store`]).
//!
//! # What can go wrong, and what then
//! - **Two at once.** Within a process charges of one account are in one lane. Between replicas, and with grants, the
//!   account's row is locked before anything is read that the decision rests on; rows are locked in one order.
//! - **The caller goes away.** A charge whose caller has gone before its turn is dropped, nothing is taken; after that
//!   it runs to its end in the lane's own task. Grants run in tasks of their own.
//! - **The queue is full.** Refused at once as `UNAVAILABLE`, nothing is taken.
//! - **The transaction fails.** Nothing is taken, all of its callers are told so. If the database refused the data, the
//!   charges are tried one by one, so that one that can't be written does not fail the others.
//! - **The connection is lost at the commit.** Whether it took effect is not known, and is not guessed: under the same
//!   row locks the lane looks for the charges by their ids, and either has its answer or starts over. If the database
//!   does not come back in time, the callers are told that the outcome is unknown; the same charge id settles it.
//! - **The process is killed.** Committed is committed; a repeat with the same charge id, grant id or idempotency key
//!   is answered without moving anything again.

pub mod billing;
pub mod bindings;
pub mod books;
pub mod config;
pub mod grpc;
pub mod lanes;
pub mod store;
