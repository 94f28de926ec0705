//! Bodies of requests to a server: understood within their bounds, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_fuzz::seed;
use llm_serve::fuzzing::{read, seeds};

fuzz_target!(
    init: seed(seeds()),
    |input: &[u8]| {
        read(input);
    }
);
