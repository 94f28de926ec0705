//! The attention of today's models in an [`AttentionSpec`]: what it is called there, and its settings
//! by their keys. Formats that hold such models are read into this and written from it; how the
//! attention is made is the caller's choice.

use llm_core::AttentionSpec;
use llm_core::settings::{Settings, Value};

/// Its name in an [`AttentionSpec`].
pub const NAME: &str = "modern";

/// Of the four settings of a scaling, which come together, the first.
const FACTOR: &str = "rotary.scaling.factor";

/// What it is. Defaults are multi-head attention's.
#[derive(Clone, Debug, PartialEq)]
pub struct ModernSpec {
    /// H.
    pub n_heads: usize,
    /// G: heads of keys and of values.
    pub kv_heads: usize,
    /// D; none: C/H.
    pub head_dim: Option<usize>,
    /// θ of rotary positions; none: there are no such.
    pub theta: Option<f64>,
    /// Channels of a head that are turned; none: all.
    pub rotary_width: Option<usize>,
    /// Slow pairs are slowed down as Llama 3 has it.
    pub scaling: Option<SlowedPairs>,
    /// Positions that a query sees; none: all up to its own.
    pub window: Option<usize>,
    /// Queries and keys are normed, with a gain each.
    pub qk_norm: bool,
    /// The projection to queries, keys and values adds a bias.
    pub qkv_bias: bool,
    /// The projection back adds one.
    pub proj_bias: bool,
}

/// The numbers of Llama 3's scaling of rotary positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowedPairs {
    /// By how much the slowest pairs are slowed down.
    pub factor: f64,
    /// Rounds in `original` positions up to which a pair is slowed down wholly.
    pub low: f64,
    /// Rounds from which on it is not.
    pub high: f64,
    /// Positions of the texts that were learnt first.
    pub original: usize,
}

/// Why a description is not one of this attention.
#[derive(Clone, Debug, PartialEq)]
pub enum Unread {
    /// It is of another.
    Attention,
    /// It has this setting, which is not known here or not a value of its kind, or lacks what goes with it.
    Setting(String),
}

impl ModernSpec {
    /// Multi-head attention with H heads.
    pub fn new(n_heads: usize) -> ModernSpec {
        ModernSpec {
            n_heads,
            kv_heads: n_heads,
            head_dim: None,
            theta: None,
            rotary_width: None,
            scaling: None,
            window: None,
            qk_norm: false,
            qkv_bias: true,
            proj_bias: true,
        }
    }

    /// D in a model of width C.
    pub fn head_dim(&self, d_model: usize) -> usize {
        self.head_dim.unwrap_or(d_model / self.n_heads.max(1))
    }

    /// What a description says, if it [is](ModernSpec::of) one of this attention.
    pub fn read(spec: &AttentionSpec) -> Option<ModernSpec> {
        ModernSpec::of(spec).ok()
    }

    /// What a description says. The heads that are switched off are not part of it.
    ///
    /// # Errors
    /// [`Unread`]: it is of another attention, or has a setting that is not known here.
    pub fn of(spec: &AttentionSpec) -> Result<ModernSpec, Unread> {
        if spec.name != NAME {
            return Err(Unread::Attention);
        }
        let mut read = ModernSpec::new(spec.n_heads);
        let mut scaling = [None; 3];
        let mut original = None;
        for (key, value) in spec.settings.iter() {
            let unread = || Unread::Setting(key.into());
            let whole = || match value {
                Value::Whole(n) => usize::try_from(*n).map_err(|_| unread()),
                _ => Err(unread()),
            };
            let number = || match value {
                Value::Double(x) => Ok(*x),
                _ => Err(unread()),
            };
            let yes = || match value {
                Value::Bool(yes) => Ok(*yes),
                _ => Err(unread()),
            };
            match key {
                "kv_heads" => read.kv_heads = whole()?,
                "head_dim" => read.head_dim = Some(whole()?),
                "rotary.theta" => read.theta = Some(number()?),
                "rotary.width" => read.rotary_width = Some(whole()?),
                FACTOR => scaling[0] = Some(number()?),
                "rotary.scaling.low" => scaling[1] = Some(number()?),
                "rotary.scaling.high" => scaling[2] = Some(number()?),
                "rotary.scaling.original" => original = Some(whole()?),
                "window" => read.window = Some(whole()?),
                "qk_norm" => read.qk_norm = yes()?,
                "qkv_bias" => read.qkv_bias = yes()?,
                "proj_bias" => read.proj_bias = yes()?,
                _ => return Err(unread()),
            }
        }
        read.scaling = match (scaling, original) {
            ([None, None, None], None) => None,
            ([Some(factor), Some(low), Some(high)], Some(original)) => {
                Some(SlowedPairs { factor, low, high, original })
            }
            _ => return Err(Unread::Setting(FACTOR.into())),
        };
        Ok(read)
    }

