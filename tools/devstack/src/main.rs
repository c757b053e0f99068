//! A local Postgres, Redis and all four processes, for ./dev and for tests.

fn main() {}
