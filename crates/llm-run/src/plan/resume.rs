//! A run that goes on: what the checkpoint says, and the flags that change it.

use super::adapter;
use super::checks::{named_by_option, require, steps_of, training_memory, unfit, without_a_course};
use super::data;
use super::files::TextFiles;
use super::loaded::{Loaded, load_frozen, load_on};
use super::rewarded;
use super::run::{Plan, held};
use crate::defaults::{Start, TextDefaults};
use crate::device::Device;
use crate::error::{Result, RunError, option, usage};
use crate::models::{Models, own_numbers};
use crate::note::Note;
use crate::numbers::typed;
use crate::options::Options;
use crate::settings::{self, ATTENTION, AttentionRow, Given, Initial, OnLoad, Setting};
use crate::tokenizers::Choice;
use llm_core::base::Message;
use llm_core::optim::{AdamW, ScheduleKind};
use llm_core::recipe::{DataSource, Recipe};
use llm_core::settings::{MODEL, RECIPE, Row, Settings, Value};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{AttentionSpec, Config, message};
use std::fmt::Display;
use std::path::Path;

/// A run that goes on.
pub(super) fn plan(models: &Models, options: &Options, path: &Path) -> Result<Plan> {
    let read = if options.lora.is_some() { load_frozen } else { load_on };
    taken_up(models, options, read(models, path, options.base.as_deref())?, path)
}

/// [`going_on`], where [`Options::lora`] is asked for as a new run, in which an adapter learns beside what was loaded.
///
/// # Errors
/// As [`Plan::new`] with [`Options::load`].
pub fn taken_up(models: &Models, options: &Options, loaded: Loaded, path: &Path) -> Result<Plan> {
    let is_adapter = loaded.run.model.adapter().is_some();
    rewarded::check_loaded(options, &loaded.run)?;
    if is_adapter && options.device != Device::Cpu {
        return usage(message!("an adapter learns on the processor: leave {device} out"));
    }
    let rank = match options.lora {
        Some(rank) if is_adapter => {
            adapter::check_rank(&loaded.run.model, rank, path)?;
            None
        }
        asked => asked,
    };
    let rewards = rewarded::begins(options, &loaded.run);
    let loaded = match rewards {
        true => rewarded::begun(models, options, loaded, rank)?,
        false => loaded,
    };
    let begins = rewards || rank.is_some();
    let mut options = options.clone();
    if begins && options.epochs.is_none() && !options.given.contains_key("steps") {
        options.epochs = match rewards {
            true => rewarded::epochs(&loaded.run.recipe),
            false => Some(1.0),
        };
    }
    let loaded = match rank {
        Some(rank) => adapter::begun(models, &options, loaded, (rank, rewards), path)?,
        None => loaded,
    };
    let plan = going_on(models, &options, loaded, path)?;
    Ok(Plan { begins, ..plan })
}

