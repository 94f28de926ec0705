//! A run in which a model learns from rewards.

use super::checks::named_by_option;
use super::loaded::{Loaded, load_on};
use crate::device::Device;
use crate::error::{Result, RunError, option, usage};
use crate::folder::{START, to_load};
use crate::models::Models;
use crate::options::Options;
use crate::rewards::{Judge, SETTINGS, own_questions};
use crate::settings::{self, Given};
use llm_core::base::Message;
use llm_core::optim::{AdamW, Schedule, ScheduleKind};
use llm_core::recipe::Recipe;
use llm_core::settings::{RECIPE, Value};
use llm_core::train::Trainer;
use llm_core::{TinyGPT, message};
use llm_formats::imported::fine_tuning;
use std::path::Path;

/// Steps, questions of a step and the peak of the rate, where they are not given: sums of two numbers of two digits
/// come from half to nearly all right.
const STEPS: u64 = 600;
const QUESTIONS: usize = 32;
const RATE: f32 = 6e-4;
/// Pairs of a step, the peak of the rate, passes and β, where a run learns from pairs.
const PAIRS: usize = 16;
const RATE_OF_PAIRS: f32 = 1e-4;
const EPOCHS: f64 = 3.0;
const BETA: f32 = 0.1;
/// How many times the rate of all weights that of an adapter is.
const ADAPTER: f32 = 5.0;

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
    if options.load.is_none() && judge == Judge::PAIRS {
        return usage(message!("{dpo} needs a model that answers: name it with {load}"));
    }
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
        ("epochs", options.epochs.is_some() && judge != Judge::PAIRS),
        ("val", !options.val.is_empty()),
        ("loss_on", options.given.contains_key("loss_on")),
        ("data", own && !options.data.is_empty()),
    ];
    match unfit.into_iter().find(|(_, given)| *given) {
        Some(("data", _)) => {
            usage(message!("{reward} {} has its own questions: leave {data} out", judge))
        }
        Some((name, _)) if judge == Judge::PAIRS => {
            usage(message!("{} is for a run that learns from data: leave {dpo} out", option(name)))
        }
        Some((name, _)) => usage(message!(
            "{} is for a run that learns from data: leave {reward} out",
            option(name)
        )),
        None => Ok(()),
    }
}

/// Refuses settings that a run which learns so has no use for, or cannot learn with.
pub(super) fn check_recipe(given: &Given, recipe: &Recipe, dropout: f32) -> Result<()> {
    let are_pairs = recipe.reward == Judge::PAIRS;
    let [_, of_answers @ .., _] = SETTINGS;
    let idle = of_answers.into_iter().find(|name| are_pairs && given.contains_key(*name));
    let blurs = compares(recipe) || (!recipe.reward.is_empty() && recipe.updates > 1);
    match idle {
        Some(name) => usage(message!(
            "{} is about answers that the model writes, of which {dpo} has none",
            option(name)
        )),
        None if are_pairs && recipe.beta == 0.0 => {
            usage(message!("{beta} 0 teaches nothing from pairs of answers: give more"))
        }
        None if given.contains_key("clip_ratio") && recipe.updates == 1 => usage(message!(
            "{clip_ratio} is about several updates of one batch of answers: it needs {updates}"
        )),
        None if blurs && dropout > 0.0 => usage(message!(
            "{dropout} {}: probabilities are compared, which it blurs; leave it out, or give 0",
            dropout
        )),
        None => Ok(()),
    }
}

/// Passes over the data where no steps are given, in a run whose steps are counted by them.
pub(super) fn epochs(recipe: &Recipe) -> Option<f64> {
    (recipe.reward == Judge::PAIRS).then_some(EPOCHS)
}

/// Whether a run compares with the weights of its start.
fn compares(recipe: &Recipe) -> bool {
    recipe.reward == Judge::PAIRS || (!recipe.reward.is_empty() && recipe.beta > 0.0)
}

