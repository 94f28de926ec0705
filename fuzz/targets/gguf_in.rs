//! A GGUF file of any bytes, imported: with its blocks of every type, its tokenizer, its settings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_formats::fuzzing::{gguf_seeds, read_gguf};
use llm_fuzz::seed;
use llm_variant_modern::Modern;
use std::sync::Arc;

fuzz_target!(
    init: seed(gguf_seeds(&|spec| Ok(Arc::new(Modern::from_spec(spec)?)))),
    |input: &[u8]| {
        read_gguf(input, &|spec| Ok(Arc::new(Modern::from_spec(spec)?)));
    }
);
