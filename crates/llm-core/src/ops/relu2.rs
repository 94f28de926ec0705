//! relu2: the square of ReLU.

use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::relu2 as kernel;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = max(x, 0)², element by element.
///
/// # Gradient
/// dx = dy·2·max(x, 0).
///
/// # Errors
/// None; a `Result` so that ops compose alike.
///
/// # Reference
/// So et al., "Primer: Searching for Efficient Transformers for Language Modeling".
pub fn relu2(x: &Tensor) -> Result<Tensor> {
    let _span = span("relu2");
    let mut y = Buffer::stale(x.numel());
    kernel::forward(&mut y, x.data());
    let (parent, value) = (x.parent(), x.detach());
    Ok(Tensor::from_op(Op::new("relu2", [x]), x.shape(), y, &[&x.parent()], move |dy, grads| {
        let mut dx = Buffer::stale(dy.len());
        kernel::backward(&mut dx, &dy, value.data());
        grads.give(&parent, dx);
    }))
}
