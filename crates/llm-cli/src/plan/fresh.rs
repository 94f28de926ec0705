//! A new run: built-in values, preset, flags.

use super::checks::{named_by_flag, require, steps_of};
use super::run::Plan;
use crate::args::TrainArgs;
use crate::data::{Data, Input};
use crate::defaults::{Defaults, TextDefaults, VOCAB_SIZE};
use crate::error::{CliError, Result};
use crate::program::{Heads, Program};
use crate::tokenizers::{self, Choice, Made};
use llm_core::optim::{AdamW, Hyperparameters, Schedule, ScheduleKind};
use llm_core::recipe::Recipe;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::Trainer;
use llm_core::{Attention, Config, TinyGPT};
use llm_formats::tokenizers::reads_in_parts;
use std::sync::Arc;

/// A new run.
pub(super) fn plan(program: &Program, args: &TrainArgs) -> Result<Plan> {
    let Settings { config, attention, mut recipe, defaults, tokens } = settings(program, args)?;
    require(config.training_memory(recipe.batch_size, recipe.seq_len))?;
    // A file that is no tokenizer is found out before a large text is read.
    tokens.load()?;
    let in_parts = reads_in_parts(tokens.kind());
    let stories = args.data.is_empty();
    let input = if stories { Input::stories() } else { Input::files(&args.data, in_parts)? };
    let val = match args.val.is_empty() {
        true => None,
        false => Some(Input::files(&args.val, in_parts)?),
    };
    recipe.data = input.source();
    recipe.val_data = val.as_ref().map(Input::source);
    let (val_frac, quiet) = (recipe.val_frac, args.output.quiet());
    let Made { tokenizer, note } = tokenizers::make(&tokens, &input, val_frac, quiet)?;
    let config = Config { vocab_size: tokenizer.vocab_size(), ..config };
    check_config(&config)?;
    let memory = config.training_memory(recipe.batch_size, recipe.seq_len);
    require(memory)?;
    let data = Data::new(input, val, recipe.val_frac, recipe.seq_len, &tokenizer)?;
    plan_epochs(args, &defaults, data.train.len(), &mut recipe)?;
    let trainer = Trainer::new(TinyGPT::with_attention(config, attention, recipe.seed)?, recipe)?;
    Ok(Plan {
        steps: trainer.recipe.total_steps,
        data: Some(data),
        tokenizer,
        loaded: None,
        notes: note.into_iter().chain(ignored(args, &trainer.recipe)).collect(),
        memory,
        probes: None,
        sample_seed: trainer.recipe.seed,
        text: TextDefaults::choose(args.recipe.preset),
        trainer,
    })
}

/// What follows from the flags alone.
pub(crate) struct Settings {
    pub(super) config: Config,
    attention: Arc<dyn Attention>,
    pub(super) recipe: Recipe,
    pub(super) defaults: Defaults,
    tokens: Choice,
}

#[cfg(any(test, fuzzing))]
impl Settings {
    /// The plan that they would become.
    pub(crate) fn decided(&self) -> super::run::Decided<'_> {
        super::run::Decided {
            config: &self.config,
            recipe: &self.recipe,
            n_heads: self.attention.spec().n_heads,
            tokenizer: self.tokens.kind(),
            steps: self.recipe.total_steps,
            sample_seed: self.recipe.seed,
        }
    }
}

