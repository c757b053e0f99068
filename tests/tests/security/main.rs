//! What an attacker may try on the inside: the threat model is `docs/security.md`. Each test has a system of its own.

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

mod mutual_tls;
mod postgres_tls;
mod redis_tls;
mod scopes;
mod secrets;
