//! What an attention is told about one call, and what it shows of itself.

use super::Place;
use crate::base::{Error, Result};
use crate::kernels::attention as kernel;
use crate::kernels::dropout::Dropout;
use crate::kernels::gemm::matrix;
use crate::tensor::Tensor;
use ndarray::{ArrayView2, ArrayView3};
use std::fmt;

/// ε inside the root of a norm, unless a model says otherwise.
pub const NORM_EPS: f32 = 1e-5;

/// What an attention is told about one call, besides its input and parameters.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Context<'a> {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Which heads are used, one entry for each; empty: all.
    pub heads: &'a [bool],
    /// Shown what is computed on the way.
    pub probe: Option<&'a dyn Probe>,
    /// In training with dropout: the batch's masks. The weights P are dropped by the attention
    /// itself, at [`Place::Attention`]; what it returns, by the block.
    pub dropout: Option<Dropout>,
    /// ε inside the root of the model's norms, for an attention that has some of its own.
    pub norm_eps: f32,
}

impl<'a> Context<'a> {
    /// The context of block `layer`: all heads, no probe, no dropout, the usual ε.
    pub fn new(layer: usize) -> Context<'a> {
        Context { layer, heads: &[], probe: None, dropout: None, norm_eps: NORM_EPS }
    }

    /// The same, shown to `probe`.
    pub fn with_probe(self, probe: Option<&'a dyn Probe>) -> Context<'a> {
        Context { probe, ..self }
    }

    /// The same, with only some heads.
    pub fn with_heads(self, heads: &'a [bool]) -> Context<'a> {
        Context { heads, ..self }
    }

    /// The same, in a model whose norms have this ε.
    pub fn with_norm_eps(self, norm_eps: f32) -> Context<'a> {
        Context { norm_eps, ..self }
    }

    /// The masks of the weights P, when each sequence has so many rows of them; none without
    /// dropout.
    pub fn weight_masks(&self, rows_per_sequence: usize) -> Option<Dropout> {
        self.dropout.map(|masks| masks.at(Place::Attention(self.layer), rows_per_sequence))
    }

    /// Shows the probe, if there is one, P of every sequence and head and what the heads gave:
    /// `qkv [B, T, 3C]` read as H heads each of q, k, v, and `y [B, T, C]`. The fast kernel never
    /// writes P out, so it is computed once more.
    ///
    /// # Errors
    /// [`Error::Shape`] when `y` has not three axes, the last divisible by H, or `qkv` is not of its
    /// shape with 3C in place of C.
    pub fn show(&self, qkv: &Tensor, y: &Tensor, n_heads: usize) -> Result<()> {
        let Some(probe) = self.probe else { return Ok(()) };
        let [b, t, c] = y.dims("probe", "y of shape [B, T, C]")?;
        let d = c.checked_div(n_heads).unwrap_or(0);
        if d * n_heads != c || qkv.shape() != [b, t, 3 * c] {
            let expected = format!("qkv of shape {:?} for {n_heads} heads", [b, t, 3 * c]);
            return Err(Error::shape("probe", expected, qkv.shape()));
        }
        let parts = kernel::head_views(qkv.data(), [b, t, 3 * n_heads, d]);
        for sequence in 0..b {
            for head in 0..n_heads {
                let [q, k] =
                    [0, 1].map(|part| kernel::head_view(&parts, sequence, part * n_heads + head));
                let p = kernel::probs(q, k, 1.0 / (d as f32).sqrt());
                probe.head(self.layer, sequence, head, matrix(&p, t, t));
            }
        }
        let view = ArrayView3::from_shape((b, t, c), y.data());
        probe.concatenated(self.layer, view.expect("y has this shape"));
        Ok(())
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

impl fmt::Debug for dyn Probe + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}
