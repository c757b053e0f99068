//! The command line of operators and developers.

fn main() {}
