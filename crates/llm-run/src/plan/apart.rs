//! A model and its adapter, wherever the two are.

use super::adapter;
use super::loaded::{Loaded, load_on};
use crate::error::{Result, usage};
use crate::folder::to_load;
use crate::models::Models;
use llm_core::message;
use llm_core::train::Trainer;
use llm_formats::Note;
use llm_formats::first_look::Look;
use llm_formats::hugging_face::peft;
use std::path::Path;

/// The files of a model that is in two: each is a checkpoint, or the folder of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Apart<'a> {
    /// The weights under the adapter that is loaded, where they are not where its checkpoint says.
    pub base: Option<&'a Path>,
    /// The adapter for the model that is loaded; also a folder of peft's.
    pub adapter: Option<&'a Path>,
}

/// Reads a checkpoint to look at and to be used: an adapter has become part of its weights.
///
/// # Errors
/// As [`load_beside`].
pub fn load(models: &Models, path: &Path) -> Result<Loaded> {
    merged(models, load_on(models, path, None)?)
}

/// Reads a checkpoint in which an adapter, that of `apart` too, stays beside the weights, and what is to be known
/// of an adapter from elsewhere. An adapter's checkpoint brings its own tokenizer and recipe along.
///
/// # Errors
/// [`RunError::Core`](crate::RunError::Core) naming the file, [`RunError::Data`](crate::RunError::Data) when this program
/// has not the attention or the tokenizer, or the two do not belong together,
/// [`RunError::Usage`](crate::RunError::Usage) for a base and an adapter at once.
pub fn load_beside(models: &Models, path: &Path, apart: Apart<'_>) -> Result<(Loaded, Vec<Note>)> {
    let Apart { base, adapter: beside } = apart;
    let Some(beside) = beside else { return Ok((load_on(models, path, base)?, Vec::new())) };
    if base.is_some() {
        return usage(message!("with {adapter} the weights are those of {load}: leave {base} out"));
    }
    if Look::of(beside) != Some(Look::Adapter) {
        return Ok((load_on(models, &to_load(beside)?, Some(path))?, Vec::new()));
    }
    let Loaded { run, tokenizer, .. } = load_on(models, path, None)?;
    let Trainer { model, recipe, .. } = run;
    let recipe = adapter::recipe(model.config(), recipe.seed);
    let (mut model, notes) = peft::import(beside, model)?;
    model.set_base_file(path);
    model.set_dropout(0.0)?;
    let run = Trainer::with_optimizers(model, recipe, models.optimizers)?;
    Ok((Loaded { run, tokenizer, has_optimizer: false }, notes))
}

/// What was loaded, with the adapter as a part of its weights.
///
/// # Errors
/// [`RunError::Core`](crate::RunError::Core) for a recipe that has become impossible.
pub fn merged(models: &Models, loaded: Loaded) -> Result<Loaded> {
    if loaded.run.model.adapter().is_none() {
        return Ok(loaded);
    }
    let Loaded { run: Trainer { model, recipe, step, .. }, tokenizer, .. } = loaded;
    let run = Trainer::with_optimizers(model.merged(), recipe, models.optimizers)?;
    Ok(Loaded { run: Trainer { step, ..run }, tokenizer, has_optimizer: false })
}
