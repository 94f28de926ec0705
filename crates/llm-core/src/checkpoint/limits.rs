//! The largest numbers that a file may name. Sizes of the model have theirs in [`Config`].

use crate::base::{CheckpointError, Error, Message};
use crate::message;
use crate::model::{Config, ParamList, parameter_list};
use crate::recipe::Recipe;
use std::collections::HashSet;

/// Bytes of the header.
pub const MAX_HEADER: u64 = 1 << 22;
/// Bytes of a tensor's name.
pub const MAX_TENSOR_NAME: u64 = 128;
/// Keys and values of an attention's own settings, in bytes.
pub const MAX_ATTENTION: u64 = 1 << 12;
/// Heads of a block.
pub const MAX_HEADS: usize = 1 << 16;
/// Parameters of one block's attention.
pub const MAX_OWN: u64 = 64;
/// Bytes of the names of architecture, attention, tokenizer and the like.
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
/// Number of built-in stories: they are generated again before training goes on.
pub const MAX_STORIES: u64 = 1 << 24;

/// Refuses a `value` above `limit`.
pub(super) fn at_most(what: Message, value: u64, limit: u64) -> Checked {
    unless(value <= limit, CheckpointError::Limit { what, value, limit })
}

/// What reading or checking a part of a file gives.
pub(super) type Checked<T = ()> = Result<T, CheckpointError>;

/// The error unless a file holds what it has to.
pub(super) fn unless(holds: bool, error: CheckpointError) -> Checked {
    if holds { Ok(()) } else { Err(error) }
}

/// Refuses sizes of the model that are, one by one or together, beyond their limits. `own` are the
/// parameters of one block's attention.
pub(super) fn check_config(config: &Config, own: &ParamList) -> Checked {
    config.check()?;
    at_most(message!("the number of the attention's parameters"), own.len() as u64, MAX_OWN)?;
    for (name, param) in own {
        at_most(message!("the length of a parameter's name"), name.len() as u64, MAX_NAME)?;
        let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let shown = name.escape_default();
        let reason = message!("'{}' is no name of a parameter: a-z, A-Z, 0-9, '_'", shown);
        Error::unless(!name.is_empty() && name.bytes().all(letter), "attention", reason)?;
        at_most(message!("the number of a tensor's axes"), param.shape.len() as u64, MAX_DIMS)?;
        let count = param.shape.iter().fold(1u64, |n, &dim| n.saturating_mul(dim as u64));
        at_most(message!("the number of parameters"), count, Config::MAX_PARAMETERS)?;
    }
    let list = parameter_list(config, own);
    let mut seen = HashSet::new();
    if let Some((name, _)) = list.iter().find(|(name, _)| !seen.insert(name)) {
        let reason = message!("there are two parameters '{}'", name);
        return Err(Error::config("attention", reason).into());
    }
    let count = list.iter().map(|(_, param)| param.numel()).sum();
    at_most(message!("the number of parameters"), count, Config::MAX_PARAMETERS)
}

/// A range check of another module, as a statement about the file.
impl From<Error> for CheckpointError {
    fn from(error: Error) -> CheckpointError {
        match error {
            Error::Config { field, reason } => CheckpointError::Setting { field, reason },
            other => {
                CheckpointError::Setting { field: "settings", reason: other.to_string().into() }
            }
        }
    }
}
