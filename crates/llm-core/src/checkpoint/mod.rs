//! A run in one file: weights, moments, step and settings, and nothing else, so that two ways to
//! the same step give the same bytes.
//!
//! ```text
//! 40 bytes   magic, version, lengths, CRC32 of itself and the header     fixed.rs
//! header     settings and the tensor table, written by postcard          header.rs, table.rs
//! tensors    f32 little-endian, sorted by name, each 64-aligned          save.rs, load.rs
//! 32 bytes   BLAKE3 of everything before
//! ```
//!
//! The checksums find accidents. They do not stop somebody who computes them anew, so nothing in
//! the file is believed: settings have limits (`limits.rs`, `check.rs`), and the tensor table must
//! be the one that follows from the settings. Saving never changes the old file in place
//! (`replace.rs`, on the calls in `files.rs`).

mod check;
mod error;
mod files;
mod fixed;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod header;
pub mod limits;
mod load;
mod replace;
mod save;
mod table;

#[cfg(test)]
mod tests;

pub use error::CheckpointError;
pub use fixed::looks_like_checkpoint;
pub use replace::{check_writable, real_path, replace_file, sweep_stale};
pub use save::save;

use crate::error::{Error, Result};
use crate::model::{Attention, AttentionSpec, Config, TinyGPT, parameter_shapes};
use crate::optim::{AdamW, Moments};
use crate::recipe::Recipe;
use crate::tensor::Tensor;
use crate::tokenizer::{ByteTokenizer, Tokenizer};
use crate::train::Trainer;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version that is written, and the newest that is read.
pub const FORMAT_VERSION: u32 = 1;

/// Which tokenizer made the tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenizerSpec {
    /// Its name, at most 64 bytes.
    pub kind: String,
    /// What it needs to be made again; empty for bytes. At most 64 MiB.
    pub blob: Vec<u8>,
}

impl TokenizerSpec {
    /// What makes this tokenizer again, with
    /// [`tokenizer::from_spec`](crate::tokenizer::from_spec).
    pub fn of(tokenizer: &dyn Tokenizer) -> TokenizerSpec {
        TokenizerSpec { kind: tokenizer.name().into(), blob: tokenizer.blob() }
    }

    /// [`ByteTokenizer`].
    pub fn bytes() -> TokenizerSpec {
        TokenizerSpec::of(&ByteTokenizer)
    }
}

/// Everything in a checkpoint that is no tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Sizes and options of the model.
    pub config: Config,
    /// Its attention.
    pub attention: AttentionSpec,
    /// What its tokens mean.
    pub tokenizer: TokenizerSpec,
    /// The settings of the run.
    pub recipe: Recipe,
    /// Steps done.
    pub step: u64,
}

/// A checkpoint as it was read: checked in every respect, nothing installed yet.
///
/// ```
/// use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
/// use llm_core::model::SingleHead;
/// use llm_core::recipe::{DataSource, Recipe};
/// use llm_core::train::Trainer;
/// use llm_core::{AdamWConfig, Config, Schedule, TinyGPT};
/// use std::sync::Arc;
///
/// let recipe = Recipe {
///     batch_size: 2,
///     accum: 1,
///     seq_len: 8,
///     total_steps: 10,
///     schedule: Schedule::constant(1e-3),
///     adamw: AdamWConfig::default(),
///     clip: 1.0,
///     seed: 1,
///     val_frac: 0.1,
///     data: DataSource::Stories { version: 1, seed: 1, count: 10 },
///     val_data: None,
/// };
/// let trainer = Trainer::new(TinyGPT::new(Config::new(256, 8, 8, 1), 1)?, recipe)?;
/// let directory = tempfile::tempdir().unwrap();
/// let path = directory.path().join("model.ckpt");
/// save(&path, &trainer, &TokenizerSpec::bytes(), true)?;
///
/// let checkpoint = Checkpoint::load(&path)?;
/// let attention = SingleHead::from_spec(&checkpoint.meta.attention)?;
/// let again = checkpoint.into_trainer(Arc::new(attention))?;
/// assert_eq!(again.model.wte.data(), trainer.model.wte.data());
/// # Ok::<(), llm_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Everything but the tensors. A caller may change the recipe before
    /// [`into_trainer`](Checkpoint::into_trainer).
    pub meta: Meta,
    /// In the model's order.
    parameters: Vec<(String, Tensor)>,
    optimizer: Option<Optimizer>,
    path: PathBuf,
}

