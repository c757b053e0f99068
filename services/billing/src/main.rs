//! Balances, the ledger, charges.

fn main() {}
