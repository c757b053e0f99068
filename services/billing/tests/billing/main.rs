//! The promises of the billing service, held on a real Postgres.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod bank;
mod charges;
mod corrections;
mod faults;
mod grants;
mod model;
mod process;
mod verification;
mod wire;
