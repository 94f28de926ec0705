//! A checkpoint made into a run.

use crate::error::{CliError, Result};
use crate::messages::count;
use crate::program::{Heads, Program};
use llm_core::checkpoint::Checkpoint;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_formats::tokenizers;
use std::path::Path;
use std::sync::Arc;

/// A checkpoint made into a run.
#[derive(Debug)]
pub struct Loaded {
    /// Weights, moments, settings, step.
    pub run: Trainer,
    /// What its tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Did it hold the optimizer?
    pub has_optimizer: bool,
    /// The format of the file.
    pub format: u32,
}

/// Reads a checkpoint into a run, with the attention and the tokenizer it names.
///
/// # Errors
/// [`CliError::Core`] naming the file, [`CliError::Data`] when this program has not the attention
/// or the tokenizer.
pub fn load(program: &Program, path: &Path) -> Result<Loaded> {
    let checkpoint = Checkpoint::load(path)?;
    let spec = &checkpoint.meta.attention;
    let attention = (program.from_spec)(spec).map_err(|_| {
        let other = match program.heads {
            Heads::One { other } if spec.n_heads > 1 || !spec.head_mask.is_empty() => {
                format!("; open it with {other}")
            }
            _ => String::new(),
        };
        let off = if spec.head_mask.is_empty() { "" } else { ", some switched off" };
        CliError::Data(format!(
            "checkpoint '{}': {} attention with {}{off}, which {} does not have{other}",
            path.display(),
            spec.name.escape_default(),
            count(spec.n_heads, "head"),
            program.name
        ))
    })?;
    let tokenizer = tokenizer_of(&checkpoint)
        .map_err(|why| CliError::Data(format!("checkpoint '{}': {why}", path.display())))?;
    let (has_optimizer, format) = (checkpoint.has_optimizer(), checkpoint.format());
    Ok(Loaded { run: checkpoint.into_trainer(attention)?, tokenizer, has_optimizer, format })
}

/// The tokenizer of a checkpoint, or why there is none that fits its model.
fn tokenizer_of(checkpoint: &Checkpoint) -> std::result::Result<Arc<dyn Tokenizer>, String> {
    let tokenizer = tokenizers::from_spec(&checkpoint.meta.tokenizer).map_err(|e| e.to_string())?;
    tokenizers::fit(tokenizer, checkpoint.meta.config.vocab_size).map_err(|e| e.to_string())
}
