//! gelu and gelu_exact: the activation of the MLP.

use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::{gelu as kernel, gelu_exact as exact};
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), element by element.
///
/// # Gradient
/// dx = dy·gelu′(x), see [`kernels::gelu`](crate::kernels::gelu).
///
/// # Errors
/// None; a `Result` so that ops compose alike.
///
/// # Reference
/// Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", the tanh form.
pub fn gelu(x: &Tensor) -> Result<Tensor> {
    let _span = span("gelu");
    let mut y = Buffer::stale(x.numel());
    kernel::forward(&mut y, x.data());
    let (parent, value) = (x.parent(), x.detach());
    Ok(Tensor::from_op(Op::new("gelu", [x]), x.shape(), y, &[&x.parent()], move |dy, grads| {
        let mut dx = Buffer::stale(dy.len());
        kernel::backward(&mut dx, &dy, value.data());
        grads.give(&parent, dx);
    }))
}

/// y = x·Φ(x) = ½·x·(1 + erf(x/√2)), element by element: what [`gelu`] comes near to.
///
/// # Gradient
/// dx = dy·(Φ(x) + x·φ(x)), see [`kernels::gelu_exact`](crate::kernels::gelu_exact).
///
/// # Errors
/// None; a `Result` so that ops compose alike.
///
/// # Reference
/// Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)".
pub fn gelu_exact(x: &Tensor) -> Result<Tensor> {
    let _span = span("gelu_exact");
    let mut y = Buffer::stale(x.numel());
    exact::forward(&mut y, x.data());
    let (parent, value) = (x.parent(), x.detach());
    let op = Op::new("gelu_exact", [x]);
    Ok(Tensor::from_op(op, x.shape(), y, &[&x.parent()], move |dy, grads| {
        let mut dx = Buffer::stale(dy.len());
        exact::backward(&mut dx, &dy, value.data());
        grads.give(&parent, dx);
    }))
}
