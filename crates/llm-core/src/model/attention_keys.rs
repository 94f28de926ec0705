//! The description of an attention in a file: what is written, and how its keys are read.

use super::{AttentionSpec, RotaryScaling};
use crate::base::{Error, Message, Result, Settings, Value};
use crate::message;
use serde::{Deserialize, Serialize};

/// The keys of a scaling of rotary positions: all of them are there, or none.
pub(super) const SCALING: [&str; 4] = [
    "rotary.scaling.factor",
    "rotary.scaling.low",
    "rotary.scaling.high",
    "rotary.scaling.original",
];

/// As files hold it.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    name: String,
    n_heads: usize,
    head_mask: Vec<bool>,
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    settings: Settings,
}

/// What cannot be stored is refused where the description is checked.
impl From<AttentionSpec> for Stored {
    fn from(spec: AttentionSpec) -> Stored {
        let settings = spec.settings().unwrap_or_default();
        let AttentionSpec { name, n_heads, head_mask, .. } = spec;
        Stored { name, n_heads, head_mask, settings }
    }
}

impl TryFrom<Stored> for AttentionSpec {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<AttentionSpec> {
        let Stored { name, n_heads, head_mask, settings } = stored;
        let plain = AttentionSpec { head_mask, ..AttentionSpec::new(name, n_heads) };
        plain.with_settings(settings)
    }
}

pub(super) fn refused(reason: Message) -> Error {
    Error::config("attention", reason)
}

/// Settings by key, taken out one by one.
pub(super) struct Keys(Settings);

impl Keys {
    pub(super) fn new(settings: Settings) -> Keys {
        Keys(settings)
    }

    /// What no one took.
    pub(super) fn rest(self) -> Settings {
        self.0
    }

    pub(super) fn whole(&mut self, key: &str) -> Result<Option<usize>> {
        self.take(key, message!("a whole number"), |value| match value {
            Value::Whole(n) => usize::try_from(*n).ok(),
            _ => None,
        })
    }

    pub(super) fn double(&mut self, key: &str) -> Result<Option<f64>> {
        self.take(key, message!("a double-precision number"), |value| match value {
            Value::Double(x) => Some(*x),
            _ => None,
        })
    }

    pub(super) fn yes(&mut self, key: &str) -> Result<Option<bool>> {
        self.take(key, message!("yes or no"), |value| match value {
            Value::Bool(yes) => Some(*yes),
            _ => None,
        })
    }

    /// All four of its numbers, or none of them.
    pub(super) fn scaling(&mut self) -> Result<Option<RotaryScaling>> {
        let [factor, low, high, original] = SCALING;
        let [factor, low, high] = [self.double(factor)?, self.double(low)?, self.double(high)?];
        match (factor, low, high, self.whole(original)?) {
            (None, None, None, None) => Ok(None),
            (Some(factor), Some(low), Some(high), Some(original)) => {
                Ok(Some(RotaryScaling { factor, low, high, original }))
            }
            _ => Err(refused(message!("a part of rotary.scaling is missing"))),
        }
    }

    fn take<T>(
        &mut self,
        key: &str,
        needed: Message,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.0.take(key) else { return Ok(None) };
        let wrong =
            || refused(message!("'{}' is {}, needed is {}", key, value.to_string(), needed));
        read(&value).map(Some).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Rotary;

    fn everything() -> AttentionSpec {
        let scaling = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
        let mut other = Settings::default();
        other.insert("sinks", Value::Whole(4)).unwrap();
        AttentionSpec {
            kv_heads: Some(2),
            head_dim: Some(8),
            rotary: Some(Rotary { theta: 500.0, width: Some(4), scaling: Some(scaling) }),
            window: Some(5),
            qk_norm: true,
            biases: [true, false],
            head_mask: vec![true; 6],
            other,
            ..AttentionSpec::new("own", 6)
        }
    }

    #[test]
    fn a_description_comes_back_by_its_keys() {
        let plain = AttentionSpec::new("multi-head", 4);
        assert!(plain.settings().unwrap().is_empty());
        let alone = |spec: &AttentionSpec| AttentionSpec {
            head_mask: spec.head_mask.clone(),
            ..AttentionSpec::new(spec.name.as_str(), spec.n_heads)
        };
        for spec in [plain, everything()] {
            let again = alone(&spec).with_settings(spec.settings().unwrap()).unwrap();
            assert_eq!(again, spec);
        }
        assert_eq!(everything().settings().unwrap().len(), 12);
    }

    #[test]
    fn invalid_keys_are_refused() {
        let of = |key: &str, value| {
            let mut settings = Settings::default();
            settings.insert(key, value).unwrap();
            AttentionSpec::new("own", 4).with_settings(settings)
        };
        for (key, value, needle) in [
            ("window", Value::Bool(true), "'window' is true"),
            ("qk_norm", Value::Whole(1), "'qk_norm' is 1"),
            ("rotary.width", Value::Whole(8), "without 'rotary.theta'"),
            ("rotary.scaling.low", Value::Double(1.0), "is missing"),
        ] {
            let refused = of(key, value).unwrap_err().to_string();
            assert!(refused.contains(needle), "{refused}");
        }
        let mut twice = everything();
        twice.other.insert("window", Value::Whole(9)).unwrap();
        assert!(twice.settings().unwrap_err().to_string().contains("is a field"));
        let endless = Rotary::new(f64::INFINITY);
        assert!(AttentionSpec { rotary: Some(endless), ..everything() }.settings().is_err());
    }
}
