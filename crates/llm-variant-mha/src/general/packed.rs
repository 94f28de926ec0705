//! From one packed w_qkv, stored `[in, out]`, to separate weights stored `[out, in]`.

use super::permute;
use llm_core::{Error, Result, Tensor, ops};

/// The weights of queries, keys and values and, turned over likewise, that of the output.
///
/// Made by ops, so gradients reach the packed tensors; and since a graph is walked once, the
/// result is for one backward.
///
/// # Shapes
/// `w_qkv [C, 3C]`, `w_proj [C, C]` to four of `[C, C]`.
pub(super) fn unpacked(op: &'static str, w_qkv: &Tensor, w_proj: &Tensor) -> Result<[Tensor; 4]> {
    let c = width(op, w_qkv)?;
    if w_proj.shape() != [c, c] {
        return Err(Error::shape(op, format!("w_proj of shape [{c}, {c}]"), w_proj.shape()));
    }
    let part = |i: usize| permute(&ops::slice_lastdim(w_qkv, i * c, c)?, &[1, 0]);
    Ok([part(0)?, part(1)?, part(2)?, permute(w_proj, &[1, 0])?])
}

/// The biases of queries, keys and values.
///
/// # Shapes
/// `b_qkv [3C]` to three of `[C]`.
pub(super) fn unpacked_bias(op: &'static str, b_qkv: &Tensor, c: usize) -> Result<[Tensor; 3]> {
    if b_qkv.shape() != [3 * c] {
        return Err(Error::shape(op, format!("b_qkv of shape [{}]", 3 * c), b_qkv.shape()));
    }
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
