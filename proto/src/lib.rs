//! The contracts between the processes: the code generated from the `.proto` files beside this crate,
//! and the rules that a message must meet.
//!
//! The rules live here, once: the gateway checks them to tell a REST caller every problem of a body at once,
//! the services check the same for those who call them directly.
//!
//! They are functions ([`search_query::check`] and its neighbours) and not annotations in the `.proto` files
//! (`buf.validate`, by the crate `prost-protovalidate`): half of the rules cannot be said there without CEL
//! ("holds something to search for", "is a real day", "is not after", "did you mean"), each problem needs the
//! public contract's own code and hint, and that crate is young. What a gRPC caller needs to know of a field
//! stands in the field's comment.

/// `search.v1`.
#[expect(
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated; the comments of the .proto files are the documentation"
)]
pub mod search {
    /// Version 1.
    pub mod v1 {
        tonic::include_proto!("search.v1");
    }
}

/// `keys.v1`.
#[expect(
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated; the comments of the .proto files are the documentation"
)]
pub mod keys {
    /// Version 1.
    pub mod v1 {
        tonic::include_proto!("keys.v1");
    }
}

/// `billing.v1`.
#[expect(
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated; the comments of the .proto files are the documentation"
)]
pub mod billing {
    /// Version 1.
    pub mod v1 {
        tonic::include_proto!("billing.v1");
    }
}

pub mod account;
pub mod alternatives;
pub mod api_key;
pub mod credits;
pub mod cursor;
pub mod day;
pub mod email;
pub mod error_code;
pub mod host;
pub mod key;
pub mod key_change;
pub mod names;
pub mod rate;
pub mod record;
pub mod search_properties;
pub mod search_query;
pub mod suggestions;
pub mod violation;

pub use names::RecordKind;

/// All files as a serialised `FileDescriptorSet`, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
