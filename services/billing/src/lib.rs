//! Balances, the ledger, charges.
//!
//! # The promise
//! A balance is the sum of its account's ledger, is never below 0, and a charge moves it once. A caller is answered
//! after the commit, never before.
//!
//! # Charges in groups
//! Under load the charges of one account would queue for its row lock, one commit each. Instead a few lanes take the
//! charges that have queued ([`queue`], fair between accounts) while the last transactions ran, decide them in their
//! order in memory ([`books`]) and write them together ([`store`]). What can go wrong there stands at [`lanes`].
//!
//! # The ledger
//! Every movement is an entry, and entries stay as they were written: the role that serves has no right to change or
//! remove one ([`store::schema`]), and does not start if it has. What was wrong is put right by another entry, a refund
//! or an adjustment, that names the one it corrects. [`verification`] recomputes every balance.
//!
//! # What can go wrong, and what then
//! - **Two at once.** Within a process charges of one account are in one group at a time. Between replicas, and with
//!   grants, refunds and adjustments, the account's row is locked before anything is read that the decision rests on;
//!   rows are locked in one order.
//! - **The caller goes away.** Grants, refunds and adjustments run to their end in tasks of their own.
//! - **The same is sent again.** A charge by its id, a grant or an adjustment by its id, a refund by the charge it gives
//!   back: each moves credits once, and is answered as before.
//! - **An amount is too large.** Every amount and balance has a bound far below what its type holds, by the rules of the
//!   messages and by constraints of the database; additions are checked.

pub mod billing;
pub mod bindings;
pub mod books;
pub mod config;
pub mod grpc;
pub mod lanes;
pub mod meters;
pub mod queue;
pub mod store;
pub mod verification;
