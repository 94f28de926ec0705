//! Modern: what the attention is, and the whole behind core's seam.

use crate::grouped::{HeadShape, causal_attention_grouped};
use crate::rotary::KnownAngles;
use llm_core::kernels::attention::{head_views, probs};
use llm_core::kernels::rotary::Angles;
use llm_core::model::{Context, Decode, Parameters, Rotary, SingleHead};
use llm_core::profile::enter;
use llm_core::{Attention, AttentionSpec, Config, Error, Result, Tensor, message, ops};
use std::sync::Arc;

/// H heads with what today's models have, for
/// [`TinyGPT::with_attention`](llm_core::TinyGPT::with_attention).
#[derive(Clone, Debug)]
pub struct Modern {
    pub(crate) spec: AttentionSpec,
    angles: KnownAngles,
}

impl Modern {
    /// The name in [`AttentionSpec`].
    pub const NAME: &'static str = "modern";
    /// The name of multi-head attention there. With every option off, this is it and says so.
    const PLAIN: &'static str = "multi-head";

    /// Multi-head attention: every option is off.
    pub fn new(n_heads: usize) -> Modern {
        Modern { spec: AttentionSpec::new(Modern::NAME, n_heads), angles: KnownAngles::default() }
    }

    /// The attention of a description. Single-head and multi-head attention are this with every option
    /// off.
    ///
    /// # Errors
    /// [`Error::Config`] when the spec describes another attention, or has a setting that is unknown.
    pub fn from_spec(spec: &AttentionSpec) -> Result<Modern> {
        let one = spec.name == SingleHead::NAME && spec.n_heads == 1;
        if one || spec.name == Modern::PLAIN {
            spec.settings()?.expect_empty()?;
        } else if spec.name != Modern::NAME {
            let reason = message!("'{}' is not known here", spec.name.escape_default());
            return Err(Error::config("attention", reason));
        }
        spec.other.expect_empty()?; // a key that is not known here would change what is computed
        Ok(Modern { spec: spec.clone(), angles: KnownAngles::default() })
    }

    /// Grouped queries: H heads of queries over G of keys and values; G divides H.
    pub fn grouped(n_heads: usize, kv_heads: usize) -> Modern {
        Modern::new(n_heads).with(|spec| spec.kv_heads = Some(kv_heads))
    }

    /// Multi-query attention: all heads read the same keys and values.
    pub fn multi_query(n_heads: usize) -> Modern {
        Modern::grouped(n_heads, 1)
    }

    /// HeadShape of D channels, whatever the model's width; C/H by default.
    pub fn with_head_dim(self, head_dim: usize) -> Modern {
        self.with(|spec| spec.head_dim = Some(head_dim))
    }

    /// Rotary position embeddings. The model's [`Config::positions`] have to say so.
    pub fn with_rotary(self, rotary: impl Into<Rotary>) -> Modern {
        let rotary = rotary.into();
        self.with(|spec| spec.rotary = Some(rotary))
    }

    /// A query reads the last `window` positions, its own among them.
    pub fn with_window(self, window: usize) -> Modern {
        self.with(|spec| spec.window = Some(window))
    }

    /// Scores have a soft cap: c·tanh(s/c) stands for s, so that none is beyond ±c.
    pub fn with_soft_cap(self, cap: f64) -> Modern {
        self.with(|spec| spec.soft_cap = Some(cap))
    }

    /// Queries and keys are normed before they are rotated: [`ops::rmsnorm_lastdim`] over a head's
    /// channels, with one gain `[D]` for all heads of queries and one for all of keys.
    pub fn with_qk_norm(self) -> Modern {
        self.with(|spec| spec.qk_norm = true)
    }

    /// Leaves out `b_qkv` and `b_proj`.
    pub fn without_biases(self) -> Modern {
        self.with_biases(false, false)
    }

    /// Sets which projections have a bias, `w_qkv` and `w_proj`; by default both.
    pub fn with_biases(self, qkv_bias: bool, proj_bias: bool) -> Modern {
        self.with(|spec| spec.biases = [qkv_bias, proj_bias])
    }

