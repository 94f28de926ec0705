//! Times training steps on an adapter, of the sizes that the pages measure:
//!
//! ```text
//! cargo run --release --example time_a_step                    # the adapters that are there
//! cargo run --release --example time_a_step -- nvidia          # every size, on the first of that name
//! cargo run --release --example time_a_step -- llvmpipe tiny   # one size
//! ```
//!
//! A line of JSON for each size. As in training, each step's loss and norm are read before its update.

#![allow(clippy::print_stdout)]

use llm_core::listing::listing;
use llm_core::model::Mode;
use llm_core::optim::{OptimizerState, clip_scale};
use llm_core::{AdamW, Config, Hyperparameters, TinyGPT, TokenDataset};
use llm_gpu::{Adapter, Gpu, GpuError, Planned};
use llm_variant_mha::MultiHead;
use std::sync::Arc;
use std::time::Instant;

/// Name; vocabulary, T, C, L; heads, B.
const SIZES: [(&str, [usize; 4], [usize; 2]); 6] = [
    ("tiny", [256, 16, 32, 1], [2, 2]),
    ("stories", [256, 256, 64, 2], [4, 8]),
    ("w1", [65, 64, 128, 4], [4, 12]),
    ("w3", [65, 256, 384, 6], [6, 8]),
    ("w3_b64", [65, 256, 384, 6], [6, 64]),
    ("w4", [50_257, 64, 768, 12], [12, 4]),
];
const ROUNDS: usize = 5;
/// A round is about so long, in seconds.
const ROUND: f64 = 1.0;

fn main() {
    if let Err(error) = times() {
        println!("error: {error}");
        std::process::exit(1);
    }
}

fn times() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let Some(name) = words.next() else {
        Adapter::all().iter().for_each(|of| println!("{}", of.described()));
        return Ok(());
    };
    let gpu = Gpu::open(Some(&name))?;
    let only = words.next();
    for (name, sizes, [heads, batch_size]) in SIZES {
        if only.as_ref().is_none_or(|only| only == name) {
            time(&gpu, name, sizes, heads, batch_size)?;
        }
    }
    Ok(())
}

fn time(
    gpu: &Gpu,
    name: &str,
    [vocab, seq_len, width, layers]: [usize; 4],
    heads: usize,
    batch_size: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::new(vocab, seq_len, width, layers);
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(heads)), 1)?;
    // Bytes that no model can memorise, all of them tokens of the vocabulary.
    let byte = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % vocab.min(256);
    let data = TokenDataset::from_bytes((0..1 << 16).map(|i| byte(i) as u8).collect());
    let shape = [batch_size, seq_len];
    let batch = data.batch(1, 0, shape)?;
    let begun = Instant::now();
    let (loss, list) = listing(|| model.loss(&batch, Mode::Training));
    let cpu_loss = loss?.item();
    let parameters: Vec<_> = model.parameters().collect();
    let hyper = Hyperparameters { beta2: 0.99, weight_decay: 0.1, ..Hyperparameters::default() };
    let planned = Planned::new(&list, &parameters, &AdamW::new(hyper)?, 1)?;
    let (calls, bytes) = (planned.calls(), planned.bytes());
    let mut step = planned.load(gpu, &model, &OptimizerState::default())?;
    step.gradient(&batch, 0)?;
    let first = step.report()?.loss;
    let made = begun.elapsed().as_secs_f64();

    let mut number = 0;
    let mut go = |n: usize| -> Result<f64, GpuError> {
        let begun = Instant::now();
        for _ in 0..n {
            let batch = data.batch(1, number, shape).map_err(|e| GpuError::List(e.message()))?;
            step.gradient(&batch, 0)?;
            let norm = step.report()?.grad_norm;
            step.update(1e-3, clip_scale(f64::from(norm), 1.0));
            number += 1;
        }
        step.report()?;
        Ok(begun.elapsed().as_secs_f64() / n as f64)
    };
    let one = go(1)?.min(go(1)?);
    let each = ((ROUND / one) as usize).clamp(1, 1000);
    let mut rounds = (0..ROUNDS).map(|_| go(each)).collect::<Result<Vec<_>, _>>()?;
    rounds.sort_by(f64::total_cmp);
    let (median, tokens) = (rounds[ROUNDS / 2], (batch_size * seq_len) as f64);
    println!(
        "{{\"adapter\":\"{}\",\"size\":\"{name}\",\"calls\":{calls},\"mib\":{:.1},\"made_s\":{made:.2},\"ms_per_step\":{:.3},\"best_ms\":{:.3},\"steps\":{},\"tokens_per_s\":{:.0},\"first_loss\":{first:.5},\"first_loss_processor\":{cpu_loss:.5}}}",
        gpu.name(),
        bytes as f64 / f64::from(1 << 20),
        1e3 * median,
        1e3 * rounds[0],
        ROUNDS * each,
        tokens / median,
    );
    Ok(())
}
