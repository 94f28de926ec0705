//! MultiHead: the variant behind core's attention seam.

use crate::heads::{head_dim, self_attention_mha};
use llm_core::kernels::attention as kernel;

use llm_core::kernels::parallel::{LIGHT, rows_with};
use llm_core::model::{Context, Decode, Parameters, Position, SingleHead};
use llm_core::ndarray::{ArrayView2, Axis, Slice};
use llm_core::ops::AttentionParams;
use llm_core::{Attention, AttentionSpec, Config, Error, Result, Tensor};
use std::ops::Range;

/// Cached numbers that are worth a thread of their own: they come from memory, as weights do.
const CACHED: usize = LIGHT / 4;

/// H heads for [`TinyGPT::with_attention`](llm_core::TinyGPT::with_attention).
#[derive(Clone, Debug)]
pub struct MultiHead {
    n_heads: usize,
    /// `[L·H]`, layer by layer; empty: every head is used.
    head_mask: Vec<bool>,
}

impl MultiHead {
    /// The name in [`AttentionSpec`].
    pub const NAME: &'static str = "multi-head";

    /// All heads of all layers.
    pub fn new(n_heads: usize) -> MultiHead {
        MultiHead { n_heads, head_mask: Vec::new() }
    }

    /// Some heads switched off: `head_mask [L·H]`, layer by layer, false where a head is not used.
    pub fn with_head_mask(n_heads: usize, head_mask: Vec<bool>) -> MultiHead {
        MultiHead { n_heads, head_mask }
    }

    /// Makes it again from what a checkpoint says. A single-head model is one with H = 1.
    ///
    /// # Errors
    /// [`Error::Config`] when the spec describes another attention.
    pub fn from_spec(spec: &AttentionSpec) -> Result<MultiHead> {
        let known = match spec.name.as_str() {
            SingleHead::NAME => spec.n_heads == 1,
            MultiHead::NAME => true,
            _ => false,
        };
        if !known {
            let reason = format!("'{}' is not known here", spec.name.escape_default());
            return Err(Error::config("attention", reason));
        }
        spec.settings.expect_empty()?;
        Ok(MultiHead { n_heads: spec.n_heads, head_mask: spec.head_mask.clone() })
    }

    /// Which heads of a layer are used; empty: all.
    fn kept(&self, layer: usize) -> &[bool] {
        self.head_mask.get(layer * self.n_heads..(layer + 1) * self.n_heads).unwrap_or(&[])
    }
}

impl Attention for MultiHead {
    /// One head is single-head attention, and is called so: either trainer opens it.
    fn spec(&self) -> AttentionSpec {
        let single = self.n_heads == 1 && self.head_mask.is_empty();
        let name = if single { SingleHead::NAME } else { MultiHead::NAME };
        let head_mask = self.head_mask.clone();
        AttentionSpec { head_mask, ..AttentionSpec::new(name, self.n_heads) }
    }

    fn check(&self, config: &Config) -> Result<()> {
        head_dim(config.d_model, self.n_heads)?;
        let want = config.n_layers * self.n_heads;
        if self.head_mask.is_empty() || self.head_mask.len() == want {
            return Ok(());
        }
        let reason = format!("{} entries for {want} heads", self.head_mask.len());
        Err(Error::config("head_mask", reason))
    }

    fn forward(&self, x: &Tensor, p: &Parameters, ctx: &Context<'_>) -> Result<Tensor> {
        let AttentionParams { w_qkv, b_qkv, w_proj, b_proj } = p.standard()?;
        let ctx = ctx.with_heads(self.kept(ctx.layer));
        self_attention_mha(x, w_qkv, b_qkv, w_proj, b_proj, self.n_heads, &ctx)
    }

    fn cache_row(&self, config: &Config) -> usize {
        2 * config.d_model // keys and values
    }

    fn decode(&self, step: Decode<'_>) -> Result<()> {
        let kept = self.kept(step.layer);
        step.with_keys_and_values(self.n_heads, |position| self.attend(position, kept))
    }
}

impl MultiHead {
    /// Every head of one new position.
    fn attend(&self, position: Position<'_>, kept: &[bool]) {
        let Position { q, keys, values, scores, y } = position;
        let (d, n) = (q.len() / self.n_heads, keys.nrows());
        let scale = 1.0 / (d as f32).sqrt();
        rows_with(y, d, scores, n, CACHED.div_ceil(n), |first, y, scores| {
            let heads = y.chunks_exact_mut(d).zip(scores.chunks_exact_mut(n)).enumerate();
            for (h, (y, scores)) in heads.map(|(i, head)| (first + i, head)) {
                if kept.get(h) == Some(&false) {
                    y.fill(0.0);
                    continue;
                }
                let columns = h * d..(h + 1) * d;
                let [keys, values] = [keys, values].map(|all| of_columns(all, columns.clone()));
                kernel::attend_one(&q[columns], keys, values, scale, scores, y);
            }
        });
    }
}

fn of_columns(mut x: ArrayView2<'_, f32>, columns: Range<usize>) -> ArrayView2<'_, f32> {
    x.slice_axis_inplace(Axis(1), Slice::from(columns));
    x
}
