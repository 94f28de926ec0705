//! A byte-level BPE vocabulary: trained on a text, used, and stored.
//!
//! `cargo run -p llm-formats --example learn_bpe`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::Result;
use llm_formats::bpe;

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    // All 256 bytes are tokens; the pairs that come most often become more of them.
    let text = "the cat sat on the mat, and the rat sat on the cat. ".repeat(20);
    let tokenizer = bpe::learn(text.as_bytes(), 266, &|_| {})?;
    println!("tokens  {}", tokenizer.vocab_size());

    let ids = tokenizer.encode(b"the cat sat")?;
    let words = ids.iter().map(|&id| String::from_utf8_lossy(tokenizer.bytes_of(id)));
    println!("cut     {:?}", words.collect::<Vec<_>>());
    assert_eq!(tokenizer.decode(&ids)?, b"the cat sat");

    // Nothing is unknown: what was never seen, and what is no text, comes back byte for byte.
    let odd = b"na\xc3\xafve \xe7\x8c\xab \xff";
    assert_eq!(tokenizer.decode(&tokenizer.encode(odd)?)?, odd);

    // What a checkpoint stores is a tokenizer.json, which other programs read; GPT-2's two files
    // follow from it.
    let blob = tokenizer.blob();
    assert_eq!(bpe::from_tokenizer_json(&blob)?.encode(b"the cat sat")?, ids);
    let (_, merges) = bpe::gpt2_files(&blob)?;
    let first: Vec<_> = std::str::from_utf8(&merges).unwrap_or("").lines().take(4).collect();
    println!("merges  {}", first.join(" | "));
    Ok(())
}
