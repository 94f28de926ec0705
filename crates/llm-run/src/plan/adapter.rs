//! A new adapter beside the matrices of a model that stays as it is.

use super::checks::named_by_option;
use super::loaded::Loaded;
use super::rewarded;
use crate::error::{Result, option, usage};
use crate::models::Models;
use crate::note::Note;
use crate::options::Options;
use crate::settings::{self, Given, whole};
use llm_core::message;
use llm_core::model::{AdapterSpec, Part};
use llm_core::optim::{Muon, Schedule, ScheduleKind};
use llm_core::recipe::{DataForm, DataSource, Recipe};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::Trainer;
use llm_core::{Config, TinyGPT};
use llm_formats::adapter::adapter_parts;
use llm_formats::chat::ChatFormat;
use llm_formats::imported::fine_tuning;
use std::path::Path;
use std::sync::Arc;

/// s, which A·B is multiplied by: what is usually called alpha, over the rank.
const SCALE: f32 = 2.0;
/// The peak of the rate, twenty times that of all weights; docs/fine_tuning.md has the measurement.
const RATE: f32 = 1e-3;
/// Steps of the warm-up: at least these, or this part of all steps.
const WARMUP: u64 = 5;
const WARMUP_PART: u64 = 33;

/// The recipe of an adapter, of which nothing is planned yet.
pub(super) fn recipe(config: &Config, seed: u64) -> Recipe {
    let mut recipe = Recipe { seed, ..fine_tuning(config) };
    recipe.hyperparameters.weight_decay = 0.0;
    recipe.schedule =
        Schedule { kind: ScheduleKind::Linear, min_lr: 0.0, ..Schedule::constant(RATE) };
    recipe.schedule.decay_steps = 1; // until they are counted
    recipe
}

/// A run at its start, in which an adapter of this rank learns beside what was loaded.
pub(super) fn begun(
    models: &Models,
    options: &Options,
    loaded: Loaded,
    (rank, rewards): (usize, bool),
    path: &Path,
) -> Result<Loaded> {
    let Loaded { run, tokenizer, .. } = loaded;
    if options.data.is_empty() && !rewarded::is_asked(options) {
        return usage(message!("{lora} {}: name the text that it learns with {data}", rank));
    }
    let config = run.model.config();
    let (given, mut recipe) = (&options.given, recipe(config, run.recipe.seed));
    recipe.total_steps = 1; // until they are counted
    if rewards {
        recipe = run.recipe.clone();
    }
    let fill = settings::fill(llm_core::settings::RECIPE, &mut recipe, |setting, _, _| {
        given.get(setting.name).filter(|_| setting.name != "steps").cloned()
    });
    fill.map_err(named_by_option)?;
    let parts = adapter_parts(config, run.model.attention().as_ref());
    let spec = AdapterSpec::uniform(parts, rank, SCALE);
    let seed = whole(given, "seed").unwrap_or(recipe.seed);
    recipe.seed = seed;
    let mut model = run.model.with_adapter(&spec, seed).map_err(named_by_option)?;
    model.set_base_file(path);
    model.set_dropout(0.0)?;
    let run = Trainer::with_optimizers(model, recipe, models.optimizers)?;
    Ok(Loaded { run, tokenizer, has_optimizer: false })
}

/// Whether it is a run that [`begun`] or [`rewarded::begun`] made, and that has no data yet.
pub(super) fn is_new(run: &Trainer) -> bool {
    let begins = run.model.adapter().is_some() || !run.recipe.reward.is_empty();
    run.step == 0 && run.recipe.data == DataSource::NONE && begins
}

/// The course of the rate over all steps, where it was not given.
pub(super) fn course(given: &Given, recipe: &mut Recipe) {
    let Recipe { total_steps, schedule, .. } = recipe;
    if schedule.kind == ScheduleKind::Constant {
        return;
    }
    if !given.contains_key("decay_steps") {
        schedule.decay_steps = *total_steps;
    }
    if !given.contains_key("warmup") {
        let most = schedule.decay_steps.min(*total_steps).saturating_sub(1);
        schedule.warmup_steps = (*total_steps / WARMUP_PART).max(WARMUP).min(most);
    }
}

/// Refuses an optimizer that looks at whole matrices, of which an adapter's are not.
pub(super) fn check_optimizer(model: &TinyGPT, recipe: &Recipe) -> Result<()> {
    if model.adapter().is_some() && recipe.optimizer == Muon::NAME {
        return usage(message!("{optimizer} muon is for whole matrices, not for those of {lora}"));
    }
    Ok(())
}

/// Refuses another rank than that of the run that goes on.
pub(super) fn check_rank(model: &TinyGPT, rank: usize, path: &Path) -> Result<()> {
    let spec = model.adapter().unwrap_or_default();
    let own = |part: &Part| part.rank == rank;
    if spec.0.iter().flat_map(|(_, parts)| parts).all(own) {
        return Ok(());
    }
    usage(message!(
        "{lora} {}: '{}' has an adapter of rank {}; leave it out, or begin one on a model without",
        rank,
        path.display(),
        largest_rank(&spec)
    ))
}

/// The largest rank of an adapter.
pub(super) fn largest_rank(spec: &AdapterSpec) -> usize {
    spec.0.iter().flat_map(|(_, parts)| parts).map(|part| part.rank).max().unwrap_or(0)
}

/// The note where answers end with a token whose row is frozen and may never have learned what it is.
pub(super) fn frozen_end(recipe: &Recipe, tokenizer: &Arc<dyn Tokenizer>) -> Option<Note> {
    let DataSource::Files { form: DataForm::Chats, .. } = recipe.data else { return None };
    let format = ChatFormat::of(tokenizer.as_ref()).ok()?;
    let end = format.end_token.filter(|end| Some(*end) != format.end_of_text)?;
    Some(Note::FrozenEnd { mark: String::from_utf8_lossy(tokenizer.bytes_of(end)).into_owned() })
}

/// Refuses what an adapter cannot be trained with, whatever it stands beside.
pub(super) fn check(options: &Options) -> Result<()> {
    let Some(rank) = options.lora else {
        return Ok(());
    };
    if options.load.is_none() {
        return usage(message!(
            "{lora} {} needs a model to stand beside: name it with {load}",
            rank
        ));
    }
    if !(1..=AdapterSpec::MAX_RANK).contains(&rank) {
        return usage(message!("{lora} {} is outside 1..={}", rank, AdapterSpec::MAX_RANK));
    }
    match options.time {
        Some(_) => usage(message!("{} is for a new model: leave {lora} out", option("time"))),
        None => Ok(()),
    }
}