/// Decides everything that needs neither files nor memory.
pub(super) fn settings(program: &Program, args: &TrainArgs) -> Result<Settings> {
    let stories = args.data.is_empty();
    let defaults = Defaults::choose(args.recipe.preset, stories);
    if args.allow_data_change.is_some() {
        let why = "--allow-data-change is for going on with a run: it needs --load";
        return Err(CliError::Usage(why.into()));
    }
    if stories && !args.val.is_empty() {
        let why = "--val is for text of one's own: it needs --data";
        return Err(CliError::Usage(why.into()));
    }
    let (model, recipe) = (&args.model, &args.recipe);
    let tokens = Choice::of(&args.tokenizer)?.unwrap_or(Choice::Byte);
    // All but the vocabulary of a text is known, and refused, before the text is read.
    let config = Config::new(
        match &tokens {
            Choice::Byte => ByteTokenizer::VOCAB_SIZE,
            Choice::Learn { vocab_size } => vocab_size.unwrap_or(VOCAB_SIZE),
            Choice::Char | Choice::File(_) | Choice::Pair { .. } => 1,
        },
        model.seq.unwrap_or(defaults.seq_len),
        model.dmodel.unwrap_or(defaults.d_model),
        model.layers.unwrap_or(defaults.layers),
    );
    let dropout = recipe.dropout.unwrap_or(0.0);
    let config = Config { dropout, ..args.model.options(config) };
    check_config(&config)?;
    let heads = match program.heads {
        Heads::One { .. } => 1,
        Heads::Many { default } => {
            args.heads.unwrap_or_else(|| largest_divisor(config.d_model, default))
        }
    };
    let attention = (program.with_heads)(heads);
    attention.check(&config).map_err(named_by_flag)?;
    let steps = recipe.steps.unwrap_or(defaults.steps);
    let recipe = Recipe {
        batch_size: recipe.batch.unwrap_or(defaults.batch_size),
        accum: recipe.accum.unwrap_or(1),
        seq_len: config.seq_len,
        total_steps: steps,
        schedule: new_schedule(args, &defaults, steps),
        optimizer: AdamW::NAME.into(),
        hyperparameters: Hyperparameters {
            beta1: recipe.beta1.unwrap_or(defaults.beta1),
            beta2: recipe.beta2.unwrap_or(defaults.beta2),
            eps: defaults.eps,
            weight_decay: recipe.weight_decay.unwrap_or(defaults.weight_decay),
            decay_all: recipe.decay_all.unwrap_or(defaults.decay_all),
        },
        clip: recipe.clip.unwrap_or(defaults.clip),
        seed: recipe.seed.unwrap_or(1),
        val_frac: match args.val.is_empty() {
            true => args.val_frac.unwrap_or(defaults.val_frac),
            false => 0.0,
        },
        data: Input::stories().source(), // until the files are read
        val_data: None,
    };
    recipe.check().map_err(named_by_flag)?;
    Ok(Settings { config, attention, recipe, defaults, tokens })
}

/// Counts steps by `--epochs`, once the data's number of tokens is known.
pub(super) fn plan_epochs(
    args: &TrainArgs,
    defaults: &Defaults,
    tokens: usize,
    recipe: &mut Recipe,
) -> Result<()> {
    let Some(epochs) = args.recipe.epochs else { return Ok(()) };
    recipe.total_steps = steps_of(epochs, tokens, recipe)?;
    recipe.schedule = new_schedule(args, defaults, recipe.total_steps);
    recipe.check().map_err(named_by_flag)
}

/// The default number of heads, or the nearest below it that divides the width.
pub(crate) fn largest_divisor(d_model: usize, default: usize) -> usize {
    (1..=default).rev().find(|h| d_model.is_multiple_of(*h)).unwrap_or(1)
}

fn check_config(config: &Config) -> Result<()> {
    config.check().map_err(named_by_flag)?;
    if config.parameter_count() > Config::MAX_PARAMETERS {
        return require(config.training_memory(1, 1)).and(Err(CliError::Usage(format!(
            "{} parameters are more than this program takes; lower --dmodel or --layers",
            llm_core::base::thousands(config.parameter_count())
        ))));
    }
    Ok(())
}

/// The course of a new run's learning rate.
fn new_schedule(args: &TrainArgs, defaults: &Defaults, steps: u64) -> Schedule {
    let recipe = &args.recipe;
    let kind = recipe.schedule.map_or(defaults.schedule, ScheduleKind::from);
    let lr = recipe.lr.unwrap_or(defaults.lr);
    if kind == ScheduleKind::Constant {
        // Neither horizon nor minimum: k steps and n − k more are then n steps, bit for bit.
        let warmup_steps = recipe.warmup.unwrap_or(0);
        return Schedule { warmup_steps, ..Schedule::constant(lr) };
    }
    let horizon = recipe.decay_steps.unwrap_or(steps);
    Schedule {
        kind,
        lr,
        min_lr: recipe.min_lr.unwrap_or(lr / 10.0),
        warmup_steps: recipe.warmup.unwrap_or(horizon / 20),
        decay_steps: horizon,
    }
}

/// Settings that have no effect here, to be said.
fn ignored(args: &TrainArgs, recipe: &Recipe) -> Vec<String> {
    let mut notes = Vec::new();
    let schedule = &recipe.schedule;
    if schedule.warmup_steps >= recipe.total_steps && schedule.warmup_steps > 0 {
        let (warmup, steps) = (schedule.warmup_steps, recipe.total_steps);
        notes.push(format!(
            "--warmup {warmup} is no shorter than the run's {steps} steps: the peak is never \
             reached"
        ));
    }
    let shaped = args.recipe.min_lr.is_some() || args.recipe.decay_steps.is_some();
    if schedule.kind == ScheduleKind::Constant && shaped {
        notes.push("--min-lr and --decay-steps have no effect with a constant rate".into());
    }
    notes
}
