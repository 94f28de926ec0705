//! Modern: what the attention is, and the whole behind core's seam.

use crate::grouped::{Heads, causal_attention_grouped};
use crate::rotary::{Rotary, RotaryScaling};
use llm_core::kernels::attention::{head_views, probs_within};
use llm_core::model::{Context, Decode, Param, ParamList, Parameters};
use llm_core::ndarray::{ArrayView2, ArrayView3};
use llm_core::profile::enter;
use llm_core::{Attention, AttentionSpec, Config, Result, Tensor, ops};

/// H heads with what today's models have, for
/// [`TinyGPT::with_attention`](llm_core::TinyGPT::with_attention).
#[derive(Clone, Debug)]
pub struct Modern {
    pub(crate) n_heads: usize,
    /// G.
    pub(crate) kv_heads: usize,
    /// D; none: C/H.
    pub(crate) head_dim: Option<usize>,
    pub(crate) rotary: Option<Rotary>,
    /// None: all positions.
    pub(crate) window: Option<usize>,
    /// Queries and keys are normed, each with a gain for all its heads.
    pub(crate) qk_norm: bool,
    /// Of the projection to queries, keys and values.
    pub(crate) qkv_bias: bool,
    /// Of the projection back.
    pub(crate) proj_bias: bool,
    /// `[L·H]`, layer by layer; empty: every head is used.
    pub(crate) head_mask: Vec<bool>,
}

impl Modern {
    /// Multi-head attention: everything else is off.
    pub fn new(n_heads: usize) -> Modern {
        Modern {
            n_heads,
            kv_heads: n_heads,
            head_dim: None,
            rotary: None,
            window: None,
            qk_norm: false,
            qkv_bias: true,
            proj_bias: true,
            head_mask: Vec::new(),
        }
    }

    /// Grouped queries: H heads of queries over G of keys and values; G divides H.
    pub fn grouped(n_heads: usize, kv_heads: usize) -> Modern {
        Modern { kv_heads, ..Modern::new(n_heads) }
    }

    /// Multi-query attention: all heads read the same keys and values.
    pub fn multi_query(n_heads: usize) -> Modern {
        Modern::grouped(n_heads, 1)
    }

    /// Heads of D channels, whatever the model's width; C/H otherwise.
    pub fn with_head_dim(self, head_dim: usize) -> Modern {
        Modern { head_dim: Some(head_dim), ..self }
    }

    /// Rotary positions: queries and keys are turned by angles `position·θ^(−2i/D)`. The model's
    /// [`Config::positions`] have to say so.
    pub fn with_rotary(self, theta: f64) -> Modern {
        Modern { rotary: Some(Rotary::new(theta, None)), ..self }
    }

    /// The same for the first `width` channels of each head alone, an even number.
    pub fn with_partial_rotary(self, theta: f64, width: usize) -> Modern {
        Modern { rotary: Some(Rotary::new(theta, Some(width))), ..self }
    }

    /// Rotary positions whose slow pairs are slowed down, see [`RotaryScaling`]; nothing without
    /// rotary positions.
    pub fn with_rotary_scaling(self, scaling: RotaryScaling) -> Modern {
        Modern { rotary: self.rotary.map(|rotary| rotary.scaled(scaling)), ..self }
    }

    /// A query sees the last `window` positions, its own among them.
    pub fn with_window(self, window: usize) -> Modern {
        Modern { window: Some(window), ..self }
    }

    /// Queries and keys are normed before they are turned: [`ops::rmsnorm_lastdim`] over a head's
    /// channels, with one gain `[D]` for all heads of queries and one for all of keys.
    pub fn with_qk_norm(self) -> Modern {
        Modern { qk_norm: true, ..self }
    }

    /// No `b_qkv` and no `b_proj`.
    pub fn without_biases(self) -> Modern {
        self.with_biases(false, false)
    }

    /// Has it `b_qkv`, and has it `b_proj`? Both, unless said otherwise.
    pub fn with_biases(self, qkv_bias: bool, proj_bias: bool) -> Modern {
        Modern { qkv_bias, proj_bias, ..self }
    }

    /// Some heads of queries switched off: `head_mask [L·H]`, layer by layer, false where a head is
    /// not used.
    pub fn with_head_mask(self, head_mask: Vec<bool>) -> Modern {
        Modern { head_mask, ..self }
    }

    /// G.
    pub fn kv_heads(&self) -> usize {
        self.kv_heads
    }

    /// D, where it was said; C/H otherwise.
    pub fn own_head_dim(&self) -> Option<usize> {
        self.head_dim
    }

    /// θ of rotary positions, where there are some.
    pub fn theta(&self) -> Option<f64> {
        self.rotary.as_ref().map(|rotary| rotary.theta)
    }

    /// Are slow pairs slowed down further? See [`Modern::with_rotary_scaling`].
    pub fn is_slowed(&self) -> bool {
        self.rotary.as_ref().is_some_and(|rotary| rotary.scaling.is_some())
    }

    /// Channels of a head that are turned, where it is not all.
    pub fn rotary_dim(&self) -> Option<usize> {
        self.rotary.as_ref().and_then(|rotary| rotary.width)
    }

    /// Positions that a query sees, where it is not all.
    pub fn window(&self) -> Option<usize> {
        self.window
    }

    /// Are queries and keys normed?
    pub fn has_qk_norm(&self) -> bool {
        self.qk_norm
    }

    /// Has it `b_qkv`, and has it `b_proj`?
    pub fn biases(&self) -> [bool; 2] {
        [self.qkv_bias, self.proj_bias]
    }

    /// Is nothing on?
    pub(crate) fn is_plain(&self) -> bool {
        let Modern { n_heads, kv_heads, head_dim, rotary, window, qk_norm, .. } = self;
        let shape = kv_heads == n_heads && head_dim.is_none() && self.qkv_bias && self.proj_bias;
        shape && rotary.is_none() && window.is_none() && !qk_norm
    }

