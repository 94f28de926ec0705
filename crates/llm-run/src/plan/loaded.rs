//! A checkpoint made into a run.

use crate::error::{Result, RunError, foreign};
use crate::folder::to_load;
use crate::models::Models;
use crate::settings::{FURTHER, Setting};
use llm_core::base::escape::paths;
use llm_core::base::{Message, with_causes};
use llm_core::checkpoint::{Checkpoint, CheckpointError};
use llm_core::optim::OptimizerRow;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{Config, Error, counted, message};
use llm_formats::first_look::Look;
use llm_formats::tokenizers;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A checkpoint made into a run.
#[derive(Debug)]
pub struct Loaded {
    /// Weights, moments, settings, step.
    pub run: Trainer,
    /// What its tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Whether it held the optimizer.
    pub has_optimizer: bool,
}

/// Reads a checkpoint into a run, with the attention and the tokenizer it names. An adapter stays beside its
/// weights, which are in `base` where they are not in the file that it names.
///
/// # Errors
/// [`RunError::Core`] naming the file, [`RunError::Data`] when this program has not the attention
/// or the tokenizer.
pub(super) fn load_on(models: &Models, path: &Path, base: Option<&Path>) -> Result<Loaded> {
    opened(models, path, read_checkpoint(models, path, base)?)
}

/// Reads a checkpoint, whatever its attention; the weights under an adapter are in `base` where they are not in
/// the file that it names.
///
/// # Errors
/// [`RunError::Core`] naming the file, and what to do about it.
pub fn read_checkpoint(models: &Models, path: &Path, base: Option<&Path>) -> Result<Checkpoint> {
    read_by(Checkpoint::load_on, models, path, base)
}

