//! A training step of W1 and a token that its model writes, in a program that depends on the
//! libraries and has cargo's own release profile: the same work as `train-gpt-mha bench --workload
//! w1` and `generate`. Prints milliseconds; `outside.py` holds them against the programs'.

use llm_core::generate::{Generator, Sampling};
use llm_core::optim::Hyperparameters;
use llm_core::recipe::Recipe;
use llm_core::train::Trainer;
use llm_core::{Config, Result, TinyGPT, TokenDataset};
use llm_variant_mha::MultiHead;
use std::sync::Arc;
use std::time::Instant;

const STEPS: usize = 200;
const TEXTS: u64 = 100;
const TOKENS: usize = 63;

fn main() -> Result<()> {
    let model = TinyGPT::with_attention(Config::gpt2(65, 64, 128, 4), Arc::new(MultiHead::new(4)), 1)?;
    // Each in a process of its own, as the programs' are.
    let ms = match std::env::args().nth(1).as_deref() {
        Some("w1") => {
            let steps = (0..STEPS + STEPS / 5).zip(steps(model)?).map(|(_, ms)| ms);
            median(steps, STEPS / 5)
        }
        Some("generate") => median(texts(&model)?.into_iter(), 1),
        _ => panic!("outside w1, or outside generate"),
    };
    println!("{ms}");
    Ok(())
}

/// Milliseconds of a token, text by text.
fn texts(model: &TinyGPT) -> Result<Vec<f64>> {
    let mut generator = Generator::new(model, &[0], Sampling::greedy(), 1)?;
    let text = |seed| {
        generator.restart(seed);
        let start = Instant::now();
        (0..TOKENS).try_for_each(|_| generator.next_token().map(drop))?;
        Ok(start.elapsed().as_secs_f64() * 1e3 / TOKENS as f64)
    };
    (0..=TEXTS).map(text).collect()
}

/// Milliseconds of step after step, without an end.
fn steps(model: TinyGPT) -> Result<impl Iterator<Item = f64>> {
    let tokens = (0..100_000u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32 % 65);
    let data = TokenDataset::from_tokens(tokens.collect());
    let hyperparameters =
        Hyperparameters { beta2: 0.99, weight_decay: 0.1, decay_all: false, ..Hyperparameters::default() };
    let recipe = Recipe { hyperparameters, clip: 1.0, ..Recipe::new([12, 64], 0, 1e-4) };
    let mut trainer = Trainer::new(model, recipe)?;
    Ok(std::iter::repeat_with(move || {
        let start = Instant::now();
        trainer.step(&data).expect("random tokens are learned without an error");
        start.elapsed().as_secs_f64() * 1e3
    }))
}

/// Median of all but the first times, which warm up.
fn median(times: impl Iterator<Item = f64>, first: usize) -> f64 {
    let mut times: Vec<f64> = times.skip(first).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
