//! A safetensors file of any bytes, imported under our names or, with a config.json, under Hugging
//! Face's. An input is the config's length in two bytes, the config, the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_formats::fuzzing::{read, seeds};
use llm_fuzz::seed;
use llm_variant_modern::Modern;
use std::sync::Arc;

fuzz_target!(
    init: seed(seeds().into_iter().map(|(config, weights)| {
        let length = (config.len() as u16).to_le_bytes();
        [&length[..], &config, &weights].concat()
    })),
    |input: &[u8]| {
        let Some((length, rest)) = input.split_first_chunk() else { return };
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (config, weights) = rest.split_at(length);
        // One head and several are this attention too, with nothing on.
        read(config, weights, &|spec| Ok(Arc::new(Modern::from_spec(spec)?)));
    }
);
