//! Companies and people: records, filters, index, reveals.
//!
//! `grpc` (protobuf in and out) -> domain (`planner`, `documents`, the normalisers; plain types) <- `store` (all SQL)
//! and `engine` (the index).

pub mod background;
pub mod config;
pub mod cursor;
pub mod document;
pub mod documents;
pub mod engine;
pub mod error;
pub mod explanation;
pub mod feed;
pub mod grpc;
pub mod host;
pub mod import;
pub mod meters;
pub mod pacing;
pub mod phone;
pub mod place;
pub mod plan;
pub mod planner;
pub mod record;
pub mod recording;
pub mod rows;
pub mod search;
pub mod store;
pub mod suggest;
pub mod text;
pub mod values;
pub mod workforce;