/// A way to read a checkpoint, on the file of a base, by the optimizers that there are.
type Way = fn(&Path, Option<&Path>, &'static [OptimizerRow]) -> llm_core::Result<Checkpoint>;

fn read_by(way: Way, models: &Models, path: &Path, base: Option<&Path>) -> Result<Checkpoint> {
    let base = base.map(to_load).transpose()?;
    way(path, base.as_deref(), models.optimizers).map_err(|e| with_way_out(e, path))
}

/// [`load_on`] of weights that stay as they are, beside an adapter that learns: they may take less memory, see
/// [`Checkpoint::load_frozen`].
///
/// # Errors
/// As [`load_on`].
pub(super) fn load_frozen(models: &Models, path: &Path, base: Option<&Path>) -> Result<Loaded> {
    opened(models, path, read_by(Checkpoint::load_frozen, models, path, base)?)
}

/// A run of a checkpoint that is read already; errors call it `path`.
///
/// # Errors
/// [`RunError::Data`] when this program has not the attention or the tokenizer.
pub fn opened(models: &Models, path: &Path, checkpoint: Checkpoint) -> Result<Loaded> {
    let spec = &checkpoint.meta.attention;
    let refused = |why| RunError::Data(message!("checkpoint '{}': {}", path.display(), why));
    let attention = models.from_spec(spec).map_err(|_| {
        let more = more_than_offered(models, &checkpoint.meta.config).is_some();
        let heads = counted!(spec.n_heads, "head");
        let heads = match spec.head_mask.is_empty() {
            true => heads,
            false => message!("{}, some switched off", heads),
        };
        let kind = spec.name.escape_default().to_string();
        refused(open_with(
            message!("{} attention with {}, which {} does not have", kind, heads, models.name),
            models.other_for(spec, more),
        ))
    })?;
    if let Some(more) = more_than_offered(models, &checkpoint.meta.config) {
        return Err(refused(open_with(more, models.other_for(spec, true))));
    }
    let tokenizer = tokenizers::from_spec(&checkpoint.meta.tokenizer).map_err(|e| match e {
        e @ Error::Memory { .. } => e.into(),
        other => refused(with_causes(&other)),
    })?;
    let tokenizer = tokenizers::fit(tokenizer, checkpoint.meta.config.vocab_size)
        .map_err(|e| refused(with_causes(&e)))?;
    let has_optimizer = checkpoint.has_optimizer();
    Ok(Loaded { run: checkpoint.into_trainer(attention)?, tokenizer, has_optimizer })
}

/// A refusal, and who opens it.
fn open_with(why: Message, other: Option<&str>) -> Message {
    match other {
        Some(other) => message!("{}; open it with {}", why, other),
        None => why,
    }
}

/// What a model is beyond those that the program makes, in words; nothing when it is one of them.
pub fn more_than_offered(models: &Models, config: &Config) -> Option<Message> {
    let (baseline, recipe) = (Config::new(0, 0, 0, 0), Recipe::new([0, 0], 0, 0.0));
    let is_more = |flag: &&Setting| {
        !models.offers(flag.name) && flag.value(config, &recipe) != flag.value(&baseline, &recipe)
    };
    let flag = FURTHER.iter().find(is_more)?;
    let (name, value) = (flag.name.replace('_', "-"), flag.value(config, &recipe)?);
    Some(message!("a model with {} {}, which {} does not have", name, value, models.name))
}

/// What to do about a file that is damaged or not whole: the run may have saved other states.
fn with_way_out(e: Error, path: &Path) -> RunError {
    use CheckpointError as Why;
    match &e {
        Error::Checkpoint {
            source:
                Why::TooShort { .. }
                | Why::Length { .. }
                | Why::Padding { .. }
                | Why::HeaderChecksum
                | Why::HeaderEncoding(_)
                | Why::HeaderRest { .. }
                | Why::TensorChecksum { .. }
                | Why::FileChecksum
                | Why::TokenizerHash,
            ..
        } => {}
        Error::Checkpoint { source: Why::NotACheckpoint, .. } => {
            return foreign(path, &[]).unwrap_or_else(|| e.into());
        }
        Error::Checkpoint { source: Why::Base { .. }, .. } => {
            return RunError::hint(e, message!("name their file with {base}"));
        }
        _ => return e.into(),
    }
    if let Some(other) = foreign(path, &[Look::Checkpoint]) {
        return other;
    }
    let others = paths(&other_states(path));
    let hint = match others.is_empty() {
        true => message!("it is damaged or not whole: load another copy of it"),
        false => message!("it is damaged or not whole: the run has also saved {}", others),
    };
    RunError::hint(e, hint)
}

/// The other states in the folder of one of a run's.
fn other_states(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| folder.ends_with("ckpt"));
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
    let names = entries.into_iter().flatten().flatten().filter_map(name);
    let is_state = |name: &String| {
        (matches!(&**name, "last" | "best") || name.starts_with("step-"))
            && path.file_name().is_none_or(|own| own != &**name)
    };
    let mut found: Vec<_> = names.filter(is_state).map(|name| path.with_file_name(name)).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::models::BASELINE;
    use crate::settings::ALL_OPTIONS;
    use llm_core::TinyGPT;
    use llm_core::checkpoint::{TokenizerSpec, save};
    use llm_core::model::{Mlp, Norm, Positions};

    /// A model beyond the baseline is named by what it is, and opened by the program that offers
    /// it.
    #[test]
    fn a_model_of_another_program_is_refused() {
        let everything = Models { options: ALL_OPTIONS, ..BASELINE };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let baseline = Config::new(256, 8, 8, 1);
        for (config, what) in [
            (Config { norm: Norm::Rms, ..baseline.clone() }, "norm rms"),
            (Config { mlp: Mlp::SwiGlu, ..baseline.clone() }, "mlp swiglu"),
            (Config { mlp_bias: false, ..baseline.clone() }, "mlp-bias false"),
            (Config { positions: Positions::None, ..baseline.clone() }, "positions none"),
        ] {
            let model = TinyGPT::new(config.clone(), 1).unwrap();
            let trainer = Trainer::new(model, Recipe::new([1, 8], 1, 1e-3)).unwrap();
            save(&path, &trainer, &TokenizerSpec::bytes(), true).unwrap();
            let refused = load_on(&BASELINE, &path, None).unwrap_err();
            assert_eq!(refused.kind(), Kind::BadData);
            let why = format!("': a model with {what}, which train-gpt does not have");
            assert!(refused.to_string().ends_with(&why), "{}", refused);
            assert_eq!(*load_on(&everything, &path, None).unwrap().run.model.config(), config);
        }
        let model = TinyGPT::new(baseline, 1).unwrap();
        let trainer = Trainer::new(model, Recipe::new([1, 8], 1, 1e-3)).unwrap();
        save(&path, &trainer, &TokenizerSpec::bytes(), true).unwrap();
        assert!(load_on(&BASELINE, &path, None).is_ok());
    }
}
