//! The oracle: a search that looks at every record, written from the contract (sections 3 to 6) alone, and the service
//! compared with it.
//!
//! It has its own folding, words, plurals, legal forms, short titles, telephone numbers, hosts and places, by other
//! libraries and simpler means than the service's. Where the contract leaves a list open (which legal forms, which
//! irregular plurals), the oracle states the list anew; `normalisers` holds both beside each other on all of the sample.

#![expect(clippy::unwrap_used, reason = "what fails in a test is a failed test")]

mod agreement;
mod fields;
#[expect(dead_code, reason = "the tests of the service need more of it")]
#[path = "../service/fixture.rs"]
mod fixture;
mod keywords;
mod legal;
mod made;
mod name;
mod normalisers;
mod order;
mod phone;
mod places;
mod plural;
#[path = "../engine/reference.rs"]
mod reference;
mod scan;
mod suggestions;
mod table;
mod text;
mod titles;
mod web;
