//! A request's fields, each taken once: one that is left over was not understood.

use crate::error::{Refusal, Res};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

/// Held while a body is read: what JSON becomes in memory is many times as long, and is there only once.
static READING: Mutex<()> = Mutex::new(());

/// The fields of a JSON object.
pub struct Fields(Map<String, Value>);

/// Reads a body, and makes of it what is asked for; all of it has to be understood.
pub fn read<T>(body: &[u8], make: impl FnOnce(&mut Fields) -> Res<T>) -> Res<T> {
    let _only = READING.lock().unwrap_or_else(PoisonError::into_inner);
    let object: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|e| Refusal::new(400, format!("the body is not a JSON object: {e}")))?;
    let mut fields = Fields(object);
    let made = make(&mut fields)?;
    match fields.0.into_iter().find(|(_, value)| !value.is_null()) {
        None => Ok(made),
        Some((name, _)) => {
            let name: String = name.chars().take(64).collect();
            let message = format!("'{name}' is not supported by this server");
            Err(Refusal::field(&name, message).coded("unsupported_parameter"))
        }
    }
}

/// A value of another kind than is expected.
pub fn expected(name: &str, what: &str) -> Refusal {
    Refusal::field(name, format!("'{name}': expected {what}"))
}

impl Fields {
    /// A field's value; null is as good as none.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub fn number(&mut self, name: &str) -> Res<Option<f32>> {
        self.take(name)
            .map(|value| value.as_f64().map(|x| x as f32).ok_or_else(|| expected(name, "a number")))
            .transpose()
    }

    pub fn whole(&mut self, name: &str, within: RangeInclusive<u64>) -> Res<Option<usize>> {
        let [low, high] = [within.start(), within.end()];
        let fits = |value: Value| value.as_u64().filter(|n| within.contains(n)).map(|n| n as usize);
        let refused = || expected(name, &format!("a whole number from {low} to {high}"));
        self.take(name).map(|value| fits(value).ok_or_else(refused)).transpose()
    }

    pub fn flag(&mut self, name: &str) -> Res<bool> {
        let value = self.take(name).unwrap_or(Value::Bool(false));
        value.as_bool().ok_or_else(|| expected(name, "true or false"))
    }

    pub fn text(&mut self, name: &str) -> Res<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(expected(name, "a text")),
        }
    }

    /// Fields with values that ask for nothing: `usual` of each.
    pub fn usual(&mut self, all: &[(&str, &[Value])]) {
        for (name, usual) in all {
            if self.0.get(*name).is_some_and(|value| usual.contains(value)) {
                self.0.remove(*name);
            }
        }
    }
}
