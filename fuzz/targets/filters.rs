//! Tries `fuzz::filters`.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: fuzz::filters::prepare(),
    |input| fuzz::filters::holds(input)
);
