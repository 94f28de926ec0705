//! What a step costs, by its list: no device is needed to count.

#![allow(clippy::unwrap_used)]

use llm_core::listing::listing;
use llm_core::model::{Config, Mode};
use llm_core::optim::{AdamW, Hyperparameters};
use llm_core::{TinyGPT, TokenDataset};
use llm_gpu::Planned;
use llm_variant_mha::MultiHead;
use std::sync::Arc;

/// The plan of a step of a model with four heads.
fn planned(config: Config, rows: usize) -> Planned {
    let [vocab, seq] = [config.vocab_size, config.seq_len];
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1).unwrap();
    let text = TokenDataset::from_bytes((0..4 * seq + 1).map(|i| (i % vocab) as u8).collect());
    let batch = text.batch(1, 0, [rows, seq]).unwrap();
    let (loss, list) = listing(|| model.loss(&batch, Mode::Training));
    loss.unwrap();
    let parameters: Vec<_> = model.parameters().collect();
    let optimizer = AdamW::new(Hyperparameters::default()).unwrap();
    Planned::new(&list, &parameters, &optimizer, 1).unwrap()
}

/// Calls of a kernel in a plan.
fn calls(planned: &Planned, entry: &str) -> usize {
    planned.plan.calls.iter().filter(|call| call.kernel.entry == entry).count()
}

/// `bench`'s W1: what follows a product is done by the product's call, and so are sums for biases.
#[test]
fn few_calls_in_a_step() {
    let small = planned(Config::new(65, 64, 128, 4), 12);
    assert!(small.calls() <= 95, "{} calls", small.calls());
    for gone in ["add", "columns"] {
        assert_eq!(calls(&small, gone), 0, "{gone}");
    }
    // Scores and their gradient have one place: of so many numbers there is no second one.
    let wide = planned(Config::new(1000, 16, 8, 1), 4);
    let scores = 4 * 16 * 1000;
    assert_eq!(wide.plan.rooms.iter().filter(|(numbers, _)| *numbers == scores).count(), 1);
    // Twelve blocks, as W4 has: three products for each of 49 matrices, a norm before each half of a block, there
    // and back, two calls of each attention.
    let deep = planned(Config::new(65, 64, 32, 12), 2);
    assert_eq!(calls(&deep, "product"), 3 * 49);
    assert!(deep.calls() <= 240, "{} calls", deep.calls());
}