/// A run that was loaded, or made otherwise, goes on; errors call it `path`.
///
/// # Errors
/// As [`Plan::new`] with [`Options::load`].
pub fn going_on(models: &Models, options: &Options, loaded: Loaded, path: &Path) -> Result<Plan> {
    let (given, has_optimizer) = (&options.given, loaded.has_optimizer);
    check_given(options, &loaded, path)?;
    check_own(models, options, &loaded.run.model.attention().spec(), path)?;
    let overridden = overridden(options, &loaded.run);
    let (config, mut recipe, notes) = overridden.map_err(named_by_option)?;
    let own = settings::set_own(&mut recipe, &options.optimizer_set, models.optimizers);
    own.map_err(named_by_option)?;
    recipe.check_with(models.optimizers).map_err(named_by_option)?;
    adapter::check_optimizer(&loaded.run.model, &recipe)?;
    rewarded::check_recipe(given, &recipe, config.dropout)?;
    let text = TextDefaults::choose(options.preset);
    let mut plan = Plan { loaded: Some(path.into()), notes, text, ..loaded.into() };
    plan.steps = recipe.total_steps.saturating_sub(plan.trainer.step);
    let learns = plan.steps > 0 || options.epochs.is_some();
    adopt(models, &mut plan.trainer, config.dropout, recipe)?;
    plan.notes.extend(notes_on_state(options, &plan, has_optimizer));
    plan.memory = checked_memory(models, options, &plan.trainer, learns, &[])?;
    let before = plan.trainer.recipe.data.clone();
    let is_new = adapter::is_new(&plan.trainer);
    if learns || options.reads || !options.data.is_empty() {
        read_data(models, options, path, &mut plan)?;
    }
    if learns {
        plan.ground.start = rewarded::start(models, options, &plan.trainer, path)?;
        let own = plan.ground.own_start(&plan.trainer.model);
        plan.memory += own.map_or(0, |start| 4 * start.trained_count());
    }
    let recipe = &plan.trainer.recipe;
    let other_text = before != DataSource::NONE && before != recipe.data;
    if learns && !options.habits.remembered.is_empty() {
        plan.notes.push(Note::Habits(options.habits.remembered.clone()));
    }
    if let (Some(epochs), Some(data)) = (options.epochs, &plan.data) {
        plan.steps = steps_of(epochs, data.tokens_of_epoch(recipe.seq_len), recipe)?;
        plan.trainer.recipe.total_steps = plan.trainer.step.saturating_add(plan.steps);
        plan.trainer.recipe.check_with(models.optimizers).map_err(named_by_option)?;
    }
    let data = plan.data.as_ref().filter(|_| learns);
    plan.notes.extend(data.and_then(|data| unfit(data, &plan.trainer.recipe)));
    if is_new {
        adapter::course(given, &mut plan.trainer.recipe);
        let adapts = plan.trainer.model.adapter().is_some();
        let frozen = adapts.then(|| adapter::frozen_end(&plan.trainer.recipe, &plan.tokenizer));
        plan.notes.extend(frozen.flatten());
    } else
    // What was planned goes on as it was planned, to the byte.
    if given.contains_key("steps") || options.epochs.is_some() {
        plan.notes.extend(new_course(given, other_text, &mut plan.trainer)?);
    }
    plan.sample_seed = settings::whole(given, "seed").unwrap_or(plan.trainer.recipe.seed);
    Ok(plan)
}

/// Refuses options that contradict what the run is.
fn check_given(options: &Options, loaded: &Loaded, path: &Path) -> Result<()> {
    let Loaded { run, tokenizer, has_optimizer } = loaded;
    let attention = run.model.attention().spec();
    check_shape(options, run, &attention, tokenizer.as_ref(), path)?;
    if let (Some(_), Some(of)) = (&run.recipe.val_data, options.given.get("val_frac")) {
        return usage(message!("{val_frac} {}: this run has its own validation text ({val})", of));
    }
    check_share(options, &run.recipe)?;
    check_optimizer(&options.given, &run.recipe, *has_optimizer)
}

/// Gives the run its settings from now on. The optimizer keeps its state while it is the same one.
fn adopt(models: &Models, trainer: &mut Trainer, dropout: f32, recipe: Recipe) -> Result<()> {
    trainer.model.set_dropout(dropout).map_err(named_by_option)?;
    let mut optimizer = recipe.make_optimizer(models.optimizers)?;
    if recipe.optimizer == trainer.recipe.optimizer {
        optimizer.restore(std::mem::take(trainer.optimizer.state_mut()));
    }
    trainer.recipe = Recipe { optimizer_settings: optimizer.settings(), ..recipe };
    trainer.optimizer = optimizer;
    Ok(())
}

/// The notes on an optimizer without state, and on a run with nothing to do.
fn notes_on_state(options: &Options, plan: &Plan, has_optimizer: bool) -> Vec<Note> {
    let Plan { trainer, steps, .. } = plan;
    let mut notes = Vec::new();
    if *steps > 0 && !has_optimizer && trainer.step > 0 {
        let name = trainer.optimizer.name();
        let name = if name == AdamW::NAME { "AdamW" } else { name };
        notes.push(Note::NoOptimizerState { optimizer: name.into() });
    }
    let asked = options.given.contains_key("steps") || options.epochs.is_some() || options.writes;
    if *steps == 0 && !asked && trainer.recipe.data == DataSource::NONE {
        notes.push(Note::Imported);
    } else if *steps == 0 && !asked && trainer.step > 0 {
        notes.push(Note::AllDone { steps: trainer.step });
    }
    notes
}

