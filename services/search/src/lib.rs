//! Companies and people: records, filters, index, reveals.
//!
//! `grpc` (protobuf in and out) -> domain (`planner`, `documents`, the normalisers; plain types) <- `store` (all SQL)
//! and `engine` (the index).

pub mod document;
pub mod engine;
pub mod plan;
pub mod record;
