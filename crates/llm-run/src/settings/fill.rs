//! Core's settings filled by rows.

use super::given::Given;
use super::row::{Initial, Setting};
use super::table::{rate_for, settings};
use crate::defaults::Start;
use crate::models::own_numbers;
use llm_core::optim::{OptimizerRow, find_optimizer};
use llm_core::recipe::Recipe;
use llm_core::settings::{self as of_core, MODEL, RECIPE, Row, Value};
use llm_core::{Config, Error, Result, message};

/// The setting of core's row with this key. A new model's context is the length of its windows.
pub fn of_key(key: &str) -> Option<&'static Setting> {
    let key = if key == "model.seq_len" { "train.seq_len" } else { key };
    settings().find(|setting| setting.key == key)
}

/// The setting of the setting that an error of core calls `field`.
pub fn of_field(field: &str) -> Option<&'static Setting> {
    of_core::key_of(field).and_then(of_key)
}

/// Sets those of core's settings that have a setting, each to the value that `wanted` has for it.
///
/// # Errors
/// What a row refuses.
pub fn fill<T>(
    rows: &[Row<T>],
    into: &mut T,
    mut wanted: impl FnMut(&'static Setting, &Row<T>, &T) -> Option<Value>,
) -> Result<()> {
    for row in rows {
        let Some(setting) = of_key(row.key) else { continue };
        if let Some(value) = wanted(setting, row, into) {
            (row.put)(into, value)?;
        }
    }
    Ok(())
}

/// A new model with the options of `arch` where none were given, and the values of what it starts from
/// where `arch` has none of its own.
///
/// # Errors
/// What a row refuses. What settings say together is left to [`Config::check`].
pub fn new_model(arch: Config, start: Start, given: &Given) -> Result<Config> {
    let mut config = arch.clone();
    let baseline = Config::new(arch.vocab_size, arch.seq_len, arch.d_model, arch.n_layers);
    fill(MODEL, &mut config, |setting, row, _| {
        let is_own = (row.get)(&arch) != (row.get)(&baseline);
        let of_start = || setting.initial(start).filter(|_| !is_own);
        given.get(setting.name).cloned().or_else(of_start)
    })?;
    Ok(config)
}

/// How a new model learns.
///
/// # Errors
/// What a row refuses. What settings say together is left to [`Recipe::check`].
pub fn new_recipe(start: Start, given: &Given) -> Result<Recipe> {
    let mut recipe = Recipe::new([1, 1], 0, 1.0);
    fill(RECIPE, &mut recipe, |setting, _, recipe| {
        given_to(recipe, setting, given).or_else(|| setting.initial(start))
    })?;
    rate_of_steps(&mut recipe, start, given);
    follow(&mut recipe, given, |_| true)?;
    Ok(recipe)
}

/// The peak of the rate of a new run on a text follows its steps, where none was given.
pub fn rate_of_steps(recipe: &mut Recipe, start: Start, given: &Given) {
    if start == Start::Text && !given.contains_key("lr") {
        recipe.schedule.lr = rate_for(recipe.total_steps);
    }
}

/// Gives the optimizer of the recipe these numbers of its own, each as NAME=X.
///
/// # Errors
/// [`Error::Config`] for a name that it does not have, a value of another type, or one outside its range.
pub fn set_own(recipe: &mut Recipe, own: &[String], known: &[OptimizerRow]) -> Result<()> {
    let row = find_optimizer(known, &recipe.optimizer)?;
    let refused = |reason| Error::config("optimizer_set", reason);
    own_numbers("optimizer_set", row.name, row.settings, own, &mut recipe.optimizer_settings)?;
    // A number has no option of its own: the error names the one by which it is set.
    let is_own = |field: &str| row.settings.iter().any(|(name, _)| *name == field);
    match recipe.make_optimizer(known) {
        Err(Error::Config { field, reason }) if is_own(field) => {
            Err(refused(message!("{} {}", field, reason)))
        }
        _ => Ok(()),
    }
}

/// Works out `those` settings that follow from others and were not given.
///
/// # Errors
/// What a row refuses.
pub fn follow(recipe: &mut Recipe, given: &Given, those: impl Fn(&Setting) -> bool) -> Result<()> {
    fill(RECIPE, recipe, |setting, _, recipe| match setting.initial {
        Initial::Follows(of) if those(setting) && given_to(recipe, setting, given).is_none() => {
            Some(of(recipe, given))
        }
        _ => None,
    })
}

/// What was given, where it has an effect.
fn given_to(recipe: &Recipe, setting: &Setting, given: &Given) -> Option<Value> {
    given.get(setting.name).filter(|_| (setting.applies)(recipe)).cloned()
}
