//! The keys service on a real Postgres and a real Redis.

#![expect(clippy::unwrap_used, reason = "what fails in a test is a failed test")]

mod abandonment;
mod announcements;
mod fixture;
mod life_cycle;
mod pepper_change;
mod process;
mod races;
mod usage;
mod verification;
mod wire;
