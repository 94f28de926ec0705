//! A run in which a model learns from rewards.

use super::checks::named_by_option;
use super::loaded::Loaded;
use crate::device::Device;
use crate::error::{Result, option, usage};
use crate::models::Models;
use crate::options::Options;
use crate::rewards::{Judge, SETTINGS, own_questions};
use crate::settings;
use llm_core::message;
use llm_core::optim::{AdamW, Schedule, ScheduleKind};
use llm_core::recipe::Recipe;
use llm_core::settings::{RECIPE, Value};
use llm_core::train::Trainer;
use llm_formats::imported::fine_tuning;

/// Steps, questions of a step and the peak of the rate, where they are not given: sums of two numbers of two digits
/// come from half to nearly all right.
const STEPS: u64 = 600;
const QUESTIONS: usize = 32;
const RATE: f32 = 6e-4;

/// The judge that is asked for.
fn asked(options: &Options) -> Option<&str> {
    match options.given.get("reward") {
        Some(Value::Text(judge)) => Some(judge).filter(|judge| !judge.is_empty()).map(|of| &**of),
        _ => None,
    }
}

/// Whether rewards are asked for.
pub(super) fn is_asked(options: &Options) -> bool {
    asked(options).is_some()
}

/// Whether the questions of a run are built in.
pub(super) fn has_own_questions(recipe: &Recipe) -> bool {
    own_questions(&recipe.reward).is_some()
}

/// Refuses what rewards cannot be learned with, whatever is loaded.
pub(super) fn check(options: &Options) -> Result<()> {
    let Some(judge) = asked(options) else {
        return if options.load.is_none() { check_about(options) } else { Ok(()) };
    };
    if options.load.is_none() {
        return usage(message!(
            "{reward} {} needs a model that answers: name it with {load}",
            judge
        ));
    }
    let own = own_questions(judge).is_some();
    let unfit = [
        ("time", options.time.is_some()),
        ("overfit", options.overfit),
        ("epochs", options.epochs.is_some()),
        ("val", !options.val.is_empty()),
        ("loss_on", options.given.contains_key("loss_on")),
        ("data", own && !options.data.is_empty()),
    ];
    match unfit.into_iter().find(|(_, given)| *given) {
        Some(("data", _)) => {
            usage(message!("{reward} {} has its own questions: leave {data} out", judge))
        }
        Some((name, _)) => usage(message!(
            "{} is for a run that learns from data: leave {reward} out",
            option(name)
        )),
        None => Ok(()),
    }
}

/// Refuses settings of rewards where there are none.
fn check_about(options: &Options) -> Result<()> {
    let [_, about @ ..] = SETTINGS;
    match about.into_iter().find(|name| options.given.contains_key(*name)) {
        Some(name) => usage(message!("{} is about rewards: it needs {reward}", option(name))),
        None => Ok(()),
    }
}

/// Refuses what cannot be done to a run that learns from rewards, or begins to.
pub(super) fn check_loaded(options: &Options, run: &Trainer) -> Result<()> {
    let judge = asked(options).unwrap_or(&run.recipe.reward);
    if judge.is_empty() {
        return check_about(options);
    }
    if options.device != Device::Cpu {
        return usage(message!("rewards are learned on the processor: leave {device} out"));
    }
    let no_folder = options.save.is_some() && options.no_save != Some(true);
    if no_folder && matches!(Judge::of(judge), Judge::Program(_)) {
        return usage(message!(
            "{reward}: what the program says is kept in the run's folder; name that with {out}, in place of {save}"
        ));
    }
    Ok(())
}

/// Whether another run begins with the rewards that are asked for.
pub(super) fn begins(options: &Options, run: &Trainer) -> bool {
    asked(options).is_some_and(|judge| judge != run.recipe.reward)
}

/// A run at its start, in which what was loaded learns from rewards.
pub(super) fn begun(models: &Models, options: &Options, loaded: Loaded) -> Result<Loaded> {
    let Loaded { run, tokenizer, .. } = loaded;
    let config = run.model.config();
    let mut recipe = Recipe {
        batch_size: QUESTIONS,
        seq_len: config.seq_len,
        total_steps: STEPS,
        optimizer: AdamW::NAME.into(),
        seed: run.recipe.seed,
        ..fine_tuning(config)
    };
    // Until the steps are counted.
    recipe.schedule =
        Schedule { kind: ScheduleKind::Linear, min_lr: 0.0, ..Schedule::constant(RATE) };
    recipe.schedule.decay_steps = STEPS;
    recipe.hyperparameters.weight_decay = 0.0;
    let given = &options.given;
    let fill =
        settings::fill(RECIPE, &mut recipe, |setting, _, _| given.get(setting.name).cloned());
    fill.map_err(named_by_option)?;
    let run = Trainer::with_optimizers(run.model, recipe, models.optimizers)?;
    Ok(Loaded { run, tokenizer, has_optimizer: false })
}
