//! A GPT-2 folder of Hugging Face's: imported, and text written with it.
//!
//! `cargo run --release -p llm-formats --example import_gpt2`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::generate::{Sampling, generate};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::{OneProcess, RunPlan, Trainer};
use llm_core::{Config, TinyGPT, TokenDataset};
use llm_formats::hugging_face;
use llm_variant_mha::MultiHead;
use std::sync::Arc;

/// The lesson, from top to bottom.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In place of a download: a folder as transformers' `save_pretrained` makes it, of a small
    // model with two heads that knows one sentence.
    let data = TokenDataset::from_bytes(b"the cat sat on the mat; ".repeat(20));
    let model = TinyGPT::with_attention(
        Config::gpt2(256, 16, 32, 1),
        Arc::new(MultiHead::new(2)),
        1, // the seed
    )?;
    let mut trainer = Trainer::new(model, Recipe::new([8, 16], 150, 1e-2))?;
    trainer.run(&data, &RunPlan::new(150), &mut OneProcess, &mut ())?;
    let folder = tempfile::tempdir()?;
    hugging_face::export(folder.path(), &trainer.model, &ByteTokenizer)?;

    // config.json says how many heads there are; what computes them is this program's choice.
    let from_spec = |spec: &_| Ok(Arc::new(MultiHead::from_spec(spec)?) as Arc<_>);
    let imported = hugging_face::import(folder.path(), &from_spec)?;
    println!("config     {} heads of width 16", imported.attention.spec().n_heads);
    println!("notes      {}", imported.notes.len());
    let (model, tokenizer) = imported.into_model()?;
    println!("tokenizer  {}, {} tokens", tokenizer.name(), tokenizer.vocab_size());

    let prompt = tokenizer.encode(b"the cat ")?;
    let written = tokenizer.decode(&generate(&model, &prompt, 8, Sampling::greedy())?)?;
    println!("it writes  the cat {}", written.escape_ascii());
    assert_eq!(model.wte.data(), trainer.model.wte.data());
    Ok(())
}
