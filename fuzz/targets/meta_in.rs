//! A `meta.pkl` of any bytes, as nanoGPT leaves it beside token numbers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_formats::fuzzing::{meta, read_meta};
use llm_fuzz::seed;

fuzz_target!(
    init: seed([meta(0), meta(1), meta(65), meta(300)]),
    |input: &[u8]| read_meta(input)
);
