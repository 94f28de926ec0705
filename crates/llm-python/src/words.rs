//! How what the libraries say is said here: in English, options as keyword arguments.

use llm_core::base::{Language, Message};
use llm_core::settings::{MODEL, RECIPE};
use llm_run::settings::{Setting, settings};

/// The words of Python.
struct Python;

impl Language for Python {
    fn translation(&self, _: &str) -> Option<&str> {
        None
    }

    fn option(&self, name: &str) -> String {
        let setting = settings().find(|setting| setting.name == name);
        setting.map_or_else(|| name.into(), |setting| keyword(setting).into())
    }
}

/// A message as an exception or a warning says it.
pub fn said(message: &Message) -> String {
    message.said(&Python)
}

/// The keyword argument of a setting: the field of core's row, but for the steps, which are those
/// planned in all there.
pub fn keyword(setting: &Setting) -> &'static str {
    let of_model = MODEL.iter().find(|row| row.key == setting.key).map(|row| row.field);
    let of_run = || RECIPE.iter().find(|row| row.key == setting.key).map(|row| row.field);
    let field = of_model.or_else(of_run).filter(|field| *field != "total_steps");
    field.unwrap_or(setting.name)
}
