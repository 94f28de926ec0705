//! A checkpoint made into a run.

use crate::error::{Result, RunError, foreign};
use crate::flags::{FURTHER, Flag};
use crate::messages::count;
use crate::program::Program;
use llm_core::checkpoint::{Checkpoint, CheckpointError};
use llm_core::message;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{Config, Error};
use llm_formats::first_look::Look;
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
}

/// Reads a checkpoint into a run, with the attention and the tokenizer it names.
///
/// # Errors
/// [`RunError::Core`] naming the file, [`RunError::Data`] when this program has not the attention
/// or the tokenizer.
pub fn load(program: &Program, path: &Path) -> Result<Loaded> {
    let checkpoint = Checkpoint::load(path).map_err(|e| with_way_out(e, path))?;
    let spec = &checkpoint.meta.attention;
    let attention = (program.from_spec)(spec).map_err(|_| {
        let more = more_than_offered(program, &checkpoint.meta.config).is_some();
        let other = other(program.other_for(spec, more));
        let off = if spec.head_mask.is_empty() { "" } else { ", some switched off" };
        RunError::Data(message!(
            "checkpoint '{}': {} attention with {}{}, which {} does not have{}",
            path.display(),
            spec.name.escape_default().to_string(),
            count(spec.n_heads, "head"),
            off,
            program.name,
            other
        ))
    })?;
    let refused =
        |why: String| RunError::Data(message!("checkpoint '{}': {}", path.display(), why));
    if let Some(more) = more_than_offered(program, &checkpoint.meta.config) {
        return Err(refused(more + &other(program.other_for(spec, true))));
    }
    let tokenizer = tokenizers::from_spec(&checkpoint.meta.tokenizer).map_err(|e| match e {
        e @ Error::Memory { .. } => e.into(),
        other => refused(other.to_string()),
    })?;
    let tokenizer = tokenizers::fit(tokenizer, checkpoint.meta.config.vocab_size)
        .map_err(|e| refused(e.to_string()))?;
    let has_optimizer = checkpoint.has_optimizer();
    Ok(Loaded { run: checkpoint.into_trainer(attention)?, tokenizer, has_optimizer })
}

/// Who opens it.
fn other(program: Option<&str>) -> String {
    program.map_or(String::new(), |other| format!("; open it with {other}"))
}

/// What a model is beyond those that the program makes, in words; nothing when it is one of them.
pub(crate) fn more_than_offered(program: &Program, config: &Config) -> Option<String> {
    let (baseline, recipe) = (Config::new(0, 0, 0, 0), Recipe::new(0, 0, 0, 0.0));
    let is_more = |flag: &&Flag| {
        !program.offers(flag.name) && flag.value(config, &recipe) != flag.value(&baseline, &recipe)
    };
    let flag = FURTHER.flags.iter().find(is_more)?;
    let (name, value) = (flag.name, flag.value(config, &recipe)?);
    Some(format!("a model with {name} {value}, which {} does not have", program.name))
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
        _ => return e.into(),
    }
    if let Some(other) = foreign(path, &[Look::Checkpoint]) {
        return other;
    }
    let others = other_states(path);
    match others.is_empty() {
        true => RunError::hint(e, "it is damaged or not whole: load another copy of it"),
        false => {
            let others = others.join(", ");
            RunError::hint(
                e,
                format!("it is damaged or not whole: the run has also saved {others}"),
            )
        }
    }
}

/// The other states that lie beside one of a run's.
fn other_states(path: &Path) -> Vec<String> {
    let folder = path.parent().filter(|folder| folder.ends_with("ckpt"));
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
    let names = entries.into_iter().flatten().flatten().filter_map(name);
    let is_state = |name: &String| {
        (matches!(&**name, "last" | "best") || name.starts_with("step-"))
            && path.file_name().is_none_or(|own| own != &**name)
    };
    let mut found: Vec<_> = names.filter(is_state).collect();
    found.sort();
    let shown = |name: String| format!("'{}'", path.with_file_name(name).display());
    found.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BASELINE, EVERYTHING};
    use llm_core::TinyGPT;
    use llm_core::checkpoint::{TokenizerSpec, save};
    use llm_core::model::{Mlp, Norm, Positions};

    /// A model beyond the baseline is named by what it is, and opened by who has it.
    #[test]
    fn a_model_of_another_program_is_refused() {
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
            let trainer = Trainer::new(model, Recipe::new(1, 8, 1, 1e-3)).unwrap();
            save(&path, &trainer, &TokenizerSpec::bytes(), true).unwrap();
            let refused = load(&BASELINE, &path).unwrap_err();
            assert_eq!(crate::error::code::of(&refused), crate::error::code::BAD_DATA);
            let why = message!("': a model with {}, which train-gpt does not have", what);
            assert!(
                crate::error::line(&refused).ends_with(&why.to_string()),
                "{}",
                crate::error::line(&refused)
            );
            assert_eq!(*load(&EVERYTHING, &path).unwrap().run.model.config(), config);
        }
        let model = TinyGPT::new(baseline, 1).unwrap();
        let trainer = Trainer::new(model, Recipe::new(1, 8, 1, 1e-3)).unwrap();
        save(&path, &trainer, &TokenizerSpec::bytes(), true).unwrap();
        assert!(load(&BASELINE, &path).is_ok());
    }
}
