//! Flags, checkpoint and data made into a run. Everything that can be refused is refused here,
//! before a step is taken or a byte written.

use crate::args::{Preset, TrainArgs};
use crate::data::{Data, Input};
use crate::defaults::{Defaults, TextDefaults};
use crate::error::{CliError, Result};
use crate::program::{Heads, Program};
use crate::target::{Target, to_load};
use llm_core::checkpoint::Checkpoint;
use llm_core::optim::{AdamWConfig, Schedule, ScheduleKind};
use llm_core::recipe::{DataSource, Recipe};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::Trainer;
use llm_core::util::{bytes, memory};
use llm_core::{Config, TinyGPT};
use std::fmt::Display;
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
        match &args.load {
            None => Plan::fresh(program, args),
            Some(path) => Plan::resumed(program, args, &to_load(path)),
        }
    }

    /// A new run.
    fn fresh(program: &Program, args: &TrainArgs) -> Result<Plan> {
        let stories = args.data.is_empty();
        let defaults = Defaults::choose(args.recipe.preset, stories);
        if args.allow_data_change.is_some() {
            let why = "--allow-data-change is for going on with a run: it needs --load";
            return Err(CliError::Usage(why.into()));
        }
        let (model, recipe) = (&args.model, &args.recipe);
        let config = Config::new(
            ByteTokenizer::VOCAB_SIZE,
            model.seq.unwrap_or(defaults.seq_len),
            model.dmodel.unwrap_or(defaults.d_model),
            model.layers.unwrap_or(defaults.layers),
        );
        check_config(&config)?;
        let heads = match program.heads {
            Heads::One { .. } => 1,
            Heads::Many { default } => {
                args.model.heads.unwrap_or_else(|| largest_divisor(config.d_model, default))
            }
        };
        let attention = (program.with_heads)(heads);
        attention.check(&config).map_err(named_by_flag)?;
        let steps = recipe.steps.unwrap_or(defaults.steps);
        let mut recipe = Recipe {
            batch_size: recipe.batch.unwrap_or(defaults.batch_size),
            seq_len: config.seq_len,
            total_steps: steps,
            schedule: new_schedule(args, &defaults, steps),
            adamw: AdamWConfig {
                beta1: recipe.beta1.unwrap_or(defaults.beta1),
                beta2: recipe.beta2.unwrap_or(defaults.beta2),
                eps: defaults.eps,
                weight_decay: recipe.weight_decay.unwrap_or(defaults.weight_decay),
                decay_all: recipe.decay_all.unwrap_or(defaults.decay_all),
            },
            clip: recipe.clip.unwrap_or(defaults.clip),
            seed: recipe.seed.unwrap_or(1),
            val_frac: args.val_frac.unwrap_or(defaults.val_frac),
            data: Input::stories().source(), // until the files are read
        };
        recipe.check().map_err(named_by_flag)?;
        let memory = config.training_memory(recipe.batch_size, recipe.seq_len);
        require(memory)?;
        let input = if stories { Input::stories() } else { Input::files(&args.data)? };
        recipe.data = input.source();
        let data = Data::new(input, recipe.val_frac, recipe.seq_len)?;
        let trainer =
            Trainer::new(TinyGPT::with_attention(config, attention, recipe.seed)?, recipe)?;
        Ok(Plan {
            steps,
            data: Some(data),
            loaded: None,
            notes: Vec::new(),
            memory,
            sample_seed: trainer.recipe.seed,
            text: TextDefaults::choose(args.recipe.preset),
            trainer,
        })
    }

    /// A run that goes on.
    fn resumed(program: &Program, args: &TrainArgs, path: &Path) -> Result<Plan> {
        let loaded = load(program, path)?;
        let config = loaded.model.config().clone();
        check_shape(args, &loaded, path)?;
        let Overridden { recipe, notes } = override_recipe(args, &loaded);
        recipe.check().map_err(named_by_flag)?;
        let steps = recipe.total_steps.saturating_sub(loaded.step);
        let mut trainer = loaded;
        if recipe.adamw != trainer.recipe.adamw {
            trainer.optimizer.set_config(recipe.adamw)?;
        }
        trainer.recipe = recipe;

        let wants_data = steps > 0 || args.probes.sanity_next_from_data.is_some();
        let memory = match steps {
            0 => config.inference_memory(1, config.seq_len),
            _ => config.training_memory(trainer.recipe.batch_size, trainer.recipe.seq_len),
        };
        require(memory)?;
        let data = match wants_data || !args.data.is_empty() {
            true => Some(resumed_data(args, &mut trainer.recipe, path)?),
            false => None,
        };
        Ok(Plan {
            steps,
            data,
            loaded: Some(path.to_path_buf()),
            notes,
            memory,
            sample_seed: args.recipe.seed.unwrap_or(trainer.recipe.seed),
            text: TextDefaults::choose(args.recipe.preset),
            trainer,
        })
    }

    /// Chooses, tries and locks the output. `None`: nothing will be saved.
    ///
    /// # Errors
    /// [`CliError::Create`], [`CliError::Busy`].
    pub fn target(&self, args: &TrainArgs) -> Result<Option<Target>> {
        if args.no_save.unwrap_or(false) {
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

/// Reads a checkpoint into a run, with the attention it names.
///
/// # Errors
/// [`CliError::Core`] naming the file, also when this program has not the attention.
pub fn load(program: &Program, path: &Path) -> Result<Trainer> {
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
    Ok(checkpoint.into_trainer(attention)?)
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

/// The default number of heads, or the nearest below it that divides the width.
fn largest_divisor(d_model: usize, default: usize) -> usize {
    (1..=default).rev().find(|h| d_model.is_multiple_of(*h)).unwrap_or(1)
}

fn check_config(config: &Config) -> Result<()> {
    config.check().map_err(named_by_flag)?;
    if config.parameter_count() > Config::MAX_PARAMETERS {
        return require(config.training_memory(1, 1)).and(Err(CliError::Usage(format!(
            "{} parameters are more than this program takes; lower --dmodel or --layers",
            llm_core::util::thousands(config.parameter_count())
        ))));
    }
    Ok(())
}

fn require(needed: u64) -> Result<()> {
    memory::require(needed).map_err(|e| CliError::Memory(e, "--dmodel, --layers, --batch or --seq"))
}

/// Settings as the library names them, under the names of the flags.
fn named_by_flag(e: llm_core::Error) -> CliError {
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

/// What a file decided once and for all: flags may repeat it, not change it.
fn check_shape(args: &TrainArgs, run: &Trainer, path: &Path) -> Result<()> {
    let config = run.model.config();
    let heads = run.model.attention().spec().n_heads;
    let same = |what: &str, in_file: usize, given: Option<usize>| match given {
        Some(given) if given != in_file => Err(CliError::Data(format!(
            "checkpoint '{}': {what} {in_file} in file, {given} given; leave the flag out, or \
             train a new model",
            path.display()
        ))),
        _ => Ok(()),
    };
    same("d_model", config.d_model, args.model.dmodel)?;
    same("layers", config.n_layers, args.model.layers)?;
    same("heads", heads, args.model.heads)?;
    let longer = args.model.seq.filter(|&t| t > config.seq_len);
    same("a context (--seq) of", config.seq_len, longer)
}

struct Overridden {
    recipe: Recipe,
    notes: Vec<String>,
}

/// The stored recipe with the flags that differ, each noted.
fn override_recipe(args: &TrainArgs, run: &Trainer) -> Overridden {
    fn put<T: PartialEq + Display + Copy>(
        notes: &mut Vec<String>,
        flag: &str,
        slot: &mut T,
        given: Option<T>,
    ) {
        if let Some(value) = given.filter(|v| v != slot) {
            notes.push(format!("--{flag} {value} replaces the run's {slot}"));
            *slot = value;
        }
    }
    let (mut recipe, mut notes) = (run.recipe.clone(), Vec::new());
    let given = &args.recipe;
    // A preset beside --load stands for the flags it would set.
    let preset = given.preset.map(|_: Preset| Defaults::choose(given.preset, false));
    let or = |flag: Option<f32>, of: fn(&Defaults) -> f32| flag.or(preset.as_ref().map(of));
    let n = &mut notes;
    put(n, "batch", &mut recipe.batch_size, given.batch.or(preset.map(|p| p.batch_size)));
    put(n, "seq", &mut recipe.seq_len, args.model.seq);
    put(n, "clip", &mut recipe.clip, or(given.clip, |p| p.clip));
    put(n, "val-frac", &mut recipe.val_frac, args.val_frac);
    let adamw = &mut recipe.adamw;
    put(n, "weight-decay", &mut adamw.weight_decay, or(given.weight_decay, |p| p.weight_decay));
    put(n, "decay-all", &mut adamw.decay_all, given.decay_all.or(preset.map(|p| p.decay_all)));
    put(n, "beta1", &mut adamw.beta1, or(given.beta1, |p| p.beta1));
    put(n, "beta2", &mut adamw.beta2, or(given.beta2, |p| p.beta2));

    let schedule = &mut recipe.schedule;
    put(n, "lr", &mut schedule.lr, or(given.lr, |p| p.lr));
    put(n, "warmup", &mut schedule.warmup_steps, given.warmup);
    if let Some(steps) = given.steps {
        recipe.total_steps = run.step.saturating_add(steps);
    }
    let kind = given.schedule.map(ScheduleKind::from).or(preset.map(|p| p.schedule));
    if let Some(kind) = kind.filter(|k| *k != schedule.kind) {
        notes.push(format!("--schedule {kind:?} replaces the run's {:?}", schedule.kind));
        schedule.kind = kind;
        schedule.decay_steps = given.decay_steps.unwrap_or(recipe.total_steps);
        schedule.min_lr = given.min_lr.unwrap_or(schedule.lr / 10.0);
    }
    if schedule.kind == ScheduleKind::Constant {
        (schedule.decay_steps, schedule.min_lr) = (0, schedule.lr);
    } else {
        put(&mut notes, "decay-steps", &mut schedule.decay_steps, given.decay_steps);
        put(&mut notes, "min-lr", &mut schedule.min_lr, given.min_lr);
        if given.min_lr.is_none() {
            schedule.min_lr = schedule.min_lr.min(schedule.lr);
        }
    }
    Overridden { recipe, notes }
}

/// The data of a run that goes on: the same as before, or other data that was allowed.
fn resumed_data(args: &TrainArgs, recipe: &mut Recipe, path: &Path) -> Result<Data> {
    let input = match (&recipe.data, args.data.is_empty()) {
        (_, false) => Input::files(&args.data)?,
        (DataSource::Stories { seed, count, .. }, true) => {
            Input::Stories { seed: *seed, count: *count }
        }
        (DataSource::Files { len, .. }, true) => {
            return Err(CliError::Usage(format!(
                "checkpoint '{}' was trained on files ({}); give them again with --data",
                path.display(),
                bytes(*len)
            )));
        }
    };
    let source = input.source();
    if source != recipe.data {
        if !args.allow_data_change.unwrap_or(false) {
            let describe = |s: &DataSource| match s {
                DataSource::Stories { version, .. } => {
                    format!("built-in stories (grammar {version})")
                }
                DataSource::Files { len, blake3 } => {
                    format!(
                        "{len} bytes (BLAKE3 {:02x}{:02x}{:02x}..)",
                        blake3[0], blake3[1], blake3[2]
                    )
                }
            };
            return Err(CliError::Data(format!(
                "checkpoint '{}' was trained on {}, not on {}; give the same data, or add \
                 --allow-data-change",
                path.display(),
                describe(&recipe.data),
                describe(&source)
            )));
        }
        recipe.data = source;
    }
    Data::new(input, recipe.val_frac, recipe.seq_len)
}
