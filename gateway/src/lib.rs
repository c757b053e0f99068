//! The gateway: public REST in, gRPC out. No SQL, no search logic.
//!
//! A request enters at [`rest::router`], through [`rest::envelope`], and is answered by one function of
//! [`rest::search`] or [`rest::keys`].

pub mod auth;
pub mod body;
pub mod config;
pub mod credits;
pub mod error;
mod head_refusals;
pub mod mcp;
pub mod meters;
pub mod rate;
pub mod rest;
pub mod row;
pub mod server;
pub mod upstream;
mod waiting;
