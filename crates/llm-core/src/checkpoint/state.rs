//! A run between two steps.

use crate::model::TinyGPT;
use crate::optim::Optimizer;
use crate::recipe::Recipe;

/// A run between two steps: all that a checkpoint holds, but for the tokenizer.
#[derive(Clone, Debug)]
pub struct State {
    /// The weights.
    pub model: TinyGPT,
    /// The optimizer with its state.
    pub optimizer: Box<dyn Optimizer>,
    /// The settings.
    pub recipe: Recipe,
    /// Steps done.
    pub step: u64,
}

/// [`State`], borrowed for saving.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// The weights.
    pub model: &'a TinyGPT,
    /// The optimizer with its state.
    pub optimizer: &'a dyn Optimizer,
    /// The settings.
    pub recipe: &'a Recipe,
    /// Steps done.
    pub step: u64,
}