    /// The description, as [`ModernSpec::read`] reads it.
    ///
    /// # Errors
    /// [`llm_core::Error::Config`] when a number is not finite.
    pub fn spec(&self) -> llm_core::Result<AttentionSpec> {
        let whole = |n: usize| Value::Whole(n as u64);
        let scaling = self.scaling;
        let all = [
            ("kv_heads", (self.kv_heads != self.n_heads).then(|| whole(self.kv_heads))),
            ("head_dim", self.head_dim.map(whole)),
            ("rotary.theta", self.theta.map(Value::Double)),
            ("rotary.width", self.rotary_width.map(whole)),
            (FACTOR, scaling.map(|s| Value::Double(s.factor))),
            ("rotary.scaling.low", scaling.map(|s| Value::Double(s.low))),
            ("rotary.scaling.high", scaling.map(|s| Value::Double(s.high))),
            ("rotary.scaling.original", scaling.map(|s| whole(s.original))),
            ("window", self.window.map(whole)),
            ("qk_norm", self.qk_norm.then_some(Value::Bool(true))),
            ("qkv_bias", (!self.qkv_bias).then_some(Value::Bool(false))),
            ("proj_bias", (!self.proj_bias).then_some(Value::Bool(false))),
        ];
        let mut settings = Settings::default();
        for (key, value) in all {
            if let Some(value) = value {
                settings.insert(key, value)?;
            }
        }
        Ok(AttentionSpec { settings, ..AttentionSpec::new(NAME, self.n_heads) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::Attention;
    use llm_variant_modern::{Modern, RotaryScaling};

    /// What is written here is what the attention itself says, and the other way round.
    #[test]
    fn descriptions_are_those_of_the_attention() {
        let slowed = RotaryScaling { factor: 8.0, low: 1.0, high: 4.0, original: 8192 };
        let some = Modern::grouped(6, 2).with_head_dim(8).with_partial_rotary(500.0, 4);
        for attention in [
            Modern::grouped(4, 2),
            Modern::new(4).with_rotary(10_000.0).without_biases(),
            some.clone().with_window(5).with_qk_norm().with_biases(true, false),
            some.with_rotary_scaling(slowed).with_biases(false, true),
        ] {
            let spec = attention.spec();
            let read = ModernSpec::read(&spec).unwrap();
            assert_eq!(read.spec().unwrap(), spec);
            assert_eq!(Modern::from_spec(&read.spec().unwrap()).unwrap().spec(), spec);
        }
    }

    #[test]
    fn another_attention_is_none() {
        let mut spec = AttentionSpec::new("multi-head", 4);
        assert_eq!(ModernSpec::of(&spec), Err(Unread::Attention));
        spec.name = NAME.into();
        assert_eq!(ModernSpec::of(&spec), Ok(ModernSpec::new(4)));
        for (key, value) in [
            ("sinks", Value::Whole(4)),
            ("window", Value::Bool(true)),
            ("rotary.theta", Value::Whole(1)),
            ("qk_norm", Value::Whole(1)),
            ("rotary.scaling.low", Value::Double(1.0)),
        ] {
            let mut spec = spec.clone();
            spec.settings.insert(key, value).unwrap();
            let said = if key.contains("scaling") { FACTOR } else { key };
            assert_eq!(ModernSpec::of(&spec), Err(Unread::Setting(said.into())));
            assert_eq!(ModernSpec::read(&spec), None);
        }
    }
}