/// The weights of a run's start, where it compares with them: those under an adapter that is new, or what a file
/// beside its checkpoints holds, which is an adapter on the same weights where the run began with one.
pub(super) fn start(
    models: &Models,
    options: &Options,
    run: &Trainer,
    path: &Path,
) -> Result<Option<TinyGPT>> {
    let Trainer { model, recipe, .. } = run;
    if !compares(recipe) {
        return Ok(None);
    }
    let is_start = |of: &TinyGPT| hex(&of.blake3()) == recipe.start;
    let under = model.without_adapter();
    if let Some(start) = [&under, model].into_iter().find(|of| is_start(of)) {
        return Ok(Some(start.clone()));
    }
    if recipe.start.is_empty() {
        return usage(message!(
            "{beta} {}: the run began without it, so the weights of its start are not kept; leave it out, \
             or begin a new run",
            recipe.beta
        ));
    }
    let (base, beside) = (model.base().and_then(|(_, base)| base), path.with_file_name(START));
    // What the flag names is an adapter's base.
    let named = options.base.as_deref().filter(|_| model.adapter().is_none());
    let file = named.map_or(Ok(beside), to_load)?;
    let refused = |why: Message| {
        let (hash, file) = (recipe.start[..16].to_string(), file.display());
        RunError::Data(match model.adapter() {
            None => message!(
                "the weights that the run began with, BLAKE3 {}..; '{}': {}; name their file with {base}",
                hash,
                file,
                why
            ),
            Some(_) => message!(
                "the weights that the run began with, BLAKE3 {}..; '{}': {}; put it there",
                hash,
                file,
                why
            ),
        })
    };
    if !file.is_file() {
        return Err(refused(message!("there is no such file")));
    }
    let start = load_on(models, &file, base)?.run.model;
    if !is_start(&start) {
        return Err(refused(message!(
            "its weights have {}",
            hex(&start.blake3())[..16].to_string()
        )));
    }
    let Some(spec) = start.adapter() else { return Ok(Some(start)) };
    let numbers = start.trained().map(|(name, of)| (name, of.clone())).collect();
    let mut start = under.with_adapter_of(&spec, numbers)?;
    base.into_iter().for_each(|base| start.set_base_file(base));
    Ok(Some(start))
}

/// A hash in hexadecimal digits.
fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Refuses settings of rewards where there are none.
fn check_about(options: &Options) -> Result<()> {
    let [_, about @ ..] = SETTINGS;
    match about.into_iter().find(|name| options.given.contains_key(*name)) {
        Some("beta") => {
            usage(message!("{beta} is about rewards and pairs: it needs {reward} or {dpo}"))
        }
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
        return usage(message!(
            "rewards and pairs are learned on the processor: leave {device} out"
        ));
    }
    let no_folder = options.save.is_some() && options.no_save != Some(true);
    if no_folder && matches!(Judge::of(judge), Judge::Program(_)) {
        return usage(message!(
            "{reward}: what the program says is kept in the run's folder; name that with {out}, in place of {save}"
        ));
    }
    let beta = match options.given.get("beta") {
        Some(Value::Float(beta)) => *beta,
        _ => run.recipe.beta,
    };
    let in_file = match run.model.base() {
        None => options.lora.is_some(),
        // An adapter that knows something when the run begins is a start of its own.
        Some((base, _)) => !begins(options, run) && run.recipe.start == hex(base),
    };
    if no_folder && !in_file && (judge == Judge::PAIRS || beta > 0.0) {
        return usage(message!(
            "the weights of the start are kept in the run's folder; name that with {out}, in place of {save}"
        ));
    }
    Ok(())
}

/// Whether another run begins with the rewards that are asked for.
pub(super) fn begins(options: &Options, run: &Trainer) -> bool {
    asked(options).is_some_and(|judge| judge != run.recipe.reward)
}

/// A run at its start, in which what was loaded learns from rewards, or an adapter of this rank beside it does.
pub(super) fn begun(
    models: &Models,
    options: &Options,
    loaded: Loaded,
    rank: Option<usize>,
) -> Result<Loaded> {
    let Loaded { mut run, tokenizer, .. } = loaded;
    let config = run.model.config();
    let (batch_size, rate, beta) = match asked(options) {
        Some(Judge::PAIRS) => (PAIRS, RATE_OF_PAIRS, BETA),
        _ => (QUESTIONS, RATE, 0.0),
    };
    let adapts = rank.is_some() || run.model.adapter().is_some();
    let rate = if adapts { ADAPTER * rate } else { rate };
    let mut recipe = Recipe {
        batch_size,
        beta,
        seq_len: config.seq_len,
        total_steps: STEPS,
        optimizer: AdamW::NAME.into(),
        seed: run.recipe.seed,
        ..fine_tuning(config)
    };
    // Until the steps are counted.
    recipe.schedule =
        Schedule { kind: ScheduleKind::Linear, min_lr: 0.0, ..Schedule::constant(rate) };
    recipe.schedule.decay_steps = STEPS;
    recipe.hyperparameters.weight_decay = 0.0;
    let given = &options.given;
    let fill =
        settings::fill(RECIPE, &mut recipe, |setting, _, _| given.get(setting.name).cloned());
    fill.map_err(named_by_option)?;
    if compares(&recipe) {
        recipe.start = hex(&run.model.blake3());
    }
    if compares(&recipe) || recipe.updates > 1 {
        run.model.set_dropout(0.0)?;
    }
    let run = Trainer::with_optimizers(run.model, recipe, models.optimizers)?;
    Ok(Loaded { run, tokenizer, has_optimizer: false })
}
