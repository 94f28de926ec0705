//! An attention's description as numbers. This crate knows no variant: it knows what the descriptions
//! say of which heads there are, and makes them.

use crate::error::{FormatError, Result, shown};
use crate::imported::SEVERAL;
use crate::modern_spec::{ModernSpec, Unread};
use llm_core::base::Message;
use llm_core::model::SingleHead;
use llm_core::{AttentionSpec, message};

/// Which heads an attention has, and what is done to them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// H.
    pub(super) n_heads: usize,
    /// G.
    pub(super) kv_heads: usize,
    /// D.
    pub(super) head_dim: usize,
    /// θ of rotary positions, if it has them.
    pub(super) theta: Option<f64>,
    /// Queries and keys are normed.
    pub(super) qk_norm: bool,
    pub(super) qkv_bias: bool,
    pub(super) proj_bias: bool,
}

impl Layout {
    /// Multi-head attention.
    pub(super) fn plain(n_heads: usize, d_model: usize) -> Layout {
        Layout {
            n_heads,
            kv_heads: n_heads,
            head_dim: d_model / n_heads.max(1),
            theta: None,
            qk_norm: false,
            qkv_bias: true,
            proj_bias: true,
        }
    }

    /// (H+2G)·D: numbers of a position's queries, keys and values.
    pub(super) fn wide(&self) -> usize {
        (self.n_heads + 2 * self.kv_heads) * self.head_dim
    }

    /// Of a description.
    ///
    /// # Errors
    /// In words, what it has that a GGUF file cannot say.
    pub(super) fn of(spec: &AttentionSpec, d_model: usize) -> Result<Layout, Message> {
        let plain = Layout::plain(spec.n_heads, d_model);
        if [SingleHead::NAME, SEVERAL].contains(&spec.name.as_str()) {
            return Ok(plain);
        }
        let own = ModernSpec::of(spec).map_err(|why| match why {
            Unread::Attention => message!("'{}' attention", shown(&spec.name)),
            Unread::Setting(key) => message!("attention with '{}'", shown(&key)),
        })?;
        let head_dim = own.head_dim(d_model);
        let ModernSpec { n_heads, kv_heads, head_dim: _, theta, qk_norm, .. } = own;
        let ModernSpec { qkv_bias, proj_bias, rotary_width, scaling, window, .. } = own;
        if window.is_some() {
            return Err(message!("a window of the last positions (window)"));
        }
        if rotary_width.is_some() {
            return Err(message!("heads that are turned in part (rotary.width)"));
        }
        if scaling.is_some() {
            return Err(message!("rotary positions that are slowed down (rotary.scaling.factor)"));
        }
        Ok(Layout { n_heads, kv_heads, head_dim, theta, qk_norm, qkv_bias, proj_bias })
    }

    /// As a description. What is as in multi-head attention is left out.
    pub(super) fn spec(&self, d_model: usize) -> Result<AttentionSpec> {
        let plain = Layout::plain(self.n_heads, d_model);
        if *self == plain {
            let name = if self.n_heads == 1 { SingleHead::NAME } else { SEVERAL };
            return Ok(AttentionSpec::new(name, self.n_heads));
        }
        let Layout { n_heads, kv_heads, theta, qk_norm, qkv_bias, proj_bias, .. } = *self;
        let head_dim = (self.head_dim != plain.head_dim).then_some(self.head_dim);
        let own = ModernSpec { kv_heads, head_dim, theta, qk_norm, ..ModernSpec::new(n_heads) };
        let spec = ModernSpec { qkv_bias, proj_bias, ..own }.spec();
        spec.map_err(FormatError::Refused)
    }
}
