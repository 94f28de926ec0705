//! The values that were typed.

use llm_core::settings::Value;
use std::collections::BTreeMap;

/// Values by the names of their flags.
pub type Given = BTreeMap<&'static str, Value>;

/// The value of a flag that takes a whole number.
pub fn whole(given: &Given, flag: &str) -> Option<u64> {
    match given.get(flag) {
        Some(Value::Whole(n)) => Some(*n),
        _ => None,
    }
}
