//! Heads cut away: which of them a model misses least, and what is left without those.
//!
//! `cargo run --release -p llm-lens --example cut_heads`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::recipe::Recipe;
use llm_core::train::{OneProcess, RunPlan, Trainer, evaluate};
use llm_core::{Attention, AttentionSpec, Config, Result, TinyGPT};
use llm_lens::{Pruner, Score, head_mask, with_head_mask};
use llm_stories::StoryCorpus;
use llm_variant_mha::MultiHead;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    let config = Config::new(256, 64, 32, 1);
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1)?;
    let mut trainer = Trainer::new(model, Recipe::new([6, 64], 200, 1e-2))?;
    let learned = StoryCorpus::new(1, 0..2000);
    trainer.run(&learned.data, &RunPlan::new(200), &mut OneProcess, &mut ())?;
    let model = trainer.model;

    // How good is a model without some heads? By its loss on stories that it has not seen.
    let unseen = StoryCorpus::new(1, 2000..2050).data;
    let windows = unseen.windows(64);
    let measure = |model: &TinyGPT| -> Result<Score> {
        let all = evaluate(model, &unseen, &windows, 8, |_| ControlFlow::Continue(()))?;
        Ok(Score { loss: all.loss, details: () })
    };
    let mut pruner = Pruner::new(&model, &from_spec, measure);
    let all = head_mask(&model); // [L·H], all of them on
    println!("all {} heads  loss {:.2}", all.len(), pruner.score(&all)?.loss);
    let alone = pruner.each_alone(&all)?;
    let gone = pruner.greedy(&alone, 2, |cut| {
        println!("without {}  loss {:.2}", cut.head, cut.score.loss);
    })?;

    // The same parameters, shared, behind an attention that leaves two heads out.
    let mut mask = all;
    gone.iter().for_each(|cut| mask[cut.head.layer * 4 + cut.head.head] = false);
    let less = with_head_mask(&model, &mask, &from_spec)?;
    println!(
        "what is left  {} heads",
        less.attention().spec().head_mask.iter().filter(|on| **on).count()
    );
    assert_eq!(measure(&less)?.loss, gone[1].score.loss);
    Ok(())
}

/// The attention of this program's models.
fn from_spec(spec: &AttentionSpec) -> Result<Arc<dyn Attention>> {
    Ok(Arc::new(MultiHead::from_spec(spec)?))
}
