//! Attention in heads, between the projections: what both modules share.

use super::attention::default_scale;
use super::layout::Layout;
use super::linear::linear;
use super::mask::AdditiveMask;
use super::weighted_sum::weighted_sum;
use super::weights::attention_weights;
use llm_core::{Error, Result, Tensor};

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
pub(super) fn attend(
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
pub(super) fn expect_width(op: &'static str, name: &str, x: &Tensor, width: usize) -> Result<()> {
    if x.shape().last() == Some(&width) {
        return Ok(());
    }
    Err(Error::shape(op, format!("{name} of shape [.., {width}]"), x.shape()))
}

/// `Err` unless a weight is square, of the module's width.
pub(super) fn expect_square(op: &'static str, name: &str, w: &Tensor, width: usize) -> Result<()> {
    if w.shape() == [width, width] {
        return Ok(());
    }
    Err(Error::shape(op, format!("{name} of shape [{width}, {width}]"), w.shape()))
}
