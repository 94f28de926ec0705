//! What a step costs by its list, kernel by kernel, and the least time that a card would take for each: no device is needed.
//!
//! ```text
//! cargo run --release -p llm-gpu --example what_a_step_costs -- w4 67 3350     # TFLOP/s and GB/s of a data sheet
//! ```
//!
//! A line of JSON for each kernel, and one for all: `ms` is the greater of the time for its arithmetic and that for its bytes.

#![allow(clippy::print_stdout)] // an example may print

use llm_core::train::Trainer;
use llm_core::{Config, Recipe, TinyGPT, TokenDataset};
use llm_gpu::{Capacity, Cost, Planned, listed};
use llm_variant_mha::MultiHead;
use std::error::Error;
use std::sync::Arc;

/// Name; vocabulary, T, C, L; heads, B.
const SIZES: [(&str, [usize; 4], [usize; 2]); 5] = [
    ("tiny", [256, 16, 32, 1], [2, 2]),
    ("w1", [65, 64, 128, 4], [4, 12]),
    ("w3", [65, 256, 384, 6], [6, 8]),
    ("w3_b64", [65, 256, 384, 6], [6, 64]),
    ("w4", [50_257, 1024, 768, 12], [12, 4]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let name = words.first().map_or("tiny", |word| word);
    let peak = |i: usize| words.get(i).and_then(|word| word.parse().ok()).unwrap_or(f64::INFINITY);
    let (flops, bytes) = (1e12 * peak(1), 1e9 * peak(2));
    let (_, [vocab, seq, width, layers], [heads, batch]) =
        SIZES.into_iter().find(|(of, ..)| *of == name).ok_or("sizes: tiny, w1, w3, w3_b64, w4")?;
    let config = Config::new(vocab, seq, width, layers);
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(heads)), 1)?;
    let trainer = Trainer::new(model, Recipe::new([batch, seq], 1, 1e-3))?;
    let data = TokenDataset::from_bytes(vec![7; 2 * seq]);
    let (_, _, list) = listed(&trainer, &data)?;
    let costs = Planned::of(&trainer, &list, Capacity::default())?.plan.costs(1);
    let least = |of: Cost| 1e3 * (of.flops / flops).max(of.bytes / bytes);
    let line = |name: &str, calls: usize, of: Cost, ms: f64| {
        let [gflop, gb] = [of.flops / 1e9, of.bytes / 1e9];
        println!(
            "{{\"kernel\":\"{name}\",\"calls\":{calls},\"gflop\":{gflop:.3},\"gb\":{gb:.4},\"ms\":{ms:.3}}}"
        );
    };
    costs.iter().for_each(|(name, calls, of)| line(name, *calls, *of, least(*of)));
    let all: Cost = costs.iter().map(|(.., of)| *of).sum();
    let ms = costs.iter().map(|(.., of)| least(*of)).sum();
    line("all", costs.iter().map(|(_, calls, _)| calls).sum(), all, ms);
    Ok(())
}
