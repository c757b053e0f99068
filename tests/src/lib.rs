//! The whole system, seen from outside: a stack that all tests of a binary share, accounts with credits and keys,
//! records, requests.
//!
//! A test makes its own [`Account`] and its own records, told from those of others by a tag or a word that nobody else
//! uses ([`World::word`]), so that tests run at once and in any order.

#![expect(
    clippy::missing_panics_doc,
    reason = "what a test needs and does not get fails it"
)]

mod account;
mod answer;
mod authority;
mod collector;
mod containers;
mod day;
mod documented;
mod operator;
mod patience;
mod program;
mod raw;
mod set;
mod world;

pub use account::{Account, claims, session, sign};
pub use answer::Answer;
pub use authority::{Authority, Pair};
pub use collector::Collector;
pub use containers::Containers;
pub use day::{days_ago, timestamp};
pub use documented::expect_another_version;
pub use operator::{Operator, batch, company, person};
pub use patience::{PATIENCE, until, until_some};
pub use program::program;
pub use raw::{RawAnswer, raw};
pub use set::Set;
pub use world::{World, world};
