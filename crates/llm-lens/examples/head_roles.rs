//! A checkpoint, and what each of its heads does, as data.
//!
//! `cargo run --release -p llm-lens --example head_roles`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::{OneProcess, RunPlan, Trainer};
use llm_core::{Config, Error, Result, TinyGPT};
use llm_lens::{KnownText, Piece, measure_heads};
use llm_stories::{Story, StoryCorpus};
use llm_variant_mha::MultiHead;
use std::path::Path;
use std::sync::Arc;

/// The lesson, from top to bottom.
pub fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.ckpt");
    write_checkpoint(&path)?;

    // The checkpoint says which attention it needs; the program makes it.
    let checkpoint = Checkpoint::load(&path)?;
    let attention = MultiHead::from_spec(&checkpoint.meta.attention)?;
    let model = checkpoint.into_trainer(Arc::new(attention))?.model;

    // Stories that it has not seen. Which of their words follow from the text is known.
    let unseen = StoryCorpus::new(1, 2000..2010);
    let piece = |story: &Story| story.text.bytes().take(65).map(u32::from).collect::<Vec<_>>();
    let pieces = unseen.stories.iter().map(|story| {
        let words = story.facts.iter().map(|fact| fact.start..fact.end).collect();
        let known = Some(KnownText { text: &story.text, words });
        Ok::<_, Error>(Piece { tokens: piece(story), known })
    });
    let report = measure_heads(&model, &ByteTokenizer, pieces, || false)?;

    println!("measured on {} tokens", report.tokens);
    for head in &report.rows {
        let role = head.role.map_or("nothing stands out", |role| role.name());
        let (_, nats) = head.scores[head.scores.len() - 2]; // the entropy of its weights
        println!("head {}.{}  {role}, {nats:.1} nats", head.layer, head.head);
    }
    assert!(report.rows.iter().filter(|head| head.role.is_some()).count() > 1);
    Ok(())
}

/// A model with four heads, trained for some seconds.
fn write_checkpoint(path: &Path) -> Result<()> {
    let config = Config::new(256, 64, 64, 1);
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1)?;
    let mut trainer = Trainer::new(model, Recipe::new([6, 64], 400, 1e-2))?;
    let learned = StoryCorpus::new(1, 0..2000);
    trainer.run(&learned.data, &RunPlan::new(400), &mut OneProcess, &mut ())?;
    save(path, &trainer, &TokenizerSpec::of(&ByteTokenizer), false)
}
