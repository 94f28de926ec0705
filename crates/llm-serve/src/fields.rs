//! A request's fields, each taken once: one that is left over was not understood.

use crate::error::{Refusal, Res, expected};
use serde_json::{Map, Value};
use std::sync::{Mutex, PoisonError};

/// Held while a body is read: what JSON becomes in memory is many times as long, and is there only once.
static READING: Mutex<()> = Mutex::new(());

/// The fields of a JSON object.
pub struct Fields(Map<String, Value>);

/// Reads a body, and makes of it what is asked for; all of it has to be understood.
pub fn read<T>(body: &[u8], make: impl FnOnce(&mut Fields) -> Res<T>) -> Res<T> {
    let _only = READING.lock().unwrap_or_else(PoisonError::into_inner);
    let object = serde_json::from_slice(body)
        .map_err(|e| Refusal::new(400, format!("the body is not a JSON object: {e}")))?;
    let mut fields = Fields(object);
    let made = make(&mut fields)?;
    match fields.0.into_iter().find(|(_, value)| !value.is_null()) {
        None => Ok(made),
        Some((name, _)) => Err(Refusal::field(&name, UNKNOWN).coded("unsupported_parameter")),
    }
}

/// What is said of a field that is not understood.
pub const UNKNOWN: &str = "this server does not support it";

impl Fields {
    /// A field's value; null is as good as none.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// A field's value, if it is one `of` its kind.
    pub fn get<T>(
        &mut self,
        name: &str,
        what: &str,
        of: impl Fn(&Value) -> Option<T>,
    ) -> Res<Option<T>> {
        self.take(name).map(|value| of(&value).ok_or_else(|| expected(name, what))).transpose()
    }

    pub fn number(&mut self, name: &str) -> Res<Option<f32>> {
        self.get(name, "a number", |value| value.as_f64().map(|x| x as f32))
    }

    pub fn whole(&mut self, name: &str, [low, high]: [usize; 2]) -> Res<Option<usize>> {
        self.get(name, &format!("a whole number from {low} to {high}"), |value| {
            let n = value.as_u64().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
            n.filter(|n| (low..=high).contains(n))
        })
    }

    pub fn flag(&mut self, name: &str) -> Res<bool> {
        Ok(self.get(name, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    pub fn text(&mut self, name: &str) -> Res<Option<String>> {
        self.get(name, "a text", |value| value.as_str().map(String::from))
    }

    /// Forgets a field with a value that asks for nothing.
    pub fn usual(&mut self, name: &str, values: &[Value]) {
        if self.0.get(name).is_some_and(|value| values.contains(value)) {
            self.0.remove(name);
        }
    }
}
