//! The promises of the billing service, held on a real Postgres.

mod bank;
mod charges;
mod faults;
mod grants;
mod model;
mod wire;