/// A saved optimizer, but for its settings.
#[derive(Clone, Debug)]
struct Optimizer {
    t: u64,
    moments: Vec<Moments>,
}

impl Checkpoint {
    /// Reads the file at `path`, all of it, and checks all of it.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, [`Error::Checkpoint`] when its content is not a
    /// checkpoint that this program can use, [`Error::Memory`] when it does not fit into memory.
    pub fn load(path: &Path) -> Result<Checkpoint> {
        load::load(path)
    }

    /// Whether the optimizer was saved, so that training goes on exactly.
    pub fn has_optimizer(&self) -> bool {
        self.optimizer.is_some()
    }

    /// Number of single weights.
    pub fn parameter_count(&self) -> u64 {
        self.parameters.iter().map(|(_, p)| p.numel() as u64).sum()
    }

    /// Names and weights, in the order of [`TinyGPT::parameters`].
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.parameters.iter().map(|(name, p)| (name.as_str(), p))
    }

    /// Builds the run. `attention` is what the caller made from `meta.attention`. Without a saved
    /// optimizer AdamW starts anew, with its count of updates at 0.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] when the attention is not the one in `meta`, or `meta` was changed so
    /// that it does not fit the weights; [`Error::Config`] when a changed setting is outside its
    /// range.
    pub fn into_trainer(self, attention: Arc<dyn Attention>) -> Result<Trainer> {
        let Checkpoint { meta, parameters, optimizer, path } = self;
        let Meta { config, attention: saved, tokenizer: _, recipe, step } = meta;
        if attention.spec() != saved {
            let (saved, given) = (describe(&saved), describe(&attention.spec()));
            let source = CheckpointError::Attention { saved, given };
            return Err(Error::Checkpoint { path, source });
        }
        fits(&config, &parameters).map_err(|source| Error::Checkpoint { path, source })?;
        let model = TinyGPT::from_parameters(config, attention, parameters)?;
        let adamw = recipe.adamw;
        let mut trainer = Trainer::new(model, recipe)?;
        trainer.step = step;
        if let Some(Optimizer { t, moments }) = optimizer {
            trainer.optimizer = AdamW::with_state(adamw, t, moments)?;
        }
        Ok(trainer)
    }
}

/// Are these the parameters of that model?
fn fits(config: &Config, loaded: &[(String, Tensor)]) -> Result<(), CheckpointError> {
    let shapes = parameter_shapes(config);
    if shapes.len() != loaded.len() {
        let (actual, expected) = (loaded.len(), shapes.len());
        return Err(CheckpointError::TensorCount { actual, expected });
    }
    for ((tensor, shape), (name, p)) in shapes.into_iter().zip(loaded) {
        if tensor != *name || shape != p.shape() {
            let found = format!("{name} {:?}", p.shape());
            let expected = format!("{tensor} {shape:?}");
            return Err(CheckpointError::Tensor { tensor, field: "shape", found, expected });
        }
    }
    Ok(())
}

/// An attention in a few words, its name escaped.
fn describe(spec: &AttentionSpec) -> String {
    let off = spec.head_mask.iter().filter(|on| !**on).count();
    let heads = match spec.n_heads {
        1 => "1 head".to_string(),
        n => format!("{n} heads"),
    };
    let off = if off > 0 { format!(", {off} switched off") } else { String::new() };
    format!("{} attention ({heads}{off})", spec.name.escape_default())
}