/// Estimated bytes of the run, once there is memory for what is not loaded yet.
fn checked_memory(
    models: &Models,
    options: &Options,
    run: &Trainer,
    learns: bool,
    lengths: &[usize],
) -> Result<u64> {
    let Trainer { model, recipe, .. } = run;
    let (config, attention) = (model.config(), model.attention().as_ref());
    let memory = match learns {
        true => {
            let (of, optimizers) = ((config, attention), models.optimizers);
            training_memory(of, recipe, optimizers, options, Some(model), lengths)?
        }
        false => model.inference_memory(1, config.seq_len),
    };
    require(memory.saturating_sub(held(run))).map_err(|e| match e {
        // The model is what it is.
        RunError::Memory(e, _) => RunError::Memory(e, message!("{batch} or {seq}")),
        other => other,
    })?;
    Ok(memory)
}

/// Reads the data of the run, with notes on what was found.
fn read_data(models: &Models, options: &Options, path: &Path, plan: &mut Plan) -> Result<()> {
    let learns = plan.steps > 0 || options.epochs.is_some();
    let Plan { trainer, tokenizer, .. } = plan;
    let is_new = adapter::is_new(trainer);
    let (context, recipe) = (trainer.model.config().seq_len, &mut trainer.recipe);
    let seq_len = recipe.seq_len;
    let files = match is_new {
        true => TextFiles::typed(options),
        false => TextFiles::of_run(options, path),
    };
    let files = if rewarded::has_own_questions(recipe) { TextFiles::default() } else { files };
    let read = data::resumed(options, &files, recipe, tokenizer, learns, path, context)?;
    let (data, ground) = read;
    (plan.data, plan.ground) = (Some(data), ground);
    if recipe.seq_len != seq_len {
        let [new, old] = [recipe.seq_len, seq_len].map(Value::from);
        plan.notes.push(Note::Replaces { option: "seq", new, old });
    }
    if learns {
        let lengths = match (&plan.ground.questions, &plan.ground.pairs) {
            (Some(of), _) => vec![of.longest + of.most],
            (_, Some(of)) => vec![of.longest()],
            _ => plan.data.as_ref().map_or_else(Vec::new, |data| data.train.row_lengths()),
        };
        plan.memory = checked_memory(models, options, trainer, true, &lengths)?;
    }
    if files.remembered {
        plan.notes.push(Note::OwnText { files: files.data.clone() });
    }
    plan.files = files;
    Ok(())
}

/// Share of its peak rate at which a finished run goes on: enough to learn, not enough to forget.
const GOES_ON_AT: f32 = 0.1;
/// Share of its peak rate at which a run goes on with other text; docs/fine_tuning.md has the measurement.
const LEARNS_OTHER_AT: f32 = 0.3;

/// More steps for a run at hand, as where it is loaded and asked for them, with a rate perhaps; what there
/// is to say.
///
/// # Errors
/// [`RunError::Usage`] for more than a run can have; it is then as before.
pub fn more_steps(
    models: &Models,
    trainer: &mut Trainer,
    steps: u64,
    lr: Option<f32>,
) -> Result<Option<Note>> {
    let total_steps = trainer.step.saturating_add(steps);
    let mut recipe = Recipe { total_steps, ..trainer.recipe.clone() };
    if let Some(lr) = lr {
        let of = &mut recipe.schedule;
        // A course that has ended would stay at its end, whatever its peak.
        of.min_lr = if of.is_over(trainer.step) { 0.0 } else { of.min_lr.min(lr) };
        of.lr = lr;
    }
    recipe.check_with(models.optimizers).map_err(named_by_option)?;
    trainer.recipe = recipe;
    let given: Given = lr.map(|lr| ("lr", Value::Float(lr))).into_iter().collect();
    new_course(&given, false, trainer)
}

/// Where the rate has come down to 0 more steps would teach nothing, and at the end of its course too little
/// of other text: a new course then leads from the rate that was given, or a part of the old peak, to 0 at the
/// last of the new steps.
///
/// # Errors
/// A usage error where an end was given that is past already.
fn new_course(given: &Given, other_text: bool, trainer: &mut Trainer) -> Result<Option<Note>> {
    let (step, recipe) = (trainer.step, &mut trainer.recipe);
    let schedule = &recipe.schedule;
    let chosen =
        ["lr", "schedule", "min_lr", "decay_steps"].iter().any(|of| given.contains_key(*of));
    let floor = schedule.is_over(step) && schedule.min_lr < schedule.lr;
    let too_low = schedule.at(step) == 0.0 || (other_text && floor && !chosen);
    if recipe.total_steps <= step || !too_low {
        return Ok(None);
    }
    if given.contains_key("decay_steps") {
        return usage(message!(
            "{decay_steps} {}: the run is at step {}, so the rate would stay at 0; leave it out, \
             or give a later step",
            recipe.schedule.decay_steps,
            step
        ));
    }
    let schedule = &mut recipe.schedule;
    if !given.contains_key("lr") {
        schedule.lr *= if other_text { LEARNS_OTHER_AT } else { GOES_ON_AT };
    }
    // The peak comes right after the warm-up, which is over.
    let before = std::mem::replace(&mut schedule.min_lr, 0.0);
    (schedule.warmup_steps, schedule.decay_steps) = (step, recipe.total_steps);
    Ok(Some(Note::NewCourse { before, rate: schedule.lr, end: recipe.total_steps }))
}

