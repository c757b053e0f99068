//! Whole-system tests through REST and gRPC.