    /// Some heads of queries switched off: `head_mask [L·H]`, layer by layer, false where a head is
    /// not used.
    pub fn with_head_mask(self, head_mask: Vec<bool>) -> Modern {
        self.with(|spec| spec.head_mask = head_mask)
    }

    fn with(self, change: impl FnOnce(&mut AttentionSpec)) -> Modern {
        let mut spec = self.spec;
        change(&mut spec);
        Modern { spec, angles: KnownAngles::default() }
    }

    /// How a model of this width reads its channels.
    pub(crate) fn heads(&self, d_model: usize) -> HeadShape {
        HeadShape::new(&self.spec, d_model)
    }

    /// The angles of at least n positions, where positions are rotary.
    pub(crate) fn angles(&self, positions: usize, head_dim: usize) -> Option<Arc<Angles>> {
        let rotary = self.spec.rotary.as_ref()?;
        Some(self.angles.of(rotary, positions, head_dim))
    }

    /// The gains of normed queries and keys.
    pub(crate) fn gains<'p>(&self, p: &'p Parameters) -> Result<Option<[&'p Tensor; 2]>> {
        self.spec.qk_norm.then(|| p.named(["q_g", "k_g"])).transpose()
    }

    /// The parameters that are there in any case, and the biases that may be.
    pub(crate) fn projections<'p>(&self, p: &'p Parameters) -> Result<Projections<'p>> {
        let [w_qkv, w_proj] = p.named(["w_qkv", "w_proj"])?;
        let bias = |on: bool, name| on.then(|| p.named([name]).map(|[b]| b)).transpose();
        let [qkv_bias, proj_bias] = self.spec.biases;
        let (b_qkv, b_proj) = (bias(qkv_bias, "b_qkv")?, bias(proj_bias, "b_proj")?);
        Ok(Projections { w_qkv, b_qkv, w_proj, b_proj })
    }
}

/// Parameters of an attention layer.
pub(crate) struct Projections<'p> {
    /// `[C, (H+2G)·D]`
    pub(crate) w_qkv: &'p Tensor,
    /// `[(H+2G)·D]`
    pub(crate) b_qkv: Option<&'p Tensor>,
    /// `[H·D, C]`
    pub(crate) w_proj: &'p Tensor,
    /// `[C]`
    pub(crate) b_proj: Option<&'p Tensor>,
}

impl Attention for Modern {
    /// The name is that of the attention that it is.
    fn spec(&self) -> AttentionSpec {
        let name = match self.spec.is_plain() {
            true if self.spec.n_heads == 1 && self.spec.head_mask.is_empty() => SingleHead::NAME,
            true => Modern::PLAIN,
            false => Modern::NAME,
        };
        let kv_heads = self.spec.kv_heads.filter(|g| *g != self.spec.n_heads);
        AttentionSpec { name: name.into(), kv_heads, ..self.spec.clone() }
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let _span = enter("self_attention_modern");
        let [_, t, c] = x.dims("self_attention_modern", "x of shape [B, T, C]")?;
        let (heads, own) = (self.heads(c), self.projections(p)?);
        let mut qkv = ops::linear_lastdim(x, own.w_qkv, own.b_qkv)?; // [B, T, (H+2G)·D]
        if let Some(gains) = self.gains(p)? {
            qkv = normed(&qkv, heads, gains, ctx.norm_eps)?;
        }
        if let Some(angles) = self.angles(t, heads.head_dim) {
            let turned = heads.n_heads + heads.kv_heads; // queries and keys, not values
            qkv = ops::rotary(&qkv, turned, heads.head_dim, &angles, 0)?;
        }
        let masks = ctx.weight_masks(heads.n_heads * t);
        let y = causal_attention_grouped(&qkv, heads, self.spec.used(ctx.layer), masks)?; // [B, T, H·D]
        let y = show(&qkv, y, heads, &ctx.with_heads(self.spec.used(ctx.layer)))?;
        ops::linear_lastdim(&y, own.w_proj, own.b_proj) // [B, T, C]
    }

