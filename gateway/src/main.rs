//! Public REST in, gRPC out.

fn main() {}
