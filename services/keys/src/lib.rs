//! The life cycle of API keys, their verification, and the rate of an account.
//!
//! # A key
//! Made, renamed and given other secrets while it is active; revoked for good. Its secret leaves the service once, in
//! the answer that made it; what is kept is a keyed hash ([`secret`]).
//!
//! # What can go wrong, and what then
//! - **Two at once.** Creations of one account take turns, so that the limit holds. Everything else is one statement
//!   on one row: Postgres puts them in an order, and each answer tells the state right after its own turn. Of two
//!   regenerations the later one's secret works, and its caller has it; a rename or regeneration after a revocation
//!   is refused.
//! - **The caller goes away.** What writes runs to its end in a task of its own ([`keys`]).
//! - **Redis is away.** Changes are made all the same; gateways notice within 5 s instead of 1 s ([`announce`]).
//! - **Postgres is away.** Calls are refused as `UNAVAILABLE`; uses wait in memory ([`usage`]).
//! - **The process is killed.** Committed is committed. A revocation whose announcement was lost holds within 5 s; the
//!   last seconds' uses are forgotten.
//! - **The answer is lost after a key was made or regenerated.** Nobody has the secret then. The key is in the list, to
//!   be regenerated or revoked.

pub mod announce;
pub mod config;
pub mod grpc;
pub mod key;
pub mod keys;
pub mod meters;
pub mod pepper_change;
pub mod secret;
pub mod store;
pub mod usage;
