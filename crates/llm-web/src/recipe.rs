//! How a run in the browser learns: as `train-gpt-mha` and `train-gpt` have it when nothing is said.
//! A test holds the two against each other: the same bytes of a checkpoint.

use crate::failure::Result;
use crate::request::{Make, Source};
use llm_core::optim::ScheduleKind;
use llm_core::recipe::DataSource;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{Config, Hyperparameters, Recipe, Schedule};
use llm_stories::GRAMMAR_VERSION;

/// Number of built-in stories, training and validation together.
const STORY_COUNT: u64 = 20_000;
/// Their seed.
const STORY_SEED: u64 = 1;

/// What is left out of a request.
struct Usual {
    layers: usize,
    width: usize,
    window: usize,
    batch: usize,
    rate: f32,
    steps: u64,
}

/// A window holds a story, a minute suffices.
const STORIES: Usual =
    Usual { layers: 2, width: 64, window: 256, batch: 8, rate: 6e-3, steps: 1500 };
/// For text of one's own.
const TEXT: Usual = Usual { layers: 4, width: 128, window: 64, batch: 12, rate: 1e-3, steps: 2000 };
/// Heads, or the nearest number below that divides the width.
const HEADS: usize = 4;

/// The built-in stories.
pub fn stories() -> DataSource {
    DataSource::Stories { version: GRAMMAR_VERSION, seed: STORY_SEED, count: STORY_COUNT }
}

/// The heads that a request asks for, or the usual ones.
pub fn heads(make: &Make, config: &Config) -> usize {
    let divides = |heads: &usize| config.d_model.is_multiple_of(*heads);
    make.heads.unwrap_or_else(|| (1..=HEADS).rev().find(divides).unwrap_or(1))
}

/// Sizes and recipe of a new run on `data`.
///
/// # Errors
/// [`Code::Setting`](crate::Code::Setting) for one outside its range.
pub fn settings(make: &Make, data: DataSource) -> Result<(Config, Recipe)> {
    let usual = match make.data {
        Source::Stories => STORIES,
        Source::Text => TEXT,
    };
    let seq_len = make.window.unwrap_or(usual.window);
    let width = make.width.unwrap_or(usual.width);
    let layers = make.layers.unwrap_or(usual.layers);
    let config = Config::new(ByteTokenizer::VOCAB_SIZE, seq_len, width, layers);
    config.check()?;
    let total_steps = make.steps.unwrap_or(usual.steps);
    let lr = make.rate.unwrap_or(usual.rate);
    let recipe = Recipe {
        schedule: Schedule {
            kind: ScheduleKind::Cosine,
            lr,
            min_lr: lr / 10.0,
            warmup_steps: total_steps / 20,
            decay_steps: total_steps,
        },
        hyperparameters: Hyperparameters {
            beta2: 0.99,
            weight_decay: 0.1,
            decay_all: false,
            ..Hyperparameters::default()
        },
        seed: make.seed.unwrap_or(1),
        val_frac: 0.1,
        data,
        ..Recipe::new(make.batch.unwrap_or(usual.batch), seq_len, total_steps, lr)
    };
    recipe.check()?;
    Ok((config, recipe))
}
