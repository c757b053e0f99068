//! Companies and people: records, filters, index, reveals.

fn main() {}
