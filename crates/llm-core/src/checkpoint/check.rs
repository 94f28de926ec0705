//! What a header may say. The same checks stand before saving and after loading.

use super::contents::{ACCUMULATION, ARCHITECTURE, Contents, PRECISION, SavedOptimizer};
use super::limits::{
    self, Checked, MAX_ATTENTION, MAX_BLOB, MAX_HEADS, MAX_NAME, MAX_STEPS, MAX_STORIES, at_most,
    unless,
};
use super::table;
use crate::base::{CheckpointError, Error};
use crate::message;
use crate::model::{AttentionSpec, Config};
use crate::optim::{OptimizerRow, find_optimizer};
use crate::recipe::DataSource;

/// Validates every setting, and that the table is the one that follows from them.
pub(super) fn check(contents: &Contents) -> Checked {
    table::check_limits(&contents.table)?;
    check_settings(contents)?;
    let length = contents.tokenizer.length;
    let expected = table::expected(contents.parameters()?, contents.slots(), length);
    table::check_equal(&contents.table, &expected)
}

/// Validates every setting.
pub(super) fn check_settings(contents: &Contents) -> Checked {
    for (what, name) in [
        (message!("the length of the architecture's name"), &contents.architecture),
        (message!("the length of the attention's name"), &contents.attention.name),
        (message!("the length of the tokenizer's name"), &contents.tokenizer.kind),
        (message!("the length of the precision's name"), &contents.precision),
        (message!("the length of the accumulation's name"), &contents.accumulation),
    ] {
        at_most(what, name.len() as u64, MAX_NAME)?;
    }
    let found = contents.architecture.clone();
    let is_known = found == ARCHITECTURE;
    unless(is_known, CheckpointError::Architecture { found, known: ARCHITECTURE })?;
    known("precision", &contents.precision, PRECISION)?;
    known("accumulation", &contents.accumulation, ACCUMULATION)?;
    limits::check_config(&contents.config, &contents.own)?;
    let numbers =
        contents.parameters()?.iter().fold(0, |n: u64, (_, p)| n.saturating_add(p.numel()));
    at_most(message!("the number of parameters"), numbers, Config::MAX_PARAMETERS)?;
    check_attention(&contents.attention, &contents.config)?;
    check_run(contents)?;
    at_most(message!("the length of the tokenizer's data"), contents.tokenizer.length, MAX_BLOB)
}

/// Refuses what is not the only one there is.
fn known(field: &'static str, found: &str, known: &str) -> Checked {
    let reason = message!("'{}' is not one of: {}", found.escape_default(), known);
    Ok(Error::unless(found == known, field, reason)?)
}

fn check_attention(spec: &AttentionSpec, config: &Config) -> Checked {
    let AttentionSpec { n_heads, head_mask, .. } = spec;
    // Which numbers of heads fit a width is the attention's own to say.
    let within = (1..=MAX_HEADS).contains(n_heads);
    Error::unless(within, "n_heads", message!("{} is outside 1..={}", *n_heads, MAX_HEADS))?;
    let heads = config.n_layers * n_heads;
    let fits = head_mask.is_empty() || head_mask.len() == heads;
    let reason = message!("{} entries for {} heads", head_mask.len(), heads);
    Error::unless(fits, "head_mask", reason)?;
    let size = spec.settings()?.size() as u64;
    at_most(message!("the size of the attention's settings"), size, MAX_ATTENTION)
}

fn check_run(contents: &Contents) -> Checked {
    let Contents { config, recipe, optimizers, optimizer, .. } = contents;
    recipe.check_with(optimizers)?;
    let reason = message!("longer than the model's context of {}", config.seq_len);
    Error::unless(recipe.seq_len <= config.seq_len, "seq_len", reason)?;
    at_most(message!("the number of steps done"), contents.step, MAX_STEPS)?;
    for source in [Some(&recipe.data), recipe.val_data.as_ref()].into_iter().flatten() {
        if let DataSource::Stories { count, .. } = source {
            at_most(message!("the number of stories"), *count, MAX_STORIES)?;
        }
    }
    let check = |saved| check_optimizer(saved, &recipe.optimizer, optimizers);
    optimizer.as_ref().map_or(Ok(()), check)
}

/// Refuses another optimizer than the run names, and one without all of its slots or, before its
/// first update, none.
fn check_optimizer(saved: &SavedOptimizer, name: &str, optimizers: &[OptimizerRow]) -> Checked {
    let SavedOptimizer { name: own, t, slots } = saved;
    at_most(message!("the length of the optimizer's name"), own.len() as u64, MAX_NAME)?;
    at_most(message!("the number of updates done"), *t, MAX_STEPS)?;
    let row = find_optimizer(optimizers, own)?;
    let reason = message!("the state of {} in a run with {}", own, name);
    Error::unless(own == name, "optimizer", reason)?;
    let fits = slots.is_empty() || slots.iter().eq(row.slots.iter().map(|slot| slot.name));
    let found: Vec<_> = slots.iter().map(|slot| slot.escape_default().to_string()).collect();
    let reason = message!("{} does not keep '{}'", own, found.join(", "));
    Ok(Error::unless(fits, "optimizer", reason)?)
}