/// Refuses another value than that of the file.
fn differs(path: &Path, what: Message, in_file: &dyn Display, given: &dyn Display) -> Result<()> {
    Err(RunError::Data(message!(
        "checkpoint '{}': {} {} in file, {} given; leave it out, or \
         train a new model",
        path.display(),
        what,
        in_file.to_string(),
        given.to_string()
    )))
}

/// What a file decided once and for all: flags may repeat it, not change it.
fn check_shape(
    options: &Options,
    run: &Trainer,
    attention: &AttentionSpec,
    tokenizer: &dyn Tokenizer,
    path: &Path,
) -> Result<()> {
    let (config, given) = (run.model.config(), &options.given);
    let differs = |what: Message, in_file: &dyn Display, given: &dyn Display| {
        differs(path, what, in_file, given)
    };
    let choice = Choice::of(&options.tokenizer)?;
    if let Some((in_file, given)) = choice.map_or(Ok(None), |c| c.differs(tokenizer))? {
        return differs(message!("tokenizer"), &in_file, &given);
    }
    for row in MODEL {
        let Some(wanted) = fixed(options, row) else { continue };
        let in_file = (row.get)(config);
        if wanted != in_file {
            let name = settings::of_key(row.key).map_or(row.field, |flag| flag.name);
            return differs(named(name), &said(&in_file), &said(&wanted));
        }
    }
    let of_arch = options.arch.map(|arch| arch.attention(attention.n_heads, config.d_model));
    for AttentionRow { setting: flag, get, .. } in &ATTENTION {
        let wanted = given.get(flag.name).cloned().or_else(|| of_arch.as_ref().and_then(get));
        let in_file = get(attention).or_else(|| left_out(flag, attention, config));
        match (wanted, in_file) {
            (Some(wanted), Some(in_file)) if wanted != in_file => {
                return differs(named(flag.name), &said(&in_file), &said(&wanted));
            }
            (Some(wanted), None) => return differs(named(flag.name), &"none", &said(&wanted)),
            _ => {}
        }
    }
    if let Some(name) = options.attention.as_ref().filter(|name| **name != attention.name) {
        return differs(named("attention"), &attention.name, name);
    }
    match settings::whole(given, "seq") {
        Some(longer) if longer > config.seq_len as u64 => {
            differs(message!("a context ({seq}) of"), &config.seq_len, &longer)
        }
        _ => Ok(()),
    }
}

/// The attention's own numbers may be repeated, too.
fn check_own(
    models: &Models,
    options: &Options,
    attention: &AttentionSpec,
    path: &Path,
) -> Result<()> {
    let known = models.kind(&attention.name).map_or(&[][..], |kind| kind.settings);
    for text in &options.attention_set {
        let mut wanted = attention.other.clone();
        let whose = &attention.name;
        let own = [text.clone()];
        own_numbers("attention_set", whose, known, &own, &mut wanted).map_err(named_by_option)?;
        if wanted != attention.other {
            let key = text.split('=').next().unwrap_or_default();
            let in_file =
                attention.other.get(key).map_or(String::new(), |value| format!("{key}={value}"));
            return differs(path, named("attention_set"), &in_file, text);
        }
    }
    Ok(())
}

/// A setting by its name, which each front end spells.
fn named(setting: &'static str) -> Message {
    message!("{}", option(setting))
}

/// What an attention has where nothing else is said.
fn left_out(flag: &Setting, attention: &AttentionSpec, config: &Config) -> Option<Value> {
    match flag.name {
        "kv_heads" => Some(attention.kv_heads().into()),
        "head_dim" => Some(attention.head_dim(config.d_model).into()),
        _ => None,
    }
}

