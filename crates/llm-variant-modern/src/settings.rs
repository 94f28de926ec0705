//! What a checkpoint says of the attention, and the attention made of it again.

use crate::modern::Modern;
use crate::rotary::{Rotary, RotaryScaling};
use llm_core::base::Message;
use llm_core::model::SingleHead;
use llm_core::settings::{Settings, Value};
use llm_core::{AttentionSpec, Error, Result, message};

impl Modern {
    /// The name in [`AttentionSpec`].
    pub const NAME: &'static str = "modern";
    /// What multi-head attention is called there. With nothing on, this is it and says so.
    const PLAIN: &'static str = "multi-head";

    /// Makes it again from what a checkpoint says. Single-head and multi-head attention are this with
    /// nothing on.
    ///
    /// # Errors
    /// [`Error::Config`] when the spec describes another attention, or has a setting that is unknown
    /// or of another type.
    pub fn from_spec(spec: &AttentionSpec) -> Result<Modern> {
        let AttentionSpec { name, n_heads, head_mask, settings } = spec.clone();
        let plain = Modern::new(n_heads).with_head_mask(head_mask);
        let one = name == SingleHead::NAME && n_heads == 1;
        if one || name == Modern::PLAIN {
            settings.expect_empty()?;
            return Ok(plain);
        }
        if name != Modern::NAME {
            let reason = message!("'{}' is not known here", name.escape_default());
            return Err(Error::config("attention", reason));
        }
        let mut left = Keys(settings);
        let theta = left.number("rotary.theta")?;
        let width = left.whole("rotary.width")?;
        if theta.is_none() && width.is_some() {
            return Err(Error::config(
                "attention",
                message!("'rotary.width' without 'rotary.theta'"),
            ));
        }
        let scaling = left.scaling()?;
        if theta.is_none() && scaling.is_some() {
            return Err(Error::config(
                "attention",
                message!("a rotary.scaling without 'rotary.theta'"),
            ));
        }
        let rotary = theta.map(|theta| Rotary::new(theta, width));
        let made = Modern {
            kv_heads: left.whole("kv_heads")?.unwrap_or(n_heads),
            head_dim: left.whole("head_dim")?,
            rotary: match scaling {
                Some(scaling) => rotary.map(|rotary| rotary.scaled(scaling)),
                None => rotary,
            },
            window: left.whole("window")?,
            qk_norm: left.yes("qk_norm")?.unwrap_or(false),
            qkv_bias: left.yes("qkv_bias")?.unwrap_or(true),
            proj_bias: left.yes("proj_bias")?.unwrap_or(true),
            ..plain
        };
        left.0.expect_empty()?; // a key that is not known here would change what is computed
        Ok(made)
    }

    /// Settings that are as in multi-head attention are left out.
    pub(crate) fn described(&self) -> AttentionSpec {
        let name = match self.is_plain() {
            true if self.n_heads == 1 && self.head_mask.is_empty() => SingleHead::NAME,
            true => Modern::PLAIN,
            false => Modern::NAME,
        };
        let head_mask = self.head_mask.clone();
        let mut spec = AttentionSpec { head_mask, ..AttentionSpec::new(name, self.n_heads) };
        let whole = |n: usize| Value::Whole(n as u64);
        let (rotary, kv_heads) = (self.rotary.as_ref(), self.kv_heads);
        let scaling = rotary.and_then(|rotary| rotary.scaling);
        let settings = [
            ("kv_heads", (kv_heads != self.n_heads).then(|| whole(kv_heads))),
            ("head_dim", self.head_dim.map(whole)),
            ("rotary.theta", rotary.map(|rotary| Value::Double(rotary.theta))),
            ("rotary.width", rotary.and_then(|rotary| rotary.width).map(whole)),
            ("rotary.scaling.factor", scaling.map(|s| Value::Double(s.factor))),
            ("rotary.scaling.low", scaling.map(|s| Value::Double(s.low))),
            ("rotary.scaling.high", scaling.map(|s| Value::Double(s.high))),
            ("rotary.scaling.original", scaling.map(|s| whole(s.original))),
            ("window", self.window.map(whole)),
            ("qk_norm", self.qk_norm.then_some(Value::Bool(true))),
            ("qkv_bias", (!self.qkv_bias).then_some(Value::Bool(false))),
            ("proj_bias", (!self.proj_bias).then_some(Value::Bool(false))),
        ];
        for (key, value) in settings {
            if let Some(value) = value {
                // A number that cannot be stored is refused where the attention is checked.
                let _ = spec.settings.insert(key, value);
            }
        }
        spec
    }
}

