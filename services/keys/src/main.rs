//! The life cycle of API keys, their verification, and the rate of an account.

fn main() {}
