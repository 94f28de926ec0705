//! softmax_lastdim.

use super::last_dim;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::kernels::softmax as kernel;
use crate::profile::span;
use crate::tensor::Tensor;

/// pᵢ = e^(xᵢ) / Σⱼ e^(xⱼ) over the last axis, every row by itself, the row's maximum subtracted
/// first.
///
/// # Shapes
/// `[.., C]` to the same, for any number of leading axes.
///
/// # Gradient
/// dx = p ∘ (dy − Σⱼ pⱼ·dyⱼ).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when there is no last axis.
pub fn softmax_lastdim(x: &Tensor) -> Result<Tensor> {
    let _span = span("softmax");
    let width = last_dim("softmax_lastdim", x)?;
    let mut p = Buffer::stale(x.numel());
    kernel::forward(&mut p, x.data(), width);
    let p = std::sync::Arc::new(p);
    let (parent, kept) = (x.parent(), p.clone());
    Ok(Tensor::from_op_sharing("softmax", x.shape(), p, &[&x.parent()], move |dy, grads| {
        let mut dx = Buffer::stale(dy.len());
        kernel::backward(&mut dx, &dy, &kept, width);
        grads.give(&parent, dx);
    }))
}