/// What the flags want a setting of the weights to be. `--arch` stands for the options but for
/// how weights started, which no longer matters.
fn fixed(options: &Options, row: &Row<Config>) -> Option<Value> {
    let is_fixed = |flag: &&Setting| flag.key == row.key && flag.on_load == OnLoad::Fixed;
    let flag = settings::of_key(row.key).filter(is_fixed)?;
    let is_option = matches!(flag.initial, Initial::Core) && flag.name != "init";
    let arch = options.arch.filter(|_| is_option);
    let of_arch = arch.map(|_| (row.get)(&options.arch_config(1)));
    options.given.get(flag.name).cloned().or(of_arch)
}

/// More of the text set apart than before: training data would be called unseen.
fn check_share(options: &Options, recipe: &Recipe) -> Result<()> {
    let (before, allowed) = (recipe.val_frac, options.allow_data_change == Some(true));
    match options.given.get("val_frac") {
        Some(Value::Double(share))
            if *share > before && recipe.data != DataSource::NONE && !allowed =>
        {
            usage(message!(
                "{val_frac} {}: the run set apart {}, so it has learned some of what would be \
                 called unseen; leave it out, or add {allow_data_change}",
                share,
                before
            ))
        }
        _ => Ok(()),
    }
}

/// What one optimizer remembers says nothing to another.
fn check_optimizer(given: &Given, recipe: &Recipe, has_state: bool) -> Result<()> {
    match given.get("optimizer") {
        Some(Value::Text(name)) if has_state && *name != recipe.optimizer => usage(message!(
            "{optimizer} {}: the file holds the state of {}; leave it out, or load \
                 one that was saved with {save_opt} 0",
            name,
            recipe.optimizer
        )),
        _ => Ok(()),
    }
}

type Overridden = (Config, Recipe, Vec<Note>);

/// The stored settings with the flags that differ, and a note on each.
fn overridden(options: &Options, run: &Trainer) -> llm_core::Result<Overridden> {
    let given = &options.given;
    let (mut config, mut recipe) = (run.model.config().clone(), run.recipe.clone());
    let mut notes = Vec::new();
    // A preset with --load stands for the flags it would set.
    let preset = options.preset.map(|preset| Start::choose(Some(preset), false));
    let mut replaced = |flag: &Setting, old: Value| {
        let preset = preset.filter(|_| !["val_frac", "seq"].contains(&flag.name));
        let of_preset = preset.and_then(|start| flag.initial(start));
        let new = given.get(flag.name).cloned().or(of_preset);
        let new = new.filter(|new| *new != old && flag.on_load == OnLoad::Replaces)?;
        notes.push(Note::Replaces { option: flag.name, new: new.clone(), old });
        Some(new)
    };
    if let Some(steps) = settings::whole(given, "steps") {
        recipe.total_steps = run.step.saturating_add(steps);
    }
    settings::fill(RECIPE, &mut recipe, |flag, row, recipe| {
        if (flag.applies)(recipe) { replaced(flag, (row.get)(recipe)) } else { None }
    })?;
    settings::fill(MODEL, &mut config, |flag, row, config| {
        if flag.key == row.key { replaced(flag, (row.get)(config)) } else { None }
    })?;

    if recipe.optimizer != run.recipe.optimizer {
        recipe.optimizer_settings = Settings::default(); // they were the other one's
    }
    let kind = recipe.schedule.kind;
    if kind == ScheduleKind::Constant || kind != run.recipe.schedule.kind {
        // The course begins anew, the warm-up does not.
        let those = |flag: &Setting| ["min_lr", "decay_steps"].contains(&flag.name);
        settings::follow(&mut recipe, given, those)?;
    } else if !given.contains_key("min_lr") {
        recipe.schedule.min_lr = recipe.schedule.min_lr.min(recipe.schedule.lr);
    }
    notes.extend(without_a_course(given, &recipe));
    let schedule = &recipe.schedule;
    if given.contains_key("lr") && schedule.is_over(run.step) && schedule.min_lr > 0.0 {
        let (end, rate) = (schedule.decay_steps, schedule.min_lr);
        let is_down = rate < run.recipe.schedule.min_lr;
        let without = Note::RateWithoutEffect { end, rate };
        notes.push(if is_down { Note::RateTakenDown { end, rate } } else { without });
    }
    Ok((config, recipe, notes))
}

/// A value in a note, as it would be typed.
fn said(value: &Value) -> String {
    match value {
        Value::Float(x) => typed(*x),
        Value::Bool(yes) => u8::from(*yes).to_string(),
        other => other.to_string(),
    }
}
