//! A chat template of any bytes and, after a 0, lines of conversations that it writes down.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_formats::fuzzing::{chat_seeds, read_chat};
use llm_fuzz::seed;

fuzz_target!(
    init: seed(chat_seeds()),
    |input: &[u8]| read_chat(input)
);
