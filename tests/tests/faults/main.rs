//! What dies comes back by itself, and nothing is lost. Each test has a system of its own.

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

mod audit;
mod calls;
mod chaos;
mod charges;
mod dependencies;
mod disk;
mod fleet;
mod flood;
mod gateways;
mod growth;
mod index;
mod limits;
mod parts;
mod replica;
mod restore;
mod revocation;
mod rollout;
mod run;
mod secrets;
mod traffic;
mod upgrade;
