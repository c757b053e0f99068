//! Text as it is compared: folded, cut into words, in singular.
//!
//! Records and queries go through the same functions, so what is indexed and what is asked can't drift apart:
//! [`words::words`] cuts and folds, [`slots`] makes a record's value of the words, [`keywords`] makes a query's
//! condition of them; [`legal_forms`] and [`titles`] adapt the words of names and job titles before that, on both
//! sides alike.

pub mod company_name;
pub mod fold;
pub mod keywords;
pub mod legal_forms;
pub mod slots;
mod stem;
mod stem_table;
pub mod titles;
pub mod words;

pub use stem::stem;
