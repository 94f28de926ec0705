//! The fields of a config.json, with what they may be, and what is made of them.

use super::family::Family;
use crate::error::{self, FormatError, Result, refuse, shown};
use crate::imported::Note;
use llm_core::base::Fill;
use llm_core::{AttentionSpec, Config, message};
use serde_json::{Map, Value, json};

/// The contents of a config.json, as our settings.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigJson {
    /// The family of the model.
    pub family: Family,
    /// Sizes and options.
    pub config: Config,
    /// Description of the attention.
    pub attention: AttentionSpec,
    /// The tokens that end a text, if it says so.
    pub ends: Vec<u64>,
    /// Decisions that the reader should know of.
    pub notes: Vec<Note>,
}

/// A field with one token or several.
pub(super) fn numbers(value: Option<&Value>) -> Vec<u64> {
    match value {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_u64).collect(),
        one => one.and_then(Value::as_u64).into_iter().collect(),
    }
}

/// The fields of the file.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

pub(super) fn unsupported(field: &str, found: &Value, supported: impl Fill) -> FormatError {
    error::unsupported(field, shown(&found.to_string()), supported)
}

/// The decimal number that stands for x: 1e-5, not what f64 makes of the nearest single one.
pub(super) fn decimal(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(f64::from(x))
}

impl<'a> Fields<'a> {
    /// The value of the field, unless that is null.
    pub(super) fn get(&self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    /// A whole number of 1 or more.
    pub(super) fn size(&self, field: &str, usual: usize) -> Result<usize> {
        self.0.get(field).map_or(Ok(usual), |value| whole(field, value))
    }

    /// [`Fields::size`], where null says no more than a missing field.
    pub(super) fn size_or_null(&self, field: &str) -> Result<Option<usize>> {
        self.get(field).map(|value| whole(field, value)).transpose()
    }

    /// [`Fields::size_or_null`], and what a missing field stands for.
    pub(super) fn size_or(&self, field: &str, usual: Option<usize>) -> Result<Option<usize>> {
        if self.0.contains_key(field) { self.size_or_null(field) } else { Ok(usual) }
    }

    pub(super) fn real(&self, field: &str, usual: f64) -> Result<f64> {
        let Some(value) = self.0.get(field) else { return Ok(usual) };
        value.as_f64().ok_or_else(|| unsupported(field, value, message!("a number")))
    }

    pub(super) fn flag(&self, field: &str, usual: bool) -> Result<bool> {
        let Some(value) = self.0.get(field) else { return Ok(usual) };
        value.as_bool().ok_or_else(|| unsupported(field, value, message!("true or false")))
    }

    pub(super) fn text(&self, field: &str, usual: &'static str) -> Result<&'a str> {
        let Some(value) = self.0.get(field) else { return Ok(usual) };
        value.as_str().ok_or_else(|| unsupported(field, value, usual))
    }

    /// ε of the norms.
    pub(super) fn eps(&self, field: &str, usual: f64) -> Result<f32> {
        let eps = self.real(field, usual)?;
        match eps as f32 {
            fits if fits > 0.0 && fits <= 1.0 => Ok(fits),
            _ => Err(unsupported(field, &json!(eps), message!("a number above 0, up to 1"))),
        }
    }

    /// A probability of dropping a number.
    pub(super) fn dropout(&self, field: &str, usual: f64) -> Result<f64> {
        let p = self.get(field).map_or(Ok(usual), |_| self.real(field, usual))?;
        match (0.0..1.0).contains(&p) {
            true => Ok(p),
            false => Err(unsupported(field, &json!(p), message!("0 or more, and less than 1"))),
        }
    }

    /// One of the classes that are `known`, if any is named.
    pub(super) fn architecture(&self, known: &[&str]) -> Result<()> {
        let Some(value) = self.get("architectures") else { return Ok(()) };
        let names = value.as_array().map_or(&[][..], Vec::as_slice);
        let is_known = |name: &Value| name.as_str().is_some_and(|name| known.contains(&name));
        if names.iter().any(is_known) {
            return Ok(());
        }
        Err(unsupported("architectures", value, known.join(", ")))
    }

    /// Fields that must not say anything.
    pub(super) fn unset(&self, fields: &[&str]) -> Result<()> {
        let empty = |v: &Value| v.as_object().is_some_and(Map::is_empty);
        match fields.iter().find(|field| self.get(field).is_some_and(|v| !empty(v))) {
            Some(field) => refuse(message!("{} is set, which is not supported", *field)),
            None => Ok(()),
        }
    }
}

/// A whole number of 1 or more.
pub(super) fn whole(field: &str, value: &Value) -> Result<usize> {
    let size = value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    size.ok_or_else(|| unsupported(field, value, message!("a whole number of 1 or more")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_numbers_are_written_as_they_are_said() {
        assert_eq!((decimal(1e-5), decimal(1e-6)), (1e-5, 1e-6));
        assert_ne!(f64::from(1e-5f32), 1e-5);
    }
}