/// Settings by key, taken out one by one.
struct Keys(Settings);

impl Keys {
    fn whole(&mut self, key: &str) -> Result<Option<usize>> {
        self.take(key, message!("a whole number"), |value| match value {
            Value::Whole(n) => usize::try_from(*n).ok(),
            _ => None,
        })
    }

    fn number(&mut self, key: &str) -> Result<Option<f64>> {
        self.take(key, message!("a double-precision number"), |value| match value {
            Value::Double(x) => Some(*x),
            _ => None,
        })
    }

    fn yes(&mut self, key: &str) -> Result<Option<bool>> {
        self.take(key, message!("yes or no"), |value| match value {
            Value::Bool(yes) => Some(*yes),
            _ => None,
        })
    }

    /// All four of its numbers, or none of them.
    fn scaling(&mut self) -> Result<Option<RotaryScaling>> {
        let factor = self.number("rotary.scaling.factor")?;
        let [low, high] = [self.number("rotary.scaling.low")?, self.number("rotary.scaling.high")?];
        match (factor, low, high, self.whole("rotary.scaling.original")?) {
            (None, None, None, None) => Ok(None),
            (Some(factor), Some(low), Some(high), Some(original)) => {
                Ok(Some(RotaryScaling { factor, low, high, original }))
            }
            _ => Err(Error::config("attention", message!("a part of rotary.scaling is missing"))),
        }
    }

    fn take<T>(
        &mut self,
        key: &str,
        needed: Message,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.0.take(key) else { return Ok(None) };
        let wrong = || {
            Error::config(
                "attention",
                message!("'{}' is {}, needed is {}", key, value.to_string(), needed),
            )
        };
        read(&value).map(Some).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Attention;

    fn everything() -> Modern {
        let some = Modern::grouped(6, 2).with_head_dim(8).with_partial_rotary(500.0, 4);
        some.with_window(5).with_qk_norm().with_biases(true, false)
    }

    const SCALING: RotaryScaling =
        RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };

    #[test]
    fn a_description_comes_back() {
        for attention in [
            Modern::new(1),
            Modern::new(4),
            Modern::new(1).with_head_mask(vec![true, false]),
            Modern::multi_query(4),
            Modern::new(4).with_rotary(10_000.0),
            Modern::new(4).with_window(9).with_head_mask(vec![false; 4]),
            Modern::new(4).without_biases(),
            everything(),
            everything().with_rotary_scaling(SCALING),
        ] {
            let spec = attention.spec();
            assert_eq!(Modern::from_spec(&spec).unwrap().spec(), spec);
        }
        let all = everything().spec();
        assert_eq!((all.name.as_str(), all.settings.iter().count()), (Modern::NAME, 7));
    }

    #[test]
    fn with_nothing_on_it_is_called_what_it_is() {
        assert_eq!(Modern::new(1).spec(), AttentionSpec::new(SingleHead::NAME, 1));
        assert_eq!(Modern::new(4).spec(), AttentionSpec::new("multi-head", 4));
        assert_eq!(Modern::grouped(4, 4).spec().name, "multi-head");
    }

    #[test]
    fn a_description_of_another_attention_is_refused() {
        let of = |name: &str, n_heads, key: &str, value| {
            let mut spec = AttentionSpec::new(name, n_heads);
            spec.settings.insert(key, value).unwrap();
            spec
        };
        for (spec, needle) in [
            (AttentionSpec::new("single-head", 4), "'single-head' is not known"),
            (AttentionSpec::new("grouped-query\u{1b}", 4), "\\u{1b}' is not known"),
            (of("multi-head", 4, "window", Value::Whole(8)), "'window' is unknown"),
            (of(Modern::NAME, 4, "sinks", Value::Whole(8)), "'sinks' is unknown"),
            (of(Modern::NAME, 4, "window", Value::Bool(true)), "'window' is true"),
            (of(Modern::NAME, 4, "qk_norm", Value::Whole(1)), "'qk_norm' is 1"),
            (of(Modern::NAME, 4, "rotary.width", Value::Whole(8)), "without 'rotary.theta'"),
            (of(Modern::NAME, 4, "rotary.scaling.low", Value::Double(1.0)), "is missing"),
        ] {
            let refused = Modern::from_spec(&spec).unwrap_err().to_string();
            assert!(refused.contains(needle), "{refused}");
        }
    }
}
