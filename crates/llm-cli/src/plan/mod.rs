//! Flags, checkpoint and data made into a run. Everything that can be refused is refused here,
//! before a step is taken or a byte written.

mod data;
mod fresh;
mod resume;

#[cfg(any(test, fuzzing))]
pub(crate) use fresh::Settings;
pub(crate) use fresh::largest_divisor;

use crate::args::TrainArgs;
use crate::data::{Data, one_stdin};
use crate::defaults::TextDefaults;
use crate::error::{CliError, Result};
use crate::probes::Probes;
use crate::program::{Heads, Program};
use crate::target::{Target, to_load};
use crate::tokenizers;
use llm_core::Config;
use llm_core::checkpoint::Checkpoint;
use llm_core::recipe::Recipe;
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::util::memory;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that may begin.
pub struct Plan {
    /// Weights, moments, settings, step.
    pub trainer: Trainer,
    /// Steps to do now.
    pub steps: u64,
    /// What tokens mean.
    pub tokenizer: Arc<dyn Tokenizer>,
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

/// What a plan decided, as far as settings can say it.
#[derive(Debug, PartialEq)]
pub struct Decided<'a> {
    /// Sizes and options of the model.
    pub config: &'a Config,
    /// How it learns.
    pub recipe: &'a Recipe,
    /// H.
    pub n_heads: usize,
    /// The tokenizer's name.
    pub tokenizer: &'a str,
    /// Steps to do now.
    pub steps: u64,
    /// Seed of generated text.
    pub sample_seed: u64,
}

impl Plan {
    /// Makes the plan.
    ///
    /// # Errors
    /// Usage, data, checkpoint or memory errors, each naming the flag or file.
    pub fn new(program: &Program, args: &TrainArgs) -> Result<Plan> {
        check_heads_flag(program, args.heads)?;
        one_stdin(args.data.iter().chain(&args.val))?;
        let mut plan = match &args.load {
            None => fresh::plan(program, args)?,
            Some(path) => resume::plan(program, args, &to_load(path)?)?,
        };
        if let Some(data) = &plan.data {
            let most = plan.trainer.model.config().seq_len;
            let (len, seq) = (data.train.len(), plan.trainer.recipe.seq_len);
            let (probes, seed) = (&args.probes, plan.sample_seed);
            plan.probes = Probes::new(probes, len, seq, most, seed, &plan.tokenizer)?;
        }
        check_watches(args, plan.data.as_ref().is_none_or(|data| data.val.is_some()))?;
        Ok(plan)
    }

    /// What its settings say.
    pub fn decided(&self) -> Decided<'_> {
        Decided {
            config: self.trainer.model.config(),
            recipe: &self.trainer.recipe,
            n_heads: self.trainer.model.attention().spec().n_heads,
            tokenizer: self.tokenizer.name(),
            steps: self.steps,
            sample_seed: self.sample_seed,
        }
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

/// A checkpoint made into a run.
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
            "checkpoint '{}': {} attention with {} head{}{off}, which {} does not have{other}",
            path.display(),
            spec.name.escape_default(),
            spec.n_heads,
            if spec.n_heads == 1 { "" } else { "s" },
            program.name
        ))
    })?;
    let tokenizer = tokenizer_of(&checkpoint)
        .map_err(|why| CliError::Data(format!("checkpoint '{}': {why}", path.display())))?;
    let has_optimizer = checkpoint.has_optimizer();
    Ok(Loaded { run: checkpoint.into_trainer(attention)?, tokenizer, has_optimizer })
}

/// The tokenizer of a checkpoint, or why there is none that fits its model.
fn tokenizer_of(checkpoint: &Checkpoint) -> std::result::Result<Arc<dyn Tokenizer>, String> {
    let tokenizer = tokenizers::from_spec(&checkpoint.meta.tokenizer).map_err(|e| e.to_string())?;
    tokenizers::fit(tokenizer, checkpoint.meta.config.vocab_size)
}

/// What is decided about a new run before anything is read or made, as if there were data of 4000
/// tokens to learn and some to judge by, for the fuzz targets.
#[cfg(any(test, fuzzing))]
pub(crate) fn check_flags(program: &Program, args: &TrainArgs) -> Result<Settings> {
    const TOKENS: usize = 4000;
    check_heads_flag(program, args.heads)?;
    one_stdin(args.data.iter().chain(&args.val))?;
    let mut settings = fresh::settings(program, args)?;
    fresh::plan_epochs(args, &settings.defaults, TOKENS, &mut settings.recipe)?;
    let seq_len = settings.config.seq_len;
    let tokenizer: Arc<dyn Tokenizer> = Arc::new(llm_core::tokenizer::ByteTokenizer);
    Probes::new(&args.probes, TOKENS, seq_len, seq_len, 1, &tokenizer)?;
    check_watches(args, true)?;
    Ok(settings)
}

/// `--heads` where there is one.
pub(crate) fn check_heads_flag(program: &Program, heads: Option<usize>) -> Result<()> {
    match (program.heads, heads) {
        (Heads::One { other }, Some(h)) if h != 1 => Err(CliError::Usage(format!(
            "--heads {h}: {} has one attention head; for more use {other} --heads {h}",
            program.name
        ))),
        _ => Ok(()),
    }
}

/// Flags that need something to watch; `measured`: there may be validation data.
fn check_watches(args: &TrainArgs, measured: bool) -> Result<()> {
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
    let per_step = recipe.tokens_per_step() as f64;
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
