//! Balances, the ledger, charges.
