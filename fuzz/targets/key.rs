//! Tries `fuzz::key`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::key::holds(input));
