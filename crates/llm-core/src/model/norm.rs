//! The kinds of norm, a row for each.

use super::options::choices;
use crate::base::{Message, Result};
use crate::kernels::{layernorm, rmsnorm};
use crate::tensor::Tensor;
use crate::{message, ops};

/// Gain and bias of a norm, `[C]` each, where a model has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine<'a> {
    pub(super) g: Option<&'a Tensor>,
    pub(super) b: Option<&'a Tensor>,
}

/// y ← norm(x), with room for the numbers of each row; gain and bias, width, ε.
type Rows = fn(&mut [f32], &mut [f32], &[f32], Affine<'_>, usize, f32);

/// The description of a kind of norm: its equation once as an op for training, once on plain rows
/// for a growing text.
#[derive(Debug)]
pub struct NormRow {
    /// In a few words.
    pub doc: &'static str,
    /// The piece of a model, for a format that cannot hold it.
    pub piece: fn() -> Message,
    /// Whether an affine one has a bias besides its gain.
    pub bias: bool,
    /// Numbers of a row that its forward leaves for its backward.
    pub(super) stats: usize,
    /// y of x, of the same shape; gain and bias, ε.
    pub(super) op: fn(&Tensor, Affine<'_>, f32) -> Result<Tensor>,
    /// The same on rows.
    pub(super) rows: Rows,
}

choices! {
    /// What every norm does.
    pub enum Norm of NormRow {
        /// Takes off the mean, divides by the standard deviation: the baseline.
        #[default]
        Layer = "layer" {
            doc: "Layer normalisation",
            piece: || message!("layer norms (layer)"),
            bias: true,
            stats: layernorm::STATS,
            op: |x, affine, eps| match (affine.g, affine.b) {
                (Some(g), Some(b)) => ops::layernorm_affine_lastdim(x, g, b, eps),
                _ => ops::layernorm_lastdim(x, eps),
            },
            rows: |y, stats, x, affine, width, eps| {
                let affine = affine.g.zip(affine.b).map(|(g, b)| (g.data(), b.data()));
                layernorm::forward(y, stats, x, affine, width, eps);
            },
        },
        /// Divides by the root of the mean square, as Llama's models have it. With `norm_affine` it has
        /// a gain and no bias.
        Rms = "rms" {
            doc: "By the root of the mean square; an affine one has a gain alone",
            piece: || message!("root-mean-square norms (rms)"),
            bias: false,
            stats: rmsnorm::STATS,
            op: |x, affine, eps| ops::rmsnorm_lastdim(x, affine.g, eps),
            rows: |y, stats, x, affine, width, eps| {
                rmsnorm::forward(y, stats, x, affine.g.map(Tensor::data), width, eps);
            },
        },
    }
}
