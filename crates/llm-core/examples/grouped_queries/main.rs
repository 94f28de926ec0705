//! An attention with tensors, settings and a cache of its own: trained, saved, loaded, continued.
//!
//! `attention.rs` would be the `lib.rs` of a crate, `rotary.rs` is a change of one file next to it.
//!
//! `cargo run --release -p llm-core --example grouped_queries`
#![allow(clippy::print_stdout)] // an example may print

pub mod attention;
pub mod rotary;

use attention::Grouped;
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
use llm_core::generate::{Decoder, Sampling, generate};
use llm_core::model::{BatchShape, Positions};
use llm_core::train::{OneProcess, RunPlan, Trainer};
use llm_core::{Attention, Config, Recipe, Result, TinyGPT};
use llm_stories::StoryCorpus;
use std::sync::Arc;

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    let stories = StoryCorpus::new(1, 0..500);
    let file = std::env::temp_dir().join(format!("grouped-{}.ckpt", std::process::id()));
    for attention in [Grouped::new(4, 2), Grouped::new(4, 1).with_rotary()] {
        println!("{attention:?}");
        let positions = match attention.spec().rotary {
            Some(_) => Positions::Rotary, // and no table of them
            None => Positions::Learned,
        };
        let config = Config { positions, seq_len: 64, d_model: 32, ..Config::default() };
        let model = TinyGPT::with_attention(config, Arc::new(attention), 1)?;
        let own = model.blocks[0].attention.iter();
        let shapes: Vec<_> = own.map(|(name, p)| format!("{name} {:?}", p.shape())).collect();
        println!("  {}", shapes.join(", "));

        // Half of the steps, a file, and the other half by another trainer.
        let mut trainer =
            Trainer::new(model, Recipe::new(BatchShape { batch_size: 6, seq_len: 64 }, 160, 1e-2))?;
        trainer.run(&stories.data, &RunPlan::new(80), &mut OneProcess, &mut ())?;
        save(&file, &trainer, &TokenizerSpec::bytes(), true)?;
        let checkpoint = Checkpoint::load(&file)?;
        let again = Grouped::from_spec(&checkpoint.meta.attention)?;
        let mut continued = checkpoint.into_trainer(Arc::new(again))?;
        let mut last = 0.0;
        for trainer in [&mut trainer, &mut continued] {
            for _ in 80..160 {
                last = trainer.step(&stories.data)?.loss;
            }
        }
        for ((_, a), (_, b)) in trainer.model.parameters().zip(continued.model.parameters()) {
            assert_eq!(a.data(), b.data()); // bit for bit
        }
        println!("  loss {last:.2} after 160 steps");

        // A whole text at once, and token by token from a cache.
        let (model, tokens) = (&continued.model, b"Lucy met Tom".map(u32::from));
        let whole = model.logits(&tokens, [1, tokens.len()])?;
        let mut decoder = Decoder::new(model)?;
        for (token, row) in tokens.iter().zip(whole.data().chunks(256)) {
            let single = decoder.feed(&[*token])?;
            assert!(single.iter().zip(row).all(|(a, b)| (a - b).abs() < 1e-3));
        }
        println!("  writes {} tokens", generate(model, &tokens, 20, Sampling::greedy())?.len());
    }
    let _ = std::fs::remove_file(file);
    Ok(())
}
