//! Tries `fuzz::cursor`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::cursor::holds(input));
