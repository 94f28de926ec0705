//! Text in, text out: three lines.
//!
//! `cargo run --release -p llm-core --example text_in_text_out`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::generate::{Sampling, write_text};
use llm_core::model::BatchShape;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::Trainer;
use llm_core::{Config, Recipe, Result, TokenDataset};

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    let text = "the cat sat on the mat and the dog lay by the door. ".repeat(60);

    let config = Config { seq_len: 32, d_model: 32, ..Config::default() };
    let shape = BatchShape { batch_size: 8, seq_len: 32 };
    let mut trainer = Trainer::fresh(config, Recipe::new(shape, 150, 1e-2))?;
    trainer.finish(&TokenDataset::from_bytes(text.into()))?;
    let written = write_text(&trainer.model, &ByteTokenizer, "the cat", 29, Sampling::greedy())?;

    println!("the cat{written}");
    assert_eq!(written, " sat on the mat and the dog l");
    Ok(())
}
