//! What makes a process a good process: configuration, telemetry, service tokens, health, databases, shutdown.
//!
//! A binary implements [`process::Service`] and its `main` is one call of [`process::run`]; the rest of this crate is
//! what it then uses. Nothing here knows what any process is for.

pub mod admin;
pub mod ambient;
pub mod database;
mod grpc_call;
pub mod grpc_client;
pub mod grpc_server;
mod health;
pub mod process;
pub mod readiness;
pub mod redis_client;
pub mod request_id;
mod rpc;
pub mod secret;
pub mod service_token;
pub mod settings;
pub mod shutdown;
pub mod statement;
pub mod telemetry;
