//! What both modules share: attention in heads between the projections, and weights out of a packed one.

use crate::attention::{attention_weights, default_scale, weighted_sum};
use crate::layout::Layout;
use crate::linear::linear;
use crate::mask::AdditiveMask;
use crate::permute::permute;
use llm_core::{Error, Result, Tensor, ops};

/// What a multi-head attention gives, with what it passed through on the way.
#[derive(Clone, Debug)]
pub struct MultiHeadOutput {
    /// P of every head, `[.., H, L, S]`; rows sum to 1, or to 0 where everything was hidden.
    pub weights: Tensor,
    /// A: the heads side by side, `[.., L, C]`. Head h has channels h·D..(h+1)·D and nothing of
    /// the others.
    pub concat: Tensor,
    /// A·W_o + b_o, `[.., L, C]`: every channel from every head.
    pub output: Tensor,
}

/// Cuts projected q, k, v into heads, attends in each with scale 1/√D, and projects the heads back.
///
/// # Shapes
/// `q [.., L, C]`, `k` and `v` `[.., S, C]`, `wo [C, C]`, stored `[out, in]`, `bo [C]`.
///
/// # Errors
/// [`Error::Shape`] naming what does not fit, [`Error::Config`] when H does not divide C.
pub(crate) fn attend(
    op: &'static str,
    [q, k, v]: [&Tensor; 3],
    n_heads: usize,
    mask: Option<&AdditiveMask>,
    wo: &Tensor,
    bo: Option<&Tensor>,
) -> Result<MultiHeadOutput> {
    let layout = Layout::new(op, [q, k, v], Some(n_heads))?;
    let mask = mask.map(|mask| mask.over(op, &layout.scores())).transpose()?;
    let weights = attention_weights(q, k, &layout, default_scale(layout.sizes.d), mask);
    let concat = weighted_sum(&weights, v, &layout);
    let output = linear(&concat, wo, bo)?;
    Ok(MultiHeadOutput { weights, concat, output })
}

/// `Err` unless the last axis of an input is the module's width.
pub(crate) fn expect_width(op: &'static str, name: &str, x: &Tensor, width: usize) -> Result<()> {
    let expected = format_args!("{name} of shape [.., {width}]");
    Error::unless_shaped(x.shape().last() == Some(&width), op, expected, x.shape())
}

/// `Err` unless a weight is square, of the module's width.
pub(crate) fn expect_square(op: &'static str, name: &str, w: &Tensor, width: usize) -> Result<()> {
    let expected = format_args!("{name} of shape [{width}, {width}]");
    Error::unless_shaped(w.shape() == [width, width], op, expected, w.shape())
}

/// The weights of queries, keys and values and, turned over likewise, that of the output.
///
/// Made by ops, so gradients reach the packed tensors; and since a graph is walked once, the
/// result is for one backward.
///
/// # Shapes
/// `w_qkv [C, 3C]`, `w_proj [C, C]` to four of `[C, C]`.
pub(crate) fn unpacked(op: &'static str, w_qkv: &Tensor, w_proj: &Tensor) -> Result<[Tensor; 4]> {
    let c = width(op, w_qkv)?;
    expect_square(op, "w_proj", w_proj, c)?;
    let part = |i: usize| permute(&ops::slice_lastdim(w_qkv, i * c, c)?, &[1, 0]);
    Ok([part(0)?, part(1)?, part(2)?, permute(w_proj, &[1, 0])?])
}

/// The biases of queries, keys and values.
///
/// # Shapes
/// `b_qkv [3C]` to three of `[C]`.
pub(crate) fn unpacked_bias(op: &'static str, b_qkv: &Tensor, c: usize) -> Result<[Tensor; 3]> {
    let expected = format_args!("b_qkv of shape [{}]", 3 * c);
    Error::unless_shaped(b_qkv.shape() == [3 * c], op, expected, b_qkv.shape())?;
    let part = |i: usize| ops::slice_lastdim(b_qkv, i * c, c);
    Ok([part(0)?, part(1)?, part(2)?])
}

/// C of `w_qkv [C, 3C]`.
fn width(op: &'static str, w_qkv: &Tensor) -> Result<usize> {
    match *w_qkv.shape() {
        [c, c3] if c > 0 && c.checked_mul(3) == Some(c3) => Ok(c),
        _ => Err(Error::shape(op, "w_qkv of shape [C, 3C]", w_qkv.shape())),
    }
}