    fn cache_row(&self, config: &Config) -> usize {
        self.spec.cache_row(config.d_model)
    }

    fn decode(&self, step: Decode<'_>) -> Result<()> {
        self.next_positions(step)
    }
}

/// qkv with its queries and keys normed, head by head.
fn normed(qkv: &Tensor, heads: HeadShape, [q_g, k_g]: [&Tensor; 2], eps: f32) -> Result<Tensor> {
    let HeadShape { n_heads: h, kv_heads: g, head_dim: d, .. } = heads;
    let [b, t, width] = qkv.dims("qk_norm", "qkv of shape [B, T, (H+2G)·D]")?;
    let rows = ops::reshape(qkv, &[b, t, heads.all(), d])?;
    let q = ops::rmsnorm_lastdim(&ops::slice(&rows, 2, 0, h)?, Some(q_g), eps)?;
    let k = ops::rmsnorm_lastdim(&ops::slice(&rows, 2, h, g)?, Some(k_g), eps)?;
    let v = ops::slice(&rows, 2, h + g, g)?;
    ops::reshape(&ops::concat(&[&q, &k, &v], 2)?, &[b, t, width])
}

/// Shows a probe P of every sequence and head, and what the heads gave; gives back what is to be projected.
fn show(qkv: &Tensor, y: Tensor, heads: HeadShape, ctx: &Context<'_>) -> Result<Tensor> {
    let [b, t, _] = qkv.dims("probe", "qkv of shape [B, T, (H+2G)·D]")?;
    let parts = head_views(qkv.data(), [b, t, heads.all(), heads.head_dim]);
    ctx.show_heads(y, heads.n_heads, |sequence, head| {
        let [q, k, v] = heads.views(&parts, sequence, head);
        (probs(q, k, heads.scoring), v)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::settings::Value;

    #[test]
    fn a_description_comes_back() {
        let everything = Modern::grouped(6, 2).with_head_dim(8).with_rotary(500.0);
        let everything =
            everything.with_window(5).with_soft_cap(30.0).with_qk_norm().with_biases(true, false);
        for attention in [
            Modern::new(1),
            Modern::new(4),
            Modern::new(1).with_head_mask(vec![true, false]),
            Modern::multi_query(4),
            Modern::new(4).with_window(9).with_head_mask(vec![false; 4]),
            everything,
        ] {
            let spec = attention.spec();
            assert_eq!(Modern::from_spec(&spec).unwrap().spec(), spec);
        }
    }

    #[test]
    fn with_every_option_off_it_has_the_name_of_what_it_is() {
        assert_eq!(Modern::new(1).spec(), AttentionSpec::new(SingleHead::NAME, 1));
        assert_eq!(Modern::new(4).spec(), AttentionSpec::new("multi-head", 4));
        assert_eq!(Modern::grouped(4, 4).spec(), AttentionSpec::new("multi-head", 4));
        assert_eq!(Modern::grouped(4, 2).spec().name, Modern::NAME);
    }

    #[test]
    fn a_description_of_another_attention_is_refused() {
        let other = |name: &str, n_heads| {
            let mut spec = AttentionSpec::new(name, n_heads);
            spec.other.insert("sinks", Value::Whole(8)).unwrap();
            spec
        };
        let windowed = AttentionSpec { window: Some(8), ..AttentionSpec::new("multi-head", 4) };
        for (spec, needle) in [
            (AttentionSpec::new("single-head", 4), "'single-head' is not known"),
            (AttentionSpec::new("grouped-query\u{1b}", 4), "\\u{1b}' is not known"),
            (windowed, "'window' is unknown"),
            (other(Modern::NAME, 4), "'sinks' is unknown"),
        ] {
            let refused = Modern::from_spec(&spec).unwrap_err().to_string();
            assert!(refused.contains(needle), "{refused}");
        }
    }
}
