//! Core's settings filled by rows.

use super::given::Given;
use super::row::{Flag, Initial};
use super::table::flags;
use llm_core::recipe::Recipe;
use llm_core::settings::{self, MODEL, RECIPE, Row, Value};
use llm_core::{Config, Result};
use llm_run::defaults::Start;

/// The flag of core's row with this key. A new model's context is the length of its windows.
pub fn of_key(key: &str) -> Option<&'static Flag> {
    let key = if key == "model.seq_len" { "train.seq_len" } else { key };
    flags().find(|flag| flag.key == key)
}

/// The flag of the setting that an error of core calls `field`.
pub fn of_field(field: &str) -> Option<&'static Flag> {
    settings::key_of(field).and_then(of_key)
}

/// Sets those of core's settings that have a flag, each to the value that `wanted` has for it.
///
/// # Errors
/// What a row refuses.
pub fn fill<T>(
    rows: &[Row<T>],
    settings: &mut T,
    mut wanted: impl FnMut(&'static Flag, &Row<T>, &T) -> Option<Value>,
) -> Result<()> {
    for row in rows {
        let Some(flag) = of_key(row.key) else { continue };
        if let Some(value) = wanted(flag, row, settings) {
            (row.put)(settings, value)?;
        }
    }
    Ok(())
}

/// A new model with the options of `arch` where none were given.
///
/// # Errors
/// What a row refuses. What settings say together is left to [`Config::check`].
pub fn new_model(arch: Config, start: Start, given: &Given) -> Result<Config> {
    let mut config = arch;
    fill(MODEL, &mut config, |flag, _, _| {
        given.get(flag.name).cloned().or_else(|| flag.initial(start))
    })?;
    Ok(config)
}

/// How a new model learns.
///
/// # Errors
/// What a row refuses. What settings say together is left to [`Recipe::check`].
pub fn new_recipe(start: Start, given: &Given) -> Result<Recipe> {
    let mut recipe = Recipe::new(1, 1, 0, 1.0);
    fill(RECIPE, &mut recipe, |flag, _, recipe| {
        given_to(recipe, flag, given).or_else(|| flag.initial(start))
    })?;
    follow(&mut recipe, given, |_| true)?;
    Ok(recipe)
}

/// Works out `those` settings that follow from others and were not given.
///
/// # Errors
/// What a row refuses.
pub fn follow(recipe: &mut Recipe, given: &Given, those: impl Fn(&Flag) -> bool) -> Result<()> {
    fill(RECIPE, recipe, |flag, _, recipe| match flag.initial {
        Initial::Follows(of) if those(flag) && given_to(recipe, flag, given).is_none() => {
            Some(of(recipe, given))
        }
        _ => None,
    })
}

/// What was given, where it has an effect.
fn given_to(recipe: &Recipe, flag: &Flag, given: &Given) -> Option<Value> {
    given.get(flag.name).filter(|_| (flag.applies)(recipe)).cloned()
}
