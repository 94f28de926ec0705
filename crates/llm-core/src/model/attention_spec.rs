//! The description of an attention: what it has, not how it is computed. Sizes, parameters, cache and
//! memory follow from it, here and nowhere else.

use super::attention_keys::{Keys, SCALING, refused};
use super::{Config, Param, ParamList, Rotary};
use crate::base::{Error, Message, Result, Settings, Value};
use crate::kernels::attention::Scoring;
use crate::message;
use serde::{Deserialize, Serialize};

/// What a model's attention has, and what a checkpoint says about it. Shapes do not tell one head
/// from several, so without this a multi-head model would load as single-head and compute something
/// else.
///
/// ```
/// use llm_core::model::{AttentionSpec, Rotary};
///
/// // Llama's: four heads of queries over two of keys and values, rotary positions, no biases.
/// let spec = AttentionSpec {
///     kv_heads: Some(2),
///     rotary: Some(Rotary::new(10_000.0)),
///     biases: [false, false],
///     ..AttentionSpec::new("modern", 4)
/// };
/// let c = 64; // the width of the model
/// assert_eq!((spec.head_dim(c), spec.cache_row(c)), (16, 2 * 2 * 16));
/// assert_eq!(spec.settings()?.len(), 4);
/// # Ok::<(), llm_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct AttentionSpec {
    /// `single-head`, `multi-head`, or what an own attention calls itself.
    pub name: String,
    /// H: heads of queries.
    pub n_heads: usize,
    /// G: heads of keys and values, a divisor of H; H by default.
    pub kv_heads: Option<usize>,
    /// D: channels of a head; C/H by default.
    pub head_dim: Option<usize>,
    /// Rotary position embeddings of queries and keys.
    pub rotary: Option<Rotary>,
    /// Positions that a query reads, its own among them; all up to its own by default.
    pub window: Option<usize>,
    /// c of the soft cap of scores: s becomes c·tanh(s/c) before the softmax, so that none is beyond ±c.
    pub soft_cap: Option<f64>,
    /// Queries and keys are normed by RMSNorm, each with one gain `[D]` for all heads.
    pub qk_norm: bool,
    /// Whether `w_qkv` and `w_proj` have a bias.
    pub biases: [bool; 2],
    /// For each layer and head (`[L·H]`, layer by layer) whether the head is used; empty: all are.
    pub head_mask: Vec<bool>,
    /// What core has no field for, under keys that only this attention reads; at most 4 KiB together
    /// with the keys of the fields.
    pub other: Settings,
}

/// Numbers that attention leaves for the backward pass, for each position of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Queries, keys and values: (H+2G)·D.
    pub qkv: usize,
    /// The outputs of the heads: H·D.
    pub heads: usize,
    /// The keys before their norm, G·D; 0 without `qk_norm`. With it the queries stay, too.
    pub normed_keys: usize,
}

impl AttentionSpec {
    /// An attention of this name with H heads and nothing else.
    pub fn new(name: impl Into<String>, n_heads: usize) -> AttentionSpec {
        AttentionSpec {
            name: name.into(),
            n_heads,
            kv_heads: None,
            head_dim: None,
            rotary: None,
            window: None,
            soft_cap: None,
            qk_norm: false,
            biases: [true; 2],
            head_mask: Vec::new(),
            other: Settings::default(),
        }
    }

    /// G: heads of keys and values.
    pub fn kv_heads(&self) -> usize {
        self.kv_heads.unwrap_or(self.n_heads)
    }

    /// D in a model of width C.
    pub fn head_dim(&self, d_model: usize) -> usize {
        self.head_dim.unwrap_or(d_model / self.n_heads.max(1))
    }

    /// How scores come about in a model of width C.
    pub fn scoring(&self, d_model: usize) -> Scoring {
        Scoring {
            soft_cap: self.soft_cap.map(|c| c as f32),
            window: self.window.unwrap_or(usize::MAX),
            ..Scoring::new(self.head_dim(d_model))
        }
    }

    /// H·D: channels of all heads of queries.
    pub fn heads_width(&self, d_model: usize) -> usize {
        self.n_heads.saturating_mul(self.head_dim(d_model))
    }

    /// (H+2G)·D: channels of queries, keys and values.
    pub fn qkv_width(&self, d_model: usize) -> usize {
        self.heads_width(d_model).saturating_add(self.cache_row(d_model))
    }

    /// 2·G·D: numbers of a position's keys and values.
    pub fn cache_row(&self, d_model: usize) -> usize {
        self.kv_heads().saturating_mul(self.head_dim(d_model)).saturating_mul(2)
    }

