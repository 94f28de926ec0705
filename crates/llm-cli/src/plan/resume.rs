//! A run that goes on: what the checkpoint says, and the flags that change it.

use super::checks::{named_by_flag, require, steps_of};
use super::data;
use super::loaded::{Loaded, load};
use super::run::Plan;
use crate::args::TrainArgs;
use crate::defaults::{Defaults, Preset, TextDefaults};
use crate::error::{CliError, Result};
use crate::program::Program;
use crate::tokenizers::Choice;
use llm_core::optim::ScheduleKind;
use llm_core::recipe::{DataSource, Recipe};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use std::fmt::Display;
use std::path::Path;

/// A run that goes on.
pub(super) fn plan(program: &Program, args: &TrainArgs, path: &Path) -> Result<Plan> {
    let Loaded { run: loaded, tokenizer, has_optimizer } = load(program, path)?;
    let config = loaded.model.config().clone();
    check_shape(args, &loaded, tokenizer.as_ref(), path)?;
    if let (Some(_), Some(share)) = (&loaded.recipe.val_data, args.val_frac) {
        let why = format!("--val-frac {share}: this run is judged on text of its own (--val)");
        return Err(CliError::Usage(why));
    }
    let Overridden { recipe, mut notes } = override_recipe(args, &loaded);
    recipe.check().map_err(named_by_flag)?;
    let steps = recipe.total_steps.saturating_sub(loaded.step);
    let mut trainer = loaded;
    if let Some(dropout) = args.recipe.dropout.filter(|&p| p != config.dropout) {
        trainer.model.set_dropout(dropout).map_err(named_by_flag)?;
        notes.push(format!("--dropout {dropout} replaces the run's {}", config.dropout));
    }
    if recipe.hyperparameters != trainer.recipe.hyperparameters {
        trainer.optimizer.set_config(recipe.hyperparameters)?;
    }
    trainer.recipe = recipe;

    if steps > 0 && !has_optimizer && trainer.step > 0 {
        notes.push("the file has no optimizer state: AdamW starts anew".into());
    }
    let done = args.recipe.steps.is_none()
        && args.recipe.epochs.is_none()
        && args.sampling.prompt.text.is_none();
    if steps == 0 && done && trainer.recipe.data == DataSource::NONE {
        notes.push(
            "an imported model: --data FILE --steps N trains it, --prompt TEXT writes".into(),
        );
    } else if steps == 0 && done && trainer.step > 0 {
        let all = trainer.step;
        notes.push(format!(
            "all {all} steps are done; --steps N trains N more, --prompt TEXT writes"
        ));
    }
    let wants_data = steps > 0 || args.recipe.epochs.is_some() || args.probes.any();
    let memory = match steps {
        0 if args.recipe.epochs.is_none() => config.inference_memory(1, config.seq_len),
        _ => config.training_memory(trainer.recipe.batch_size, trainer.recipe.seq_len),
    };
    require(memory).map_err(|e| match e {
        // The model is what it is.
        CliError::Memory(e, _) => CliError::Memory(e, "--batch or --seq"),
        other => other,
    })?;
    let learns = steps > 0 || args.recipe.epochs.is_some();
    let read = match wants_data || !args.data.is_empty() {
        true => Some(data::resumed(args, &mut trainer.recipe, &tokenizer, learns, path)?),
        false => None,
    };
    let mut steps = steps;
    if let (Some(epochs), Some(data)) = (args.recipe.epochs, &read) {
        steps = steps_of(epochs, data.train.len(), &trainer.recipe)?;
        trainer.recipe.total_steps = trainer.step.saturating_add(steps);
        trainer.recipe.check().map_err(named_by_flag)?;
    }
    Ok(Plan {
        steps,
        data: read,
        tokenizer,
        loaded: Some(path.to_path_buf()),
        notes,
        memory,
        probes: None,
        sample_seed: args.recipe.seed.unwrap_or(trainer.recipe.seed),
        text: TextDefaults::choose(args.recipe.preset),
        trainer,
    })
}

/// What a file decided once and for all: flags may repeat it, not change it.
fn check_shape(
    args: &TrainArgs,
    run: &Trainer,
    tokenizer: &dyn Tokenizer,
    path: &Path,
) -> Result<()> {
    let config = run.model.config();
    let heads = run.model.attention().spec().n_heads;
    let differs = |what: &str, in_file: &dyn Display, given: &dyn Display| {
        Err(CliError::Data(format!(
            "checkpoint '{}': {what} {in_file} in file, {given} given; leave the flag out, or \
             train a new model",
            path.display()
        )))
    };
    let same = |what: &str, in_file: usize, given: Option<usize>| match given {
        Some(given) if given != in_file => differs(what, &in_file, &given),
        _ => Ok(()),
    };
    let choice = Choice::of(&args.tokenizer)?;
    if let Some((in_file, given)) = choice.map_or(Ok(None), |c| c.differs(tokenizer))? {
        return differs("tokenizer", &in_file, &given);
    }
    same("d_model", config.d_model, args.model.dmodel)?;
    same("layers", config.n_layers, args.model.layers)?;
    same("heads", heads, args.heads)?;
    // Options that were given must be those of the file; how weights started no longer matters.
    let given = &args.model;
    if given.arch.is_some() || [given.norm_affine, given.tied_head, given.head_bias] != [None; 3] {
        let wanted = given.options(config.clone());
        for (what, in_file, wanted, said) in [
            ("norm_affine", config.norm_affine, wanted.norm_affine, given.norm_affine),
            ("tied_head", config.tied_head, wanted.tied_head, given.tied_head),
            ("head_bias", config.head_bias, wanted.head_bias, given.head_bias),
        ] {
            let meant = given.arch.is_some() || said.is_some();
            same(what, usize::from(in_file), meant.then_some(usize::from(wanted)))?;
        }
    }
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
    put(n, "accum", &mut recipe.accum, given.accum);
    put(n, "seq", &mut recipe.seq_len, args.model.seq);
    put(n, "clip", &mut recipe.clip, or(given.clip, |p| p.clip));
    put(n, "val-frac", &mut recipe.val_frac, args.val_frac);
    let update = &mut recipe.hyperparameters;
    put(n, "weight-decay", &mut update.weight_decay, or(given.weight_decay, |p| p.weight_decay));
    put(n, "decay-all", &mut update.decay_all, given.decay_all.or(preset.map(|p| p.decay_all)));
    put(n, "beta1", &mut update.beta1, or(given.beta1, |p| p.beta1));
    put(n, "beta2", &mut update.beta2, or(given.beta2, |p| p.beta2));

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
        if given.lr.is_some() && run.step >= schedule.decay_steps {
            let (end, min) = (schedule.decay_steps, schedule.min_lr);
            notes.push(format!(
                "--lr has no effect: the rate's course ended at step {end} and stays at {min}; \
                 --schedule constant or a later --decay-steps changes that"
            ));
        }
    }
    Overridden { recipe, notes }
}
