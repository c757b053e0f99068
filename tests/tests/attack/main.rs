//! Clients that mean no good. Whatever they send, or don't, they are answered as the contract has it or cut off; the memory
//! of the gateway stays within a bound; and those who ask beside them are answered.

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

mod bystanders;
mod connections;
mod frames;
mod framing;
mod http2;
mod memory;
mod sizes;
mod slow;
mod wire;
