//! Every setting of a model and of a run, each in one row: its key, how it is read and set. What it
//! is for, in words, and where a new run begins is in the rows of `llm_run::settings`.
//!
//! | file | holds |
//! |---|---|
//! | `row.rs` | what a row is, and the types of values |
//! | `model.rs` | the rows of [`Config`] |
//! | `run.rs` | the rows of [`Recipe`] |
//! | `data.rs` | where a run's data came from |
//!
//! Checkpoints are written and read by these rows. A setting that is added is a field and a row: a
//! file from before has no such key, and gets the default of [`Config::new`] or [`Recipe::new`],
//! which must therefore be what was done before there was a choice.

mod data;
mod model;
mod row;
mod run;

#[cfg(test)]
mod tests;

pub use crate::base::{Settings, Value};
pub use model::MODEL;
pub use row::Row;
pub use run::RECIPE;

use crate::base::Result;
use crate::model::Config;
use crate::recipe::{DataSource, Recipe};

/// Before the keys of an optimizer's own numbers, [`Recipe::optimizer_settings`].
const OWN: &str = "optimizer.";

/// The value of the setting with this key.
pub fn value(key: &str, config: &Config, recipe: &Recipe) -> Option<Value> {
    let of_model = MODEL.iter().find(|row| row.key == key).map(|row| (row.get)(config));
    of_model.or_else(|| RECIPE.iter().find(|row| row.key == key).map(|row| (row.get)(recipe)))
}

/// The key of the setting that errors call `field`.
pub fn key_of(field: &str) -> Option<&'static str> {
    let of_model = MODEL.iter().find(|row| row.field == field).map(|row| row.key);
    of_model.or_else(|| RECIPE.iter().find(|row| row.field == field).map(|row| row.key))
}

/// All settings of a model and a run by their keys.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) when a number is not finite or a text too long.
pub fn collect(config: &Config, recipe: &Recipe) -> Result<Settings> {
    let mut all = Settings::default();
    insert(MODEL, config, &Config::new(0, 0, 0, 0), &mut all)?;
    insert(RECIPE, recipe, &Recipe::new([0, 0], 0, 0.0), &mut all)?;
    for (key, value) in recipe.optimizer_settings.iter() {
        all.insert(&format!("{OWN}{key}"), value.clone())?;
    }
    data::write("data", &recipe.data, &mut all)?;
    if let Some(source) = &recipe.val_data {
        data::write("val_data", source, &mut all)?;
    }
    Ok(all)
}

/// The values of rows, but for those that came later and are the default.
fn insert<T>(rows: &[Row<T>], from: &T, defaults: &T, all: &mut Settings) -> Result<()> {
    for row in rows {
        let value = (row.get)(from);
        if !row.later || value != (row.get)(defaults) {
            all.insert(row.key, value)?;
        }
    }
    Ok(())
}

/// The model and the run that settings describe. A key that is not there leaves its default.
///
/// # Errors
/// [`Error::Config`](crate::Error::Config) naming a key that is unknown, a value of another type,
/// or a setting outside its range. What two settings say together is left to [`Config::check`] and
/// [`Recipe::check`].
pub fn read(mut all: Settings) -> Result<(Config, Recipe)> {
    let mut config = Config::new(0, 0, 0, 0);
    for row in MODEL {
        if let Some(value) = all.take(row.key) {
            (row.put)(&mut config, value)?;
        }
    }
    let mut recipe = Recipe::new([0, 0], 0, 0.0);
    for row in RECIPE {
        if let Some(value) = all.take(row.key) {
            (row.put)(&mut recipe, value)?;
        }
    }
    let own: Vec<String> =
        all.iter().filter_map(|(key, _)| key.strip_prefix(OWN)).map(String::from).collect();
    for key in own {
        if let Some(value) = all.take(&format!("{OWN}{key}")) {
            recipe.optimizer_settings.insert(&key, value)?;
        }
    }
    recipe.data = data::read("data", &mut all)?.unwrap_or(DataSource::NONE);
    recipe.val_data = data::read("val_data", &mut all)?;
    all.expect_empty()?;
    Ok((config, recipe))
}
