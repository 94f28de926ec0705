//! A training step as a list of kernels, made from one forward of the model. No device is needed for it.
//!
//! `cargo run -p llm-gpu --example a_step_as_a_list`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::listing::listing;
use llm_core::model::Mode;
use llm_core::{AdamW, Config, Hyperparameters, TinyGPT, TokenDataset};
use llm_gpu::{Part, Planned};
use std::error::Error;

/// The lesson, from top to bottom.
pub fn main() -> Result<(), Box<dyn Error>> {
    let model = TinyGPT::new(Config::new(256, 8, 16, 1), 1)?;
    let text = TokenDataset::from_bytes("Once upon a time there was a list. ".into());
    let batch = text.batch(1, 0, [2, 8])?;

    // One forward on the processor, and what it did.
    let (loss, list) = listing(|| model.loss(&batch, Mode::Training));
    loss?;
    println!("op             result");
    for made in &list {
        println!("{:<14} {:?}", made.op, made.shape);
    }

    // The step that follows from it.
    let parameters: Vec<_> = model.parameters().collect();
    let optimizer = AdamW::new(Hyperparameters::default())?;
    let planned = Planned::new(&list, &parameters, &optimizer, 1)?;
    let plan = &planned.plan;
    for part in [Part::Gradient, Part::Norm, Part::Update] {
        println!("{part:?}: {} calls", plan.part(part).len());
    }
    let bytes = |numbers: &usize| 4 * numbers;
    let alone: usize = plan.rooms.iter().map(|(numbers, _)| bytes(numbers)).sum();
    let (rooms, buffers) = (plan.rooms.len(), planned.buffers.sizes.len());
    println!("{rooms} rooms of {alone} bytes lie in {buffers} buffers of {}", planned.bytes());
    Ok(())
}
