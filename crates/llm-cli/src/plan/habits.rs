//! How a run is measured, saved and reported when it goes on: as its folder remembers it, where
//! nothing else is typed.
//!
//! A checkpoint knows what decides its weights, and not how often somebody wanted to hear of it. The
//! folder of a run has that in its `config.toml`.

use crate::args::TrainArgs;
use llm_core::settings::Value;
use llm_run::defaults::{INTERVAL, LOG_EVERY};
use llm_run::folder::{config, setting, whole_setting};
use llm_run::folder::{run_of, to_load};
use toml::Table;

/// The same flags, and for those of its habits that were not typed what the run had that they go on
/// with. 0 stands for a habit that is given up.
pub(crate) fn with_habits(args: &TrainArgs) -> TrainArgs {
    let mut args = args.clone();
    if let Some(config) = own_config(&args) {
        remember(&mut args, &config);
    }
    args.recipe.patience = args.recipe.patience.filter(|&n| n > 0);
    args.recipe.skip_spikes = args.recipe.skip_spikes.filter(|&z| z != 0.0);
    args
}

fn own_config(args: &TrainArgs) -> Option<Table> {
    config(&run_of(&to_load(args.load.as_ref()?).ok()?)?)
}

fn remember(args: &mut TrainArgs, config: &Table) {
    let whole = |key: &str| whole_setting(config, key);
    let mut said = Vec::new();
    take(&mut args.eval_every, whole("eval_every"), "eval_every", Some(INTERVAL), &mut said);
    take(&mut args.save_every, whole("save_every"), "save_every", Some(INTERVAL), &mut said);
    take(&mut args.log_every, whole("log_every"), "log_every", Some(LOG_EVERY), &mut said);
    take(&mut args.sample_every, whole("sample_every"), "sample_every", Some(0), &mut said);
    if args.save.is_none() {
        let keep = whole("keep").and_then(|n| usize::try_from(n).ok());
        take(&mut args.keep, keep, "keep", Some(0), &mut said);
    }
    let save_opt = setting(config, "save_opt").and_then(toml::Value::as_bool);
    if args.crew.shard_optimizer != Some(true) && args.save_opt.is_none() && save_opt.is_some() {
        args.save_opt = save_opt;
        said.push(("save_opt", Value::Bool(save_opt == Some(true))));
    }
    let recipe = &mut args.recipe;
    if args.eval_every != Some(0) {
        take(&mut recipe.patience, whole("patience"), "patience", None, &mut said);
    }
    let z = setting(config, "skip_spikes").and_then(toml::Value::as_float).map(|z| z as f32);
    let z = z.filter(|z| *z > 0.0 && z.is_finite());
    take(&mut recipe.skip_spikes, z, "skip_spikes", None, &mut said);
    args.remembered = said;
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
