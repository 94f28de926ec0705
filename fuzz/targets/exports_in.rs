//! A file of any bytes, as one that an app has exported.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_formats::chat::exported::fuzzing::{ALL, read_exports};
use llm_fuzz::seed;

fuzz_target!(
    init: seed(ALL.map(|export| export.as_bytes().to_vec())),
    |input: &[u8]| read_exports(input)
);
