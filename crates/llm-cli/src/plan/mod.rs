//! Flags, checkpoint and data made into a run. Everything that can be refused is refused here,
//! before a step is taken or a byte written.

mod fresh;
mod resume;

use crate::args::TrainArgs;
use crate::data::Data;
use crate::defaults::TextDefaults;
use crate::error::{CliError, Result};
use crate::probes::Probes;
use crate::program::{Heads, Program};
use crate::target::{Target, to_load};
use llm_core::checkpoint::Checkpoint;
use llm_core::recipe::Recipe;
use llm_core::train::Trainer;
use llm_core::util::memory;
use std::path::{Path, PathBuf};

/// A run that may begin.
pub struct Plan {
    /// Weights, moments, settings, step.
    pub trainer: Trainer,
    /// Steps to do now.
    pub steps: u64,
    /// What is learnt; absent when nothing is, and no probe asks for it.
    pub data: Option<Data>,
    /// The loaded file.
    pub loaded: Option<PathBuf>,
    /// Settings that differ from the loaded run's, to be said.
    pub notes: Vec<String>,
    /// Estimated memory, in bytes.
    pub memory: u64,
    /// Checks after training.
    pub probes: Option<Probes>,
    /// Seed of generated text.
    pub sample_seed: u64,
    /// How text is written when nothing is said.
    pub text: TextDefaults,
}

impl Plan {
    /// Makes the plan.
    ///
    /// # Errors
    /// Usage, data, checkpoint or memory errors, each naming the flag or file.
    pub fn new(program: &Program, args: &TrainArgs) -> Result<Plan> {
        check_heads_flag(program, args.model.heads)?;
        let mut plan = match &args.load {
            None => fresh::plan(program, args)?,
            Some(path) => resume::plan(program, args, &to_load(path)?)?,
        };
        if let Some(data) = &plan.data {
            let most = plan.trainer.model.config().seq_len;
            let (len, seq) = (data.train.len(), plan.trainer.recipe.seq_len);
            plan.probes = Probes::new(&args.probes, len, seq, most, plan.sample_seed)?;
        }
        check_watches(args, &plan)?;
        Ok(plan)
    }

    /// Chooses, tries and locks the output. `None`: nothing will be saved.
    ///
    /// # Errors
    /// [`CliError::Create`], [`CliError::Busy`].
    pub fn target(&self, args: &TrainArgs) -> Result<Option<Target>> {
        if args.no_save.unwrap_or(false) || args.overfit.unwrap_or(false) {
            return Ok(None);
        }
        match (&args.save, &args.out) {
            (Some(file), _) => Target::file(file).map(Some),
            (None, Some(dir)) => Target::folder(dir, self.loaded.as_deref()).map(Some),
            (None, None) if self.steps > 0 => Target::next_run().map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Reads a checkpoint into a run, with the attention it names; and whether it held the optimizer.
///
/// # Errors
/// [`CliError::Core`] naming the file, also when this program has not the attention.
pub fn load(program: &Program, path: &Path) -> Result<(Trainer, bool)> {
    let checkpoint = Checkpoint::load(path)?;
    let spec = &checkpoint.meta.attention;
    let attention = (program.from_spec)(spec).map_err(|_| {
        let other = match program.heads {
            Heads::One { other } if spec.n_heads > 1 => format!("; open it with {other}"),
            _ => String::new(),
        };
        CliError::Data(format!(
            "checkpoint '{}': {} attention with {} heads, which {} does not have{other}",
            path.display(),
            spec.name.escape_default(),
            spec.n_heads,
            program.name
        ))
    })?;
    let has_optimizer = checkpoint.has_optimizer();
    Ok((checkpoint.into_trainer(attention)?, has_optimizer))
}

/// `--heads` where there is one.
fn check_heads_flag(program: &Program, heads: Option<usize>) -> Result<()> {
    match (program.heads, heads) {
        (Heads::One { other }, Some(h)) if h != 1 => Err(CliError::Usage(format!(
            "--heads {h}: {} has one attention head; for more use {other} --heads {h}",
            program.name
        ))),
        _ => Ok(()),
    }
}

/// Flags that need something to watch.
fn check_watches(args: &TrainArgs, plan: &Plan) -> Result<()> {
    let measured = plan.data.as_ref().is_none_or(|data| data.val.is_some());
    if args.recipe.patience.is_some() && !(measured && args.eval_every != Some(0)) {
        let why = "--patience needs validation data and an --eval-every above 0";
        return Err(CliError::Usage(why.into()));
    }
    match args.recipe.skip_spikes {
        Some(z) if !(z > 0.0 && z.is_finite()) => {
            Err(CliError::Usage(format!("--skip-spikes {z} is not a number above 0")))
        }
        _ => Ok(()),
    }
}

/// Steps for `epochs` passes over `tokens`.
fn steps_of(epochs: f64, tokens: usize, recipe: &Recipe) -> Result<u64> {
    if !(epochs > 0.0 && epochs.is_finite()) {
        return Err(CliError::Usage(format!("--epochs {epochs} is not a number above 0")));
    }
    let per_step = recipe.batch_size as f64 * f64::from(recipe.accum) * recipe.seq_len as f64;
    // The cast saturates; what is too many is refused with the other settings.
    Ok((epochs * tokens as f64 / per_step).ceil() as u64)
}

/// What the program takes besides the model: its code, the threads' stacks, the data's window.
const BASE_MEMORY: u64 = 48 << 20;

fn require(needed: u64) -> Result<()> {
    memory::require(needed.saturating_add(BASE_MEMORY))
        .map_err(|e| CliError::Memory(e, "--dmodel, --layers, --batch or --seq"))
}

/// Settings as the library names them, under the names of the flags.
pub(crate) fn named_by_flag(e: llm_core::Error) -> CliError {
    match e {
        llm_core::Error::Config { field, reason } => {
            let flag = match field {
                "d_model" => "dmodel".to_string(),
                "n_layers" => "layers".to_string(),
                "seq_len" => "seq".to_string(),
                other => other.replace('_', "-"),
            };
            CliError::Usage(format!("--{flag}: {reason}"))
        }
        other => other.into(),
    }
}
