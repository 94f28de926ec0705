//! The largest numbers that a file may name. Sizes of the model have theirs in [`Config`].

use super::CheckpointError;
use crate::model::Config;
use crate::recipe::Recipe;

/// Bytes of the header.
pub const MAX_HEADER: u64 = 1 << 20;
/// Bytes of a tensor's name.
pub const MAX_TENSOR_NAME: u64 = 128;
/// Bytes of the names of architecture, attention and tokenizer.
pub const MAX_NAME: u64 = 64;
/// Rows of the tensor table.
pub const MAX_TENSORS: u64 = 1 << 16;
/// Axes of a tensor.
pub const MAX_DIMS: u64 = 4;
/// Bytes of a tokenizer.
pub const MAX_BLOB: u64 = 64 << 20;
/// Steps done and updates done: no more than a recipe may plan, and far from where counting one
/// more would overflow.
pub const MAX_STEPS: u64 = Recipe::MAX_STEPS;
/// Number of built-in stories: they are told again before training goes on.
pub const MAX_STORIES: u64 = 1 << 24;

/// Is `value` at most `limit`?
pub(super) fn at_most(what: &'static str, value: u64, limit: u64) -> Result<(), CheckpointError> {
    if value > limit { Err(CheckpointError::Limit { what, value, limit }) } else { Ok(()) }
}

/// Are the sizes of the model, one by one and together, within their limits?
pub(super) fn check_config(config: &Config) -> Result<(), CheckpointError> {
    config.check()?;
    at_most("the number of parameters", config.parameter_count(), Config::MAX_PARAMETERS)
}
