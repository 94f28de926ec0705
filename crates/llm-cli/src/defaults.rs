//! The values of flags that are not given.

use clap::ValueEnum;
use llm_core::optim::ScheduleKind;

/// Number of built-in stories, training and validation together.
pub const STORY_COUNT: u64 = 20_000;
/// Seed of the built-in stories. It is not `--seed`: runs with different seeds learn and are
/// judged on the same stories.
pub const STORY_SEED: u64 = 1;

/// Steps between two evaluations, and between two saves.
pub const INTERVAL: u64 = 250;
/// Steps between two reports.
pub const LOG_EVERY: u64 = 10;
/// Most tokens that an evaluation during training scores.
pub const PERIODIC_TOKENS: usize = 65_536;
/// Most tokens that the evaluation after training scores.
pub const FINAL_TOKENS: usize = 4 << 20;

/// Tokens that a vocabulary is learnt with when nothing is said.
pub const VOCAB_SIZE: usize = 1024;

/// Bytes of data files that are read into memory; larger ones stay on the disk. The environment
/// variable `LLM_DATA_IN_MEMORY` sets another number, for tests.
pub fn in_memory() -> u64 {
    let set = std::env::var("LLM_DATA_IN_MEMORY").ok().and_then(|text| text.parse().ok());
    set.unwrap_or(256 << 20)
}

/// Sets of starting values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// The C++ original's.
    Original,
}

/// What a new run starts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// L.
    pub layers: usize,
    /// C.
    pub d_model: usize,
    /// T.
    pub seq_len: usize,
    /// B.
    pub batch_size: usize,
    /// Steps in all.
    pub steps: u64,
    /// Peak learning rate.
    pub lr: f32,
    /// Its course.
    pub schedule: ScheduleKind,
    /// Largest gradient norm; 0: none.
    pub clip: f32,
    /// λ.
    pub weight_decay: f32,
    /// Decay biases too.
    pub decay_all: bool,
    /// β₁.
    pub beta1: f32,
    /// β₂.
    pub beta2: f32,
    /// ε.
    pub eps: f32,
    /// Share of the data for validation.
    pub val_frac: f64,
}

impl Defaults {
    /// For text of one's own: nanoGPT's recipe for a CPU.
    const TEXT: Defaults = Defaults {
        layers: 4,
        d_model: 128,
        seq_len: 64,
        batch_size: 12,
        steps: 2000,
        lr: 1e-3,
        schedule: ScheduleKind::Cosine,
        clip: 1.0,
        weight_decay: 0.1,
        decay_all: false,
        beta1: 0.9,
        beta2: 0.99,
        eps: 1e-8,
        val_frac: 0.1,
    };

    /// For the built-in stories: a window holds a story, a minute suffices.
    const STORIES: Defaults = Defaults {
        layers: 2,
        d_model: 64,
        seq_len: 256,
        batch_size: 8,
        steps: 1500,
        lr: 6e-3,
        ..Defaults::TEXT
    };

    /// The C++ original's.
    const ORIGINAL: Defaults = Defaults {
        layers: 1,
        d_model: 64,
        seq_len: 64,
        batch_size: 4,
        steps: 200,
        lr: 3e-4,
        schedule: ScheduleKind::Constant,
        clip: 0.0,
        weight_decay: 0.01,
        decay_all: true,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        val_frac: 0.0,
    };

    /// The values for a kind of data, or those of a preset.
    pub fn choose(preset: Option<Preset>, stories: bool) -> Defaults {
        match (preset, stories) {
            (Some(Preset::Original), _) => Defaults::ORIGINAL,
            (None, true) => Defaults::STORIES,
            (None, false) => Defaults::TEXT,
        }
    }
}

/// How text is written when nothing is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextDefaults {
    /// Tokens.
    pub n: usize,
    /// Temperature.
    pub temperature: f32,
}

impl TextDefaults {
    /// Of a preset.
    pub fn choose(preset: Option<Preset>) -> TextDefaults {
        match preset {
            Some(Preset::Original) => TextDefaults { n: 128, temperature: 1.0 },
            None => TextDefaults { n: 256, temperature: 0.8 },
        }
    }
}
