//! A story, the words in it that can be known, and the loss that no model can be below.
//!
//! `cargo run -p llm-stories --example facts`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::train::evaluate;
use llm_core::{Config, Result, TinyGPT};
use llm_stories::{FactTable, StoryCorpus, story, surprise};
use std::ops::ControlFlow;

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    // Story number 5 of seed 1, the same on every machine.
    let fifth = story(1, 5);
    println!("story   {}", fifth.text.trim_end());
    for fact in fifth.facts.iter().take(3) {
        let word = &fifth.text[fact.start..fact.end];
        println!("fact    {word}: {}, {} place(s)", fact.kind.name(), fact.kind.places());
    }

    // The grammar knows how surprising each byte is: what is a matter of chance costs, what follows
    // from the text does not.
    let nats = surprise(&fifth.text).unwrap_or_default();
    let free = nats.iter().filter(|&&nats| nats < 1e-9).count();
    println!(
        "nats    {:.2} in all, {free} of {} bytes cost nothing",
        nats.iter().sum::<f64>(),
        nats.len()
    );

    // An untrained model, evaluated on ten stories.
    let corpus = StoryCorpus::new(1, 0..10);
    let windows = corpus.data.windows(256);
    println!("floor   {:.3} nats for a byte", corpus.entropy_floor(&windows));
    let model = TinyGPT::new(Config::new(256, 256, 8, 1), 1)?;
    let mut facts = FactTable::default();
    evaluate(&model, &corpus.data, &windows, 4, |scored| {
        if let Some(window) = windows.get(scored.window) {
            facts.add(&corpus.stories[scored.window], window, &scored);
        }
        ControlFlow::Continue(())
    })?;
    println!("right   {} of {} facts, untrained", facts.total().right, facts.total().all);
    Ok(())
}
