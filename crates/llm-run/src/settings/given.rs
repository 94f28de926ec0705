//! The values that were given.

use llm_core::settings::Value;
use std::collections::BTreeMap;

/// Values by the names of their settings.
pub type Given = BTreeMap<&'static str, Value>;

/// The value of a setting that takes a whole number.
pub fn whole(given: &Given, setting: &str) -> Option<u64> {
    match given.get(setting) {
        Some(Value::Whole(n)) => Some(*n),
        _ => None,
    }
}
