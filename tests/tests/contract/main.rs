//! The public contract, section by section: one module for each, one test for each sentence or table row.
//!
//! All tests share one running system; see [`system_tests`].

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

mod bodies;
mod count;
mod credentials;
mod credits;
mod examples;
mod explain;
mod filters;
mod internal;
mod keys;
mod llms;
mod mcp;
mod places;
mod rate_limit;
mod responses;
mod rows;
mod sorting_paging;
mod statement;
mod suggest;
mod validation;
