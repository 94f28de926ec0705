//! gelu: the activation of the MLP.

use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::gelu as kernel;
use crate::profile::span;
use crate::tensor::Tensor;

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
    Ok(Tensor::from_op("gelu", x.shape(), y, &[&x.parent()], move |dy, grads| {
        let mut dx = Buffer::stale(dy.len());
        kernel::backward(&mut dx, &dy, value.data());
        grads.give(&parent, dx);
    }))
}
