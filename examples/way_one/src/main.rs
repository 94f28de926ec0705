//! Way 1: one program. With one head it uses the baseline, with more the variant.
//!
//! `cargo run --release -p way-one -- --heads 4`
//!
//! The project itself ships way 2, two programs: see `docs/variants/mha/what_changed_vs_core.md`.

#![allow(clippy::print_stdout, clippy::print_stderr)] // an example may print

use llm_core::model::BatchShape;
use llm_core::model::SingleHead;
use llm_core::train::{OneProcess, Update, train_step};
use llm_core::{AdamW, Attention, Config, Hyperparameters, Result, TinyGPT};
use llm_stories::StoryCorpus;
use llm_variant_mha::MultiHead;
use std::process::ExitCode;
use std::sync::Arc;

/// The whole of way 1: the choice stands where both crates are known.
pub fn attention_for(n_heads: usize) -> Arc<dyn Attention> {
    match n_heads {
        1 => Arc::new(SingleHead),
        h => Arc::new(MultiHead::new(h)),
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let n_heads = match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(1), // as before there was a flag
        ["--heads", n] => n.parse().ok(),
        _ => None,
    };
    let Some(n_heads) = n_heads else {
        eprintln!("error: the only flag is --heads with a number");
        return ExitCode::from(2);
    };
    match train(n_heads) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

/// A few steps on the built-in stories.
fn train(n_heads: usize) -> Result<()> {
    let config = Config { vocab_size: 256, seq_len: 32, d_model: 48, ..Config::default() };
    let mut model = TinyGPT::with_attention(config, attention_for(n_heads), 1)?;
    let spec = model.attention().spec();
    println!("{} attention, heads: {}", spec.name, spec.n_heads);

    let stories = StoryCorpus::new(1, 0..200);
    let mut optimizer = AdamW::new(Hyperparameters::default())?;
    let work = &mut OneProcess;
    for step in 0..60 {
        let batch = stories.data.batch(1, step, BatchShape { batch_size: 4, seq_len: 32 });
        let update = Update { step, lr: 3e-3, clip: 1.0 };
        let report = train_step(&mut model, &mut optimizer, [batch], update, work, &mut ())?;
        if step % 20 == 19 || step == 0 {
            println!("step {:2}  loss {:.3}", report.step, report.loss);
        }
    }
    Ok(())
}