    /// How a model of this width reads its channels.
    pub(crate) fn heads(&self, d_model: usize) -> Heads {
        Heads {
            n_heads: self.n_heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim.unwrap_or(d_model / self.n_heads.max(1)),
            window: self.window.unwrap_or(usize::MAX),
        }
    }

    /// Which heads of a layer are used; empty: all.
    pub(crate) fn kept(&self, layer: usize) -> &[bool] {
        self.head_mask.get(layer * self.n_heads..(layer + 1) * self.n_heads).unwrap_or(&[])
    }

    /// The parameters that are there in any case, and the biases that may be.
    pub(crate) fn projections<'p>(&self, p: &'p Parameters) -> Result<Projections<'p>> {
        let [w_qkv, w_proj] = p.named(["w_qkv", "w_proj"])?;
        let bias = |on: bool, name| on.then(|| p.named([name]).map(|[b]| b)).transpose();
        let (b_qkv, b_proj) = (bias(self.qkv_bias, "b_qkv")?, bias(self.proj_bias, "b_proj")?);
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
    fn spec(&self) -> AttentionSpec {
        self.described()
    }

    fn check(&self, config: &Config) -> Result<()> {
        self.fits(config)
    }

    fn is_rotary(&self) -> bool {
        self.rotary.is_some()
    }

    fn head_dim(&self, config: &Config) -> usize {
        self.heads(config.d_model).head_dim
    }

    fn parameters(&self, config: &Config) -> ParamList {
        let (c, heads) = (config.d_model, self.heads(config.d_model));
        let d = heads.head_dim;
        let (wide, joined) = (heads.all() * d, heads.n_heads * d);
        let all = [
            (true, "w_qkv", Param::weight([c, wide])),
            (self.qkv_bias, "b_qkv", Param::bias(wide)),
            (self.qk_norm, "q_g", Param::gain(d)),
            (self.qk_norm, "k_g", Param::gain(d)),
            (true, "w_proj", Param::into_stream([joined, c])),
            (self.proj_bias, "b_proj", Param::bias(c)),
        ];
        all.into_iter().filter(|(on, ..)| *on).map(|(_, name, p)| (name.into(), p)).collect()
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let _span = enter("self_attention_modern");
        let [_, t, c] = x.dims("self_attention_modern", "x of shape [B, T, C]")?;
        let (heads, own) = (self.heads(c), self.projections(p)?);
        let mut qkv = ops::linear_lastdim(x, own.w_qkv, own.b_qkv)?; // [B, T, (H+2G)·D]
        if self.qk_norm {
            let [q_g, k_g] = p.named(["q_g", "k_g"])?;
            qkv = normed(&qkv, heads, [q_g, k_g], ctx.norm_eps)?;
        }
        if let Some(rotary) = &self.rotary {
            let angles = rotary.angles(t, heads.head_dim);
            let turned = heads.n_heads + heads.kv_heads; // queries and keys, not values
            qkv = ops::rotary(&qkv, turned, heads.head_dim, &angles, 0)?;
        }
        let masks = ctx.weight_masks(heads.n_heads * t);
        let y = causal_attention_grouped(&qkv, heads, self.kept(ctx.layer), masks)?; // [B, T, H·D]
        show(&qkv, &y, heads, ctx);
        ops::linear_lastdim(&y, own.w_proj, own.b_proj) // [B, T, C]
    }

    /// A key and a value for each group: 2·G·D numbers, whatever H is.
    fn cache_row(&self, config: &Config) -> usize {
        let heads = self.heads(config.d_model);
        2 * heads.kv_heads * heads.head_dim
    }

    fn decode(&self, step: Decode<'_>) -> Result<()> {
        self.next_positions(step)
    }
}

/// qkv with its queries and keys normed, head by head.
fn normed(qkv: &Tensor, heads: Heads, [q_g, k_g]: [&Tensor; 2], eps: f32) -> Result<Tensor> {
    let Heads { n_heads: h, kv_heads: g, head_dim: d, .. } = heads;
    let [b, t, width] = qkv.dims("qk_norm", "qkv of shape [B, T, (H+2G)·D]")?;
    let rows = ops::reshape(qkv, &[b, t, heads.all(), d])?;
    let q = ops::rmsnorm_lastdim(&ops::slice(&rows, 2, 0, h)?, Some(q_g), eps)?;
    let k = ops::rmsnorm_lastdim(&ops::slice(&rows, 2, h, g)?, Some(k_g), eps)?;
    let v = ops::slice(&rows, 2, h + g, g)?;
    ops::reshape(&ops::concat(&[&q, &k, &v], 2)?, &[b, t, width])
}

/// Shows a probe P of every sequence and head, and what the heads gave.
fn show(qkv: &Tensor, y: &Tensor, heads: Heads, ctx: &Context<'_>) {
    let (Some(probe), &[b, t, joined]) = (ctx.probe, y.shape()) else { return };
    let parts = head_views(qkv.data(), [b, t, heads.all(), heads.head_dim]);
    let scale = 1.0 / (heads.head_dim as f32).sqrt();
    for (sequence, head) in (0..b).flat_map(|b| (0..heads.n_heads).map(move |h| (b, h))) {
        let [q, k, _] = heads.of(&parts, sequence, head);
        let p = probs_within(q, k, scale, heads.window);
        if let Ok(p) = ArrayView2::from_shape((t, t), &p) {
            probe.head(ctx.layer, sequence, head, p);
        }
    }
    if let Ok(y) = ArrayView3::from_shape((b, t, joined), y.data()) {
        probe.concatenated(ctx.layer, y);
    }
}
