//! Ops on tensors: check the shapes, call the kernel, record the backward pass.
//!
//! | op | equation |
//! |---|---|
//! | [`add`], [`sub`], [`mul`], [`mul_scalar`], [`add_scalar`] | element by element; shapes may differ as in NumPy |
//! | [`sum`], [`mean`] | Σ x, (1/N)·Σ x over all elements |
//! | [`matmul2d`], [`bmm`] | C = A·B, and one product per batch entry |
//! | [`linear_lastdim`] | y = x·W + b, [`linear_tied`]: y = x·Wᵀ |
//! | [`gelu`], [`gelu_exact`] | x·½(1 + tanh(√(2/π)(x + 0.044715x³))), x·Φ(x) |
//! | [`silu`], [`swiglu`] | x·σ(x); silu(a) ∘ u, a and u the halves of the last axis |
//! | [`relu2`] | max(x, 0)² |
//! | [`layernorm_lastdim`], [`layernorm_affine_lastdim`] | (x − μ)/√(σ² + ε), with gain and bias |
//! | [`rmsnorm_lastdim`] | x/√(mean(x²) + ε), with gain |
//! | [`rotary`] | pairs of a head's channels turned by position·θ^(−2i/R) |
//! | [`softmax_lastdim`], [`softmax()`] | e^x / Σ e^x over the last axis, over any |
//! | [`self_attention_1h`] | softmax(Q·Kᵀ/√C + mask)·V·W_proj + b_proj |
//! | [`cross_entropy`] | −mean ln p(target) |
//! | [`embedding`] | rows by number |
//! | [`dropout`] | m ∘ x, m is 0 or 1/(1 − p) |
//! | [`reshape`] | the same numbers under another shape: a view |
//! | [`slice_lastdim`], [`slice()`], [`concat()`] | a part of an axis; tensors joined along one |
//! | [`transpose()`], [`broadcast_to`] | two axes exchanged; repeated to fill a larger shape |
//!
//! Each file has an op's forward and, inside the closure given to
//! [`Tensor::from_op`](crate::Tensor::from_op), its backward.

mod activation;
mod attention;
mod broadcast;
mod concat;
mod context;
mod cross_entropy;
mod dropout;
mod elementwise;
mod embedding;
mod gelu;
mod head_loss;
mod layernorm;
mod linear;
mod matmul;
mod place;
mod probe;
mod relu2;
mod rmsnorm;
mod rotary;
mod shape;
mod silu;
mod softmax;
mod transpose;

pub use attention::{AttentionParams, causal_attention_1h, self_attention_1h};
pub use broadcast::broadcast_to;
pub use concat::concat;
pub use context::Context;
#[doc(hidden)]
pub use context::NORM_EPS;
pub use cross_entropy::cross_entropy;
pub(crate) use cross_entropy::weighted_cross_entropy;
pub use dropout::dropout;
pub use elementwise::{add, add_scalar, mean, mul, mul_scalar, sub, sum};
pub use embedding::embedding;
#[doc(hidden)]
pub use embedding::embedding_of;
pub(crate) use embedding::embedding_that_says;
pub use gelu::{gelu, gelu_exact};
pub(crate) use head_loss::head_rows;
#[doc(hidden)]
pub use head_loss::{HEAD_PIECE, head_loss};
pub use layernorm::{layernorm_affine_lastdim, layernorm_lastdim};
pub use linear::{linear_lastdim, linear_tied};
pub use matmul::{bmm, matmul2d};
pub use place::Place;
#[doc(hidden)]
pub use probe::{Probe, Site}; // promised as those of `model`
pub use relu2::relu2;
pub use rmsnorm::rmsnorm_lastdim;
pub use rotary::rotary;
pub use shape::{reshape, slice, slice_lastdim};
pub use silu::{silu, swiglu};
pub use softmax::{softmax, softmax_lastdim};
pub use transpose::transpose;

use crate::base::{Error, Result};
use crate::tensor::Tensor;

/// Length of the last axis.
fn last_dim(op: &'static str, x: &Tensor) -> Result<usize> {
    match x.shape().last() {
        Some(&n) if n > 0 => Ok(n),
        _ => Err(Error::shape(op, "at least one axis, the last not empty", x.shape())),
    }
}

/// The number of an axis of x that is counted from 0, or from the end if it is negative.
fn axis_of(op: &'static str, x: &Tensor, axis: isize) -> Result<usize> {
    let rank = x.rank();
    let found = if axis < 0 { rank.checked_add_signed(axis) } else { Some(axis.unsigned_abs()) };
    let wrong = || Error::shape(op, format!("a tensor with an axis {axis}"), x.shape());
    found.filter(|&axis| axis < rank).ok_or_else(wrong)
}

/// The number of elements of a shape; none when an array of it, were its empty axes of length 1,
/// is beyond any machine: ndarray has no view of such a one.
fn elements(shape: &[usize]) -> Option<usize> {
    let product = |n: usize, &d: &usize| n.checked_mul(d.max(1));
    let all = shape.iter().try_fold(1, product).filter(|&n| n <= isize::MAX as usize)?;
    Some(if shape.contains(&0) { 0 } else { all })
}

/// `shape` with another last axis.
fn with_last(shape: &[usize], last: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    if let Some(end) = shape.last_mut() {
        *end = last;
    }
    shape
}

/// `Err` unless `t` has exactly this shape.
pub(crate) fn expect_shape(op: &'static str, what: &str, t: &Tensor, want: &[usize]) -> Result<()> {
    Error::unless_shaped(t.shape() == want, op, format_args!("{what} {want:?}"), t.shape())
}
