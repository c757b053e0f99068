//! A local Postgres, Redis and all four processes, for ./dev and for tests.
//!
//! Tests use [`Stack`]; [`commands`] are what `./dev` does. Both are made of the same parts: a work folder with records
//! of the processes that run there (`folder`, `daemon`), and the installation of the system in it.

pub mod commands;
pub mod configuration;
mod daemon;
mod environment;
mod error;
mod folder;
mod installation;
mod line;
mod node;
mod ports;
mod postgres;
mod programs;
mod python;
mod redis;
mod run;
mod service;
mod stack;
mod state;
mod wait;

pub use environment::{Account, Environment};
pub use error::Error;
pub use line::Line;
pub use service::{Part, Service};
pub use stack::{Options, Stack};
