//! The seam between the model and its attention.
//!
//! Core owns every block's `w_qkv, b_qkv, w_proj, b_proj` and knows one head. How the channel axis
//! is read, as one head or several, is decided by an [`Attention`]; parameter shapes are the same
//! for all of them. So a variant is another crate with one small type, and the baseline keeps
//! reading as it does.

use super::Config;
use crate::error::{Error, Result};
use crate::kernels::attention as kernel;
use crate::kernels::dropout::{Dropout, Place};
use crate::ops::{self, AttentionParams};
use crate::tensor::Tensor;
use ndarray::{ArrayView2, ArrayView3};
use serde::{Deserialize, Serialize};

/// What a checkpoint says about a model's attention. Shapes do not tell one head from several, so
/// without this a multi-head model would load as single-head and compute something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionSpec {
    /// `single-head`, `multi-head`, or what an own attention calls itself.
    pub name: String,
    /// H.
    pub n_heads: usize,
    /// For each layer and head (`[L·H]`, layer by layer) whether the head is used; empty: all are.
    pub head_mask: Vec<bool>,
}

/// What the model tells its attention about one call.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Context<'a> {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Somebody who wants to see inside.
    pub probe: Option<&'a dyn Probe>,
    /// In training with dropout: the batch's masks. The weights P are dropped by the attention
    /// itself, at [`Place::Attention`]; what it returns, by the block.
    pub dropout: Option<Dropout>,
}

impl<'a> Context<'a> {
    /// The context of block `layer`, watched by nobody.
    pub fn new(layer: usize) -> Context<'a> {
        Context { layer, probe: None, dropout: None }
    }

    /// The same, watched by `probe`.
    pub fn with_probe(self, probe: Option<&'a dyn Probe>) -> Context<'a> {
        Context { probe, ..self }
    }

    /// The same, with these masks.
    pub fn with_dropout(self, dropout: Option<Dropout>) -> Context<'a> {
        Context { dropout, ..self }
    }
}

/// Sees what attention computes on the way. Methods are called during a forward pass, on its thread.
pub trait Probe {
    /// P of one head: `probs [T, T]`, row i the weights of query i.
    fn head(&self, layer: usize, sequence: usize, head: usize, probs: ArrayView2<'_, f32>);
    /// The heads side by side before the output projection: `y [B, T, C]`.
    fn concatenated(&self, layer: usize, y: ArrayView3<'_, f32>);
}

/// One new position against what is cached of the earlier ones; see [`Attention::decode`].
pub struct Decode<'a> {
    /// Number of the block, from 0.
    pub layer: usize,
    /// `[C]`: the new position's query.
    pub q: &'a [f32],
    /// `[n, C]`: keys of all positions, the new one last.
    pub keys: ArrayView2<'a, f32>,
    /// `[n, C]`: values of all positions, the new one last.
    pub values: ArrayView2<'a, f32>,
    /// `[H·n]`, the spec's H: space to work in.
    pub scores: &'a mut [f32],
    /// `[C]`: the heads' outputs side by side, before the output projection.
    pub y: &'a mut [f32],
}

/// A way to do self-attention with core's parameters.
pub trait Attention: Send + Sync {
    /// What goes into a checkpoint, enough to make this attention again.
    fn spec(&self) -> AttentionSpec;

    /// Does it fit the model? Called once, when the model is made.
    ///
    /// # Errors
    /// [`Error::Config`] naming the setting that does not fit, for example heads that do not
    /// divide `d_model`.
    fn check(&self, config: &Config) -> Result<()>;

    /// The whole sublayer with its projections.
    ///
    /// # Shapes
    /// `x [B, T, C]` to `[B, T, C]`.
    ///
    /// # Errors
    /// [`Error::Shape`] when a shape does not fit.
    fn forward(&self, x: &Tensor, p: &AttentionParams<'_>, ctx: &Context<'_>) -> Result<Tensor>;

    /// What [`forward`](Attention::forward) does between the projections, for one new position.
    fn decode(&self, step: Decode<'_>);
}

/// The baseline: one head over all channels.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleHead;

impl SingleHead {
    /// The name in [`AttentionSpec`].
    pub const NAME: &'static str = "single-head";

    /// Makes it again from what a checkpoint says.
    ///
    /// # Errors
    /// [`Error::Config`] when the spec describes another attention.
    pub fn from_spec(spec: &AttentionSpec) -> Result<SingleHead> {
        if *spec == SingleHead.spec() {
            return Ok(SingleHead);
        }
        let reason = format!(
            "this is a {} model with {} heads{}, single-head attention would compute something else",
            spec.name,
            spec.n_heads,
            if spec.head_mask.is_empty() { "" } else { ", some switched off" }
        );
        Err(Error::config("attention", reason))
    }
}

impl Attention for SingleHead {
    fn spec(&self) -> AttentionSpec {
        AttentionSpec { name: SingleHead::NAME.into(), n_heads: 1, head_mask: Vec::new() }
    }

    fn check(&self, _config: &Config) -> Result<()> {
        Ok(())
    }

    fn forward(&self, x: &Tensor, p: &AttentionParams<'_>, ctx: &Context<'_>) -> Result<Tensor> {
        let qkv = ops::linear_lastdim(x, p.w_qkv, Some(p.b_qkv))?; // [B, T, 3C]
        let masks = ctx.dropout.map(|masks| masks.at(Place::Attention(ctx.layer), x.shape()[1]));
        let y = ops::causal_attention_1h(&qkv, masks)?; // [B, T, C]
        if let Some(probe) = ctx.probe {
            show(probe, ctx.layer, &qkv, &y)?;
        }
        ops::linear_lastdim(&y, p.w_proj, Some(p.b_proj)) // [B, T, C]
    }

    fn decode(&self, step: Decode<'_>) {
        let scale = 1.0 / (step.q.len() as f32).sqrt();
        kernel::attend_one(step.q, step.keys, step.values, scale, step.scores, step.y);
    }
}

/// Recomputes P of every sequence for the probe; the fast kernel never writes it out.
fn show(probe: &dyn Probe, layer: usize, qkv: &Tensor, y: &Tensor) -> Result<()> {
    let [b, t, c] = y.dims("probe", "y of shape [B, T, C]")?;
    let parts = kernel::head_views(qkv.data(), [b, t, 3, c]);
    for sequence in 0..b {
        let [q, k] = [0, 1].map(|part| kernel::head_view(&parts, sequence, part));
        let p = kernel::probs(q, k, 1.0 / (c as f32).sqrt());
        probe.head(layer, sequence, 0, crate::kernels::gemm::matrix(&p, t, t));
    }
    let view = ArrayView3::from_shape((b, t, c), y.data());
    probe.concatenated(layer, view.expect("y has this shape"));
    Ok(())
}