    /// What a position leaves for the backward pass.
    pub fn kept(&self, d_model: usize) -> Kept {
        let keys = if self.qk_norm { self.cache_row(d_model) / 2 } else { 0 };
        Kept { qkv: self.qkv_width(d_model), heads: self.heads_width(d_model), normed_keys: keys }
    }

    /// Whether this is multi-head attention: every other field has its default, except the mask.
    pub fn is_plain(&self) -> bool {
        let AttentionSpec { name, n_heads, kv_heads, head_mask, .. } = self.clone();
        let plain = AttentionSpec { kv_heads, head_mask, ..AttentionSpec::new(name, n_heads) };
        self.kv_heads() == n_heads && *self == plain
    }

    /// The heads of a layer that are used; empty: all.
    pub fn used(&self, layer: usize) -> &[bool] {
        let first = layer.saturating_mul(self.n_heads);
        self.head_mask.get(first..first.saturating_add(self.n_heads)).unwrap_or(&[])
    }

    /// The parameters of a block's attention: `w_qkv [C, (H+2G)·D]`, `b_qkv`, with `qk_norm` `q_g [D]`
    /// and `k_g [D]`, `w_proj [H·D, C]`, `b_proj`; those of single-head and multi-head attention have
    /// equal shapes for every H.
    pub fn parameters(&self, config: &Config) -> ParamList {
        let c = config.d_model;
        let (wide, joined, d) = (self.qkv_width(c), self.heads_width(c), self.head_dim(c));
        let keys = self.cache_row(c) / 2;
        let [qkv_bias, proj_bias] = self.biases;
        let all = [
            (true, "w_qkv", Param::side_by_side(c, [joined, keys, keys]).sensitive()),
            (qkv_bias, "b_qkv", Param::bias(wide)),
            (self.qk_norm, "q_g", Param::gain(d)),
            (self.qk_norm, "k_g", Param::gain(d)),
            (true, "w_proj", Param::into_stream([joined, c])),
            (proj_bias, "b_proj", Param::bias(c)),
        ];
        all.into_iter().filter(|(on, ..)| *on).map(|(_, name, p)| (name.into(), p)).collect()
    }

    /// Validates the description against a model.
    ///
    /// # Errors
    /// [`Error::Config`] naming the field that does not fit.
    pub fn check(&self, config: &Config) -> Result<()> {
        /// Most channels of all heads of queries.
        const MOST: usize = 4 * Config::MAX_D_MODEL;
        let (h, g, c) = (self.n_heads, self.kv_heads(), config.d_model);
        let err = |field, reason| Err(Error::config(field, reason));
        if h == 0 || self.head_dim.is_none() && !c.is_multiple_of(h) {
            let possible = Message::list((1..=c.min(MOST)).filter(|h| c.is_multiple_of(*h)));
            let reason = message!(
                "{} heads do not divide a width (d_model) of {}; valid values: {}",
                h,
                c,
                possible
            );
            return err("heads", reason);
        }
        if g == 0 || !h.is_multiple_of(g) {
            let possible = Message::list((1..=h.min(MOST)).filter(|g| h.is_multiple_of(*g)));
            let reason = message!("{} do not divide {} heads; valid values: {}", g, h, possible);
            return err("kv_heads", reason);
        }
        let d = self.head_dim(c);
        let fits = d > 0 && h.checked_mul(d).is_some_and(|joined| joined <= MOST);
        let reason =
            message!("{} heads of {} channels: not from 1 to {} channels together", h, d, MOST);
        Error::unless(fits, "head_dim", reason)?;
        if let Some(rotary) = &self.rotary {
            rotary.check(d)?;
        }
        let reason = message!("0 positions: a query sees at least its own");
        Error::unless(self.window != Some(0), "window", reason)?;
        if let Some(c) = self.soft_cap.filter(|c| !(*c as f32 > 0.0 && (*c as f32).is_finite())) {
            return err("soft_cap", message!("{} is not a finite number above 0", c));
        }
        let (found, want) = (self.head_mask.len(), config.n_layers.saturating_mul(h));
        let reason = message!("{} entries for {} heads", found, want);
        Error::unless(found == 0 || found == want, "head_mask", reason)
    }

