//! Training: the built-in stories, a small model, a loss that falls, a text that is written.
//!
//! `cargo run --release -p llm-core --example train_a_tiny_model`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::generate::{Sampling, generate};
use llm_core::model::BatchShape;
use llm_core::optim::ScheduleKind;
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_core::train::{OneProcess, Update, evaluate, train_step};
use llm_core::{AdamW, Config, Hyperparameters, Result, Schedule, TinyGPT};
use llm_stories::StoryCorpus;
use std::ops::ControlFlow;

const STEPS: u64 = 250;
const SHAPE: BatchShape = BatchShape { batch_size: 6, seq_len: 64 };

/// The lesson, from top to bottom.
pub fn main() -> Result<()> {
    // Small stories in simple English, the same on every machine; a token is a byte. A batch takes
    // its rows from the beginnings of stories.
    let learned = StoryCorpus::new(1, 0..2000);
    let unseen = StoryCorpus::new(1, 2000..2050);
    println!("a story    {}", learned.stories[0].text.trim_end());

    // 256 bytes, 64 positions, 64 channels, one block, one head.
    let config = Config { vocab_size: 256, seq_len: 64, d_model: 64, ..Config::default() };
    let mut model = TinyGPT::new(config.clone(), 1)?;
    println!("parameters {}", model.parameter_count());

    // AdamW; the rate rises for 20 steps and then falls along a cosine.
    let mut optimizer = AdamW::new(Hyperparameters { beta2: 0.99, ..Hyperparameters::default() })?;
    let kind = ScheduleKind::Cosine;
    let rate = Schedule { kind, lr: 1e-2, min_lr: 1e-3, warmup_steps: 20, decay_steps: STEPS };

    // The loop: a batch, and a step: loss, backward, clip, update.
    let (work, mut losses) = (&mut OneProcess, Vec::new());
    for step in 0..STEPS {
        let batch = learned.data.batch(1, step, SHAPE);
        let update = Update { step, lr: rate.at(step), clip: 1.0 };
        let report = train_step(&mut model, &mut optimizer, [batch], update, work, &mut ())?;
        if step % 100 == 0 {
            println!("step {:3}   loss {:.2}", report.step, report.loss);
        }
        losses.push(report.loss);
    }
    // Who knows nothing gives every byte 1/256: ln 256 = 5.55 nats.
    assert!(losses[0] > 5.0 && losses[STEPS as usize - 1] < 1.2);

    // On stories that it has not seen. The grammar is known, so the best possible loss is, too.
    let windows = unseen.data.windows(SHAPE.seq_len);
    let score = evaluate(&model, &unseen.data, &windows, 8, |_| ControlFlow::Continue(()))?;
    let floor = unseen.entropy_floor(&windows);
    println!("unseen     loss {:.2}, no model can be below {floor:.2}", score.loss);
    assert!(floor < score.loss && score.loss < 1.2);

    // It writes: the likeliest byte each time.
    let prompt = ByteTokenizer.encode(b"Lucy met ")?;
    let written = ByteTokenizer.decode(&generate(&model, &prompt, 55, Sampling::greedy())?)?;
    println!("it writes  Lucy met {}", String::from_utf8_lossy(&written).escape_debug());
    Ok(())
}
