//! What a header may say. The same checks stand before saving and after loading.

use super::header::{ARCHITECTURE, Header, StoredSource};
use super::limits::{self, MAX_BLOB, MAX_NAME, MAX_STEPS, MAX_STORIES, at_most};
use super::{CheckpointError, table};
use crate::model::{AttentionSpec, Config};

/// Are all settings within their ranges, and is the table the one that follows from them?
pub(super) fn check(header: &Header) -> Result<(), CheckpointError> {
    table::check_limits(&header.tensors)?;
    let config = check_settings(header)?;
    let expected = table::expected(&config, header.moments, header.tokenizer_length);
    table::check_equal(&header.tensors, &expected)
}

/// The model's settings, when all settings are within their ranges.
pub(super) fn check_settings(header: &Header) -> Result<Config, CheckpointError> {
    for (what, name) in [
        ("the length of the architecture's name", &header.architecture),
        ("the length of the attention's name", &header.attention),
        ("the length of the tokenizer's name", &header.tokenizer),
    ] {
        at_most(what, name.len() as u64, MAX_NAME)?;
    }
    if header.architecture != ARCHITECTURE {
        return Err(CheckpointError::Architecture { found: header.architecture.clone() });
    }
    let config = header.config();
    limits::check_config(&config)?;
    check_attention(&header.attention(), &config)?;
    check_run(header, &config)?;
    at_most("the length of the tokenizer's data", header.tokenizer_length, MAX_BLOB)?;
    Ok(config)
}

fn setting(field: &'static str, reason: String) -> CheckpointError {
    CheckpointError::Setting { field, reason }
}

fn check_attention(spec: &AttentionSpec, config: &Config) -> Result<(), CheckpointError> {
    let AttentionSpec { name: _, n_heads, head_mask } = spec;
    if *n_heads == 0 || !config.d_model.is_multiple_of(*n_heads) {
        let reason = format!("{n_heads} does not divide d_model {}", config.d_model);
        return Err(setting("n_heads", reason));
    }
    let heads = config.n_layers * n_heads;
    if !head_mask.is_empty() && head_mask.len() != heads {
        let reason = format!("{} entries for {heads} heads", head_mask.len());
        return Err(setting("head_mask", reason));
    }
    Ok(())
}

fn check_run(header: &Header, config: &Config) -> Result<(), CheckpointError> {
    let recipe = header.recipe();
    recipe.check()?;
    if recipe.seq_len > config.seq_len {
        let reason = format!("longer than the model's context of {}", config.seq_len);
        return Err(setting("seq", reason));
    }
    at_most("the number of steps done", header.step, MAX_STEPS)?;
    at_most("the number of updates done", header.adam_t.unwrap_or(0), MAX_STEPS)?;
    for source in [Some(&header.data), header.val_data.as_ref()].into_iter().flatten() {
        if let StoredSource::Stories { count, .. } = source {
            at_most("the number of stories", *count, MAX_STORIES)?;
        }
    }
    if header.moments && header.adam_t.is_none() {
        return Err(setting("moments", "there without the number of updates".into()));
    }
    Ok(())
}
