//! What a step of a model of today's kind takes, counted on paper and seen. One test, because a process
//! has one pool.

#![allow(clippy::unwrap_used)]

use llm_core::model::{Footprint, Mlp, Norm, Positions};
use llm_core::train::{OneProcess, Update, train_step};
use llm_core::{AdamW, Config, Hyperparameters, TinyGPT, TokenDataset};
use llm_core::{buffer, threads};
use llm_variant_modern::Modern;
use std::sync::Arc;

const BATCH: [usize; 2] = [12, 64];

/// Bytes that wait after a few steps, when all that a step took has come back, and those on paper.
fn seen_and_on_paper(config: Config, attention: Modern) -> [f64; 2] {
    let of = Footprint::new(&config, &attention);
    // Weights and moments stay in use.
    let stays = of.parameter_count() * 4 * 3;
    let paper = of.training(BATCH[0], BATCH[1]) - stays;
    buffer::release_pool();
    let mut model = TinyGPT::with_attention(config.clone(), Arc::new(attention), 1).unwrap();
    let mut adamw = AdamW::new(Hyperparameters::default()).unwrap();
    let data = TokenDataset::from_bytes((0..10_000u32).map(|i| (i * i / 7) as u8).collect());
    for step in 0..3 {
        let update = Update { step, lr: 1e-3, clip: 1.0 };
        let batch = data.batch(1, step, BATCH);
        train_step(&mut model, &mut adamw, [batch], update, &mut OneProcess, &mut ()).unwrap();
    }
    [buffer::waiting() as f64, paper as f64]
}

#[test]
fn a_step_takes_what_is_on_paper() {
    let gpt2 = Config::gpt2(256, 64, 128, 4);
    let llama = Config {
        norm: Norm::Rms,
        mlp: Mlp::SwiGlu,
        mlp_bias: false,
        positions: Positions::Rotary,
        ..gpt2.clone()
    };
    let ngrams = Config { ngrams: vec![2, 3], ngram_rows: 5_000, ..llama.clone() };
    let rotary = |attention: Modern| attention.with_rotary(10_000.0).without_biases();
    for (what, config, attention) in [
        ("gpt2", gpt2.clone(), Modern::new(4)),
        ("groups", gpt2, Modern::grouped(4, 2)),
        ("n-grams", ngrams, rotary(Modern::new(4))),
        ("llama", llama.clone(), rotary(Modern::new(4))),
        ("llama, groups", llama.clone(), rotary(Modern::grouped(4, 1))),
        ("qwen3", llama, rotary(Modern::grouped(4, 2).with_head_dim(64).with_qk_norm())),
    ] {
        let [seen, paper] = threads::with(1, || seen_and_on_paper(config, attention)).unwrap();
        let ratio = paper / seen;
        assert!((0.98..1.02).contains(&ratio), "{what}: {paper} on paper, {seen} seen");
    }
}
