//! How a run is measured, saved and reported when it goes on: as its folder remembers it, where
//! nothing else is typed.
//!
//! A checkpoint knows what decides its weights, and not how often it was to be reported. The
//! folder of a run has that in its `config.toml`.

use crate::defaults::{INTERVAL, LOG_EVERY};
use crate::folder::{config, run_of, setting, to_load, whole_setting};
use crate::options::Options;
use llm_core::settings::Value;
use toml::Table;

/// The options, with the habits of the run that goes on where none were given. 0 stands for a habit that is given up.
pub fn with_habits(options: &Options) -> Options {
    let mut options = options.clone();
    let load = options.load.as_deref().filter(|_| options.lora.is_none());
    let load = load.and_then(|load| to_load(load).ok());
    if let Some(config) = load.and_then(|path| config(&run_of(&path)?)) {
        remember(&mut options, &config);
    }
    options.habits.patience = options.habits.patience.filter(|&n| n > 0);
    options.habits.skip_spikes = options.habits.skip_spikes.filter(|&z| z != 0.0);
    options
}

fn remember(options: &mut Options, config: &Table) {
    let whole = |key: &str| whole_setting(config, key);
    let recompute = setting(config, "recompute").and_then(toml::Value::as_bool);
    options.recompute = options.recompute.or(recompute);
    let (saved, divided) = (options.save.is_some(), options.shard_optimizer == Some(true));
    let habits = &mut options.habits;
    let mut said = Vec::new();
    take(&mut habits.eval_every, whole("eval_every"), "eval_every", Some(INTERVAL), &mut said);
    take(&mut habits.save_every, whole("save_every"), "save_every", Some(INTERVAL), &mut said);
    take(&mut habits.log_every, whole("log_every"), "log_every", Some(LOG_EVERY), &mut said);
    take(&mut habits.sample_every, whole("sample_every"), "sample_every", Some(0), &mut said);
    if !saved {
        let keep = whole("keep").and_then(|n| usize::try_from(n).ok());
        take(&mut habits.keep, keep, "keep", Some(0), &mut said);
    }
    let save_opt = setting(config, "save_opt").and_then(toml::Value::as_bool);
    if let (Some(save), None, false) = (save_opt, habits.save_opt, divided) {
        habits.save_opt = Some(save);
        said.push(("save_opt", Value::Bool(save)));
    }
    if habits.eval_every != Some(0) {
        take(&mut habits.patience, whole("patience"), "patience", None, &mut said);
    }
    let z = setting(config, "skip_spikes").and_then(toml::Value::as_float).map(|z| z as f32);
    let z = z.filter(|z| *z > 0.0 && z.is_finite());
    take(&mut habits.skip_spikes, z, "skip_spikes", None, &mut said);
    habits.remembered = said;
}

/// Fills what was not typed; what is `usual` goes without saying.
fn take<T: Copy + PartialEq + Into<Value>>(
    slot: &mut Option<T>,
    own: Option<T>,
    option: &'static str,
    usual: Option<T>,
    said: &mut Vec<(&'static str, Value)>,
) {
    let Some(own) = own.filter(|_| slot.is_none()) else { return };
    *slot = Some(own);
    if usual != Some(own) {
        said.push((option, own.into()));
    }
}