    /// Every field but name, heads and mask that does not have its default, and [`other`], by key.
    ///
    /// # Errors
    /// [`Error::Config`] when a number is not finite, or `other` has a key of a field.
    ///
    /// [`other`]: AttentionSpec::other
    pub fn settings(&self) -> Result<Settings> {
        // A field that is forgotten here would be lost in every file.
        let AttentionSpec {
            name: _,
            n_heads,
            kv_heads: _,
            head_dim,
            rotary,
            window,
            soft_cap,
            qk_norm,
            biases: [qkv_bias, proj_bias],
            head_mask: _,
            other,
        } = self;
        let (whole, kv_heads) = (|n: usize| Value::Whole(n as u64), self.kv_heads());
        let scaling = rotary.and_then(|rotary| rotary.scaling);
        let fields = [
            ("kv_heads", (kv_heads != *n_heads).then(|| whole(kv_heads))),
            ("head_dim", head_dim.map(whole)),
            ("rotary.theta", rotary.map(|rotary| Value::Double(rotary.theta))),
            ("rotary.width", rotary.and_then(|rotary| rotary.width).map(whole)),
            (SCALING[0], scaling.map(|s| Value::Double(s.factor))),
            (SCALING[1], scaling.map(|s| Value::Double(s.low))),
            (SCALING[2], scaling.map(|s| Value::Double(s.high))),
            (SCALING[3], scaling.map(|s| whole(s.original))),
            ("window", window.map(whole)),
            ("soft_cap", soft_cap.map(Value::Double)),
            ("qk_norm", qk_norm.then_some(Value::Bool(true))),
            ("qkv_bias", (!qkv_bias).then_some(Value::Bool(false))),
            ("proj_bias", (!proj_bias).then_some(Value::Bool(false))),
        ];
        let mut settings = other.clone();
        for (key, value) in fields {
            if settings.get(key).is_some() {
                return Err(refused(message!("'{}' is a field of the description", key)));
            }
            if let Some(value) = value {
                settings.insert(key, value)?;
            }
        }
        Ok(settings)
    }

    /// What a border asks before it lets a description through: nothing here goes beyond `keys`, of
    /// those that [`AttentionSpec::settings`] gives and `head_mask`; `rotary` is every key of rotary
    /// positions. Name and heads are not asked for.
    ///
    /// ```
    /// use llm_core::AttentionSpec;
    ///
    /// let spec = AttentionSpec { window: Some(8), ..AttentionSpec::new("modern", 4) };
    /// assert_eq!(spec.only(&["kv_heads", "window"]), Ok(()));
    /// assert_eq!(spec.only(&["kv_heads"]), Err("window".to_string()));
    /// ```
    ///
    /// # Errors
    /// The first key that is not among them.
    pub fn only(&self, keys: &[&str]) -> std::result::Result<(), String> {
        let settings = self.settings().map_err(|_| "attention")?;
        let masked = (!self.head_mask.is_empty()).then_some("head_mask");
        let mut all = settings.iter().map(|(key, _)| key).chain(masked);
        let is_known = |key: &str| {
            let rotary = key.starts_with("rotary.") && keys.contains(&"rotary");
            rotary || keys.contains(&key)
        };
        all.find(|key| !is_known(key)).map_or(Ok(()), |key| Err(key.to_string()))
    }

    /// The description with what [`AttentionSpec::settings`] gave; unknown keys go to
    /// [`AttentionSpec::other`].
    ///
    /// # Errors
    /// [`Error::Config`] when the value of a field is of another type, or a part of the rotary
    /// positions is missing.
    pub fn with_settings(self, settings: Settings) -> Result<AttentionSpec> {
        let mut left = Keys::new(settings);
        let (theta, width) = (left.double("rotary.theta")?, left.whole("rotary.width")?);
        let scaling = left.scaling()?;
        let rotary = match (theta, width, scaling) {
            (Some(theta), ..) => Some(Rotary { theta, width, scaling }),
            (None, Some(_), _) => {
                return Err(refused(message!("'rotary.width' without 'rotary.theta'")));
            }
            (None, _, Some(_)) => {
                return Err(refused(message!("a rotary.scaling without 'rotary.theta'")));
            }
            (None, None, None) => None,
        };
        Ok(AttentionSpec {
            kv_heads: left.whole("kv_heads")?,
            head_dim: left.whole("head_dim")?,
            rotary,
            window: left.whole("window")?,
            soft_cap: left.double("soft_cap")?,
            qk_norm: left.yes("qk_norm")?.unwrap_or(false),
            biases: [left.yes("qkv_bias")?.unwrap_or(true), left.yes("proj_bias")?.unwrap_or(true)],
            other: left.rest(),
            ..self
        })
    }
}

/// As files hold it.
#[derive(Serialize, Deserialize)]
struct Stored {
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

#[cfg(test)]
mod tests;
