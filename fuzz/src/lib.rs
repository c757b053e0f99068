//! What must hold of any input, whoever made it up.
//!
//! Each module is one target: a function that takes any bytes, gives them to what a stranger's bytes reach first, and
//! panics where a property does not hold. `./dev fuzz NAME` looks for such bytes, led by the coverage of what it has
//! tried before; what it has found worth keeping is in `corpora/NAME`, and tried by `./dev test` every time.
//!
//! A target knows as little as it can of how the code does its work: it says anew, from the contract, what the answer has
//! to be, or what has to be the same after a detour.

pub mod body;
pub mod cursor;
pub mod filters;
pub mod key;

/// A target.
pub type Target = fn(&[u8]);

/// Every target, by its name.
pub const TARGETS: [(&str, Target); 4] = [
    ("body", body::holds),
    ("cursor", cursor::holds),
    ("filters", filters::holds),
    ("key", key::holds),
];
