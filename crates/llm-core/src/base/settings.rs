//! Settings by key: what a checkpoint says about a model and a run, so that a new one is a new
//! key and not a new format.

use super::{Error, Message, Result, Value};
use crate::message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Keys and their values, sorted by key. A key is 1 to 64 of the bytes `a-z 0-9 _ .`.
///
/// ```
/// use llm_core::settings::{Settings, Value};
///
/// let mut settings = Settings::default();
/// settings.insert("window", Value::Whole(128))?;
/// assert_eq!(settings.get("window"), Some(&Value::Whole(128)));
/// assert!(settings.insert("Window size", Value::Whole(128)).is_err());
/// # Ok::<(), llm_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>")]
pub struct Settings(BTreeMap<String, Value>);

/// No value is NaN, see [`Settings::insert`].
impl Eq for Settings {}

impl TryFrom<BTreeMap<String, Value>> for Settings {
    type Error = Error;

    fn try_from(map: BTreeMap<String, Value>) -> Result<Settings> {
        Settings::from_sorted(map.into_iter().collect())
    }
}

impl Settings {
    /// Most keys.
    pub const MAX_KEYS: usize = 512;
    /// Bytes of the longest key.
    pub const MAX_KEY: usize = 64;
    /// Bytes of the longest text, most bytes, and most bits of one value.
    pub const MAX_VALUE: usize = 4096;
    /// Bytes of all keys and values together.
    pub const MAX_SIZE: usize = 1 << 16;

    /// The settings of a sorted list.
    ///
    /// # Errors
    /// [`Error::Config`] when it is not sorted, names a key twice, or is outside the limits.
    pub fn from_sorted(list: Vec<(String, Value)>) -> Result<Settings> {
        let mut settings = Settings::default();
        for (key, value) in list {
            let rises = settings.0.last_key_value().is_none_or(|(last, _)| *last < key);
            unless(rises, message!("'{}' comes too late or twice", key.escape_default()))?;
            settings.insert(&key, value)?;
        }
        Ok(settings)
    }

    /// Sets a value, in place of an earlier one.
    ///
    /// # Errors
    /// [`Error::Config`] when the key or the value is outside the limits, a number is not finite,
    /// or all together are too many; nothing has changed then.
    pub fn insert(&mut self, key: &str, value: Value) -> Result<()> {
        let letter = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.');
        let is_key = (1..=Settings::MAX_KEY).contains(&key.len()) && key.bytes().all(letter);
        let shown: String = key.chars().take(Settings::MAX_KEY).collect();
        let shown = shown.escape_default();
        unless(is_key, message!("'{}' is no key: 1 to 64 of a-z, 0-9, '_' and '.'", shown))?;
        let (size, limit) = (value.size(), Settings::MAX_VALUE);
        let reason = message!("'{}' has a value of {} bytes, the limit is {}", key, size, limit);
        unless(size <= limit, reason)?;
        let is_finite = match value {
            Value::Float(x) => x.is_finite(),
            Value::Double(x) => x.is_finite(),
            _ => true,
        };
        unless(is_finite, message!("'{}' is {}, not a finite number", key, value))?;
        let old = self.0.get(key).map(|old| key.len() + old.size());
        let has_room = old.is_some() || self.0.len() < Settings::MAX_KEYS;
        unless(has_room, message!("'{}' is one more than the 512 there may be", key))?;
        let all = self.size() - old.unwrap_or(0) + key.len() + size;
        let reason = message!("'{}' makes all together larger than 65536 bytes", key);
        unless(all <= Settings::MAX_SIZE, reason)?;
        self.0.insert(key.into(), value);
        Ok(())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The value of a key, as a number, a text, or yes or no.
    ///
    /// # Errors
    /// [`Error::Config`] when it is missing or of another type.
    pub fn typed<T: for<'v> TryFrom<&'v Value>>(&self, key: &str) -> Result<T> {
        let value = self.get(key).ok_or_else(|| refused(message!("'{}' is missing", key)))?;
        T::try_from(value)
            .map_err(|_| refused(message!("'{}' is {}, of another type", key, value.kind())))
    }

    /// Removes a key and gives its value.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// All, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of all keys and values, roughly as many as a checkpoint needs for them.
    pub fn size(&self) -> usize {
        self.0.iter().map(|(key, value)| key.len() + value.size()).sum()
    }

    /// Refuses what is left after every known key was [taken](Settings::take).
    ///
    /// # Errors
    /// [`Error::Config`] naming the first key that is left.
    pub fn expect_empty(&self) -> Result<()> {
        match self.0.keys().next() {
            Some(key) => Err(refused(message!("'{}' is unknown to this program", key))),
            None => Ok(()),
        }
    }
}

fn unless(holds: bool, reason: Message) -> Result<()> {
    Error::unless(holds, "settings", reason)
}

fn refused(reason: Message) -> Error {
    Error::config("settings", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_at_their_edges_and_a_refusal_changes_nothing() {
        let mut settings = Settings::default();
        let yes = || Value::Bool(true);
        for key in ["", "A", "a b", "ä", "\u{1b}", &"k".repeat(65)] {
            assert!(settings.insert(key, yes()).is_err(), "{key}");
        }
        for value in [Value::Float(f32::NAN), Value::Double(f64::INFINITY)] {
            assert!(settings.insert("x", value).is_err());
        }
        let text = |n| Value::Text("t".repeat(n));
        assert!(settings.insert("x", text(Settings::MAX_VALUE + 1)).is_err());
        assert!(settings.is_empty());
        settings.insert(&"k".repeat(64), text(Settings::MAX_VALUE)).unwrap();
        for i in 1..Settings::MAX_KEYS {
            settings.insert(&format!("k{i}"), yes()).unwrap();
        }
        assert!(settings.insert("further", yes()).is_err());
        settings.insert("k1", Value::Whole(2)).unwrap(); // in place of the old one
        assert_eq!((settings.len(), settings.get("k1")), (512, Some(&Value::Whole(2))));
    }

    #[test]
    fn all_together_have_a_limit() {
        let mut settings = Settings::default();
        let mut text = |i: usize, n| settings.insert(&format!("{i:02}"), Value::Bytes(vec![0; n]));
        for i in 0..15 {
            text(i, 4096).unwrap();
        }
        text(15, 4064).unwrap();
        assert!(text(15, 4065).is_err());
        text(15, 4063).unwrap();
        assert!(text(16, 0).is_err());
        assert_eq!(settings.size(), Settings::MAX_SIZE - 1);
    }

    #[test]
    fn lists_are_sorted_and_without_repetition() {
        let pair = |key: &str| (key.to_string(), Value::Bool(false));
        assert!(Settings::from_sorted(vec![pair("a"), pair("b"), pair("b.c")]).is_ok());
        for list in [vec![pair("b"), pair("a")], vec![pair("a"), pair("a")]] {
            assert!(Settings::from_sorted(list).is_err());
        }
    }
}
