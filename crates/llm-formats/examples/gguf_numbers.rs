//! Blocks of a GGUF type in a file, as little-endian f32 on standard output: for comparing with other
//! programs (`tests/gguf/llama_cpp.py`).
//!
//! `cargo run --example gguf_numbers -- Q4_K FILE`

use llm_formats::gguf::{BlockType, dequantise};
use std::error::Error;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path] = &words[..] else { return Err("TYPE FILE".into()) };
    let kind =
        BlockType::ALL.into_iter().find(|known| known.name() == kind).ok_or("no such type")?;
    let blocks = std::fs::read(path)?;
    let mut numbers = vec![0.0; blocks.len() / kind.bytes() * kind.numbers()];
    dequantise(kind, &blocks, &mut numbers);
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    std::io::stdout().lock().write_all(&bytes)?;
    Ok(())
}
