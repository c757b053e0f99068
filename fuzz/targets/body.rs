//! Tries `fuzz::body`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::body::holds(input));
