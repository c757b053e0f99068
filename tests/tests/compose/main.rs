//! The system as `docker-compose.yml` starts it, with the sample in it: `./dev test --compose` runs these, one after
//! another, on containers of their own. They are what a person would try first, and what restarts do to clients.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what fails in a test is a failed test"
)]

mod first_use;
mod hardening;
mod restarts;
