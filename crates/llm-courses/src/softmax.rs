//! softmax over any axis.

use crate::permute::permute;
use llm_core::buffer::Buffer;
use llm_core::kernels::softmax as kernel;
use llm_core::profile::span;
use llm_core::tensor::Op;
use llm_core::{Error, Result, Tensor};
use std::sync::Arc;

/// pᵢ = e^(xᵢ) / Σⱼ e^(xⱼ) along one axis; the greatest x is subtracted first. Where every x along
/// the axis is −∞, p is 0.
///
/// `axis` counts from 0, or from the end if it is negative: −1 is the last.
///
/// # Shapes
/// Any to the same.
///
/// # Gradient
/// dx = p ∘ (dy − Σⱼ pⱼ·dyⱼ).
///
/// # Errors
/// [`Error::Shape`] when x has no such axis, or an empty one.
pub fn softmax(x: &Tensor, axis: isize) -> Result<Tensor> {
    let rank = x.rank();
    let from_start =
        if axis < 0 { rank.checked_add_signed(axis) } else { Some(axis.unsigned_abs()) };
    let Some(axis) = from_start.filter(|&axis| axis < rank && x.numel() > 0) else {
        let expected = format!("a tensor with an axis {axis} and no empty one");
        return Err(Error::shape("softmax", expected, x.shape()));
    };
    let last = rank - 1;
    if axis == last {
        return Ok(over_last_axis(x));
    }
    let mut axes = Vec::from_iter(0..rank);
    axes.swap(axis, last); // an exchange undoes itself
    permute(&over_last_axis(&permute(x, &axes)?), &axes)
}

fn over_last_axis(x: &Tensor) -> Tensor {
    let _span = span("softmax");
    let width = x.shape()[x.rank() - 1];
    let mut p = Buffer::stale(x.numel());
    softmax_rows(&mut p, x.data(), width);
    let p = Arc::new(p);
    let (parent, kept) = (x.parent(), p.clone());
    let facts = || vec![("zeros", true.into())];
    let op = Op::new("softmax", [x]).says(&facts);
    Tensor::from_op_sharing(op, x.shape(), p, &[&x.parent()], move |dy, grads| {
        let mut dx = Buffer::stale(dy.len());
        kernel::backward(&mut dx, &dy, &kept, width); // 0 in a row of zeros
        grads.give(&parent, dx);
    })
}

/// Every row of `p [.., width]` ← softmax of the same row of `x`; zeros for a row of −∞.
pub(crate) fn softmax_rows(p: &mut [f32], x: &[f32], width: usize) {
    kernel::forward(p, x, width);
    for (p, x) in p.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
        if x.iter().all(|&x| x == f32::NEG_INFINITY) {
            p.fill(0.0);
        }
    }
}
