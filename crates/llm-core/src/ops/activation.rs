//! What the activations have in common: one input, element by element.

use crate::base::Result;
use crate::buffer::Buffer;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = f(x), element by element, under the op's `name`: `forward(y, x)` writes y, and
/// `backward(dx, dy, x)` writes dx = dy·f′(x).
pub(super) fn activation(
    name: &'static str,
    x: &Tensor,
    forward: fn(&mut [f32], &[f32]),
    backward: fn(&mut [f32], &[f32], &[f32]),
) -> Result<Tensor> {
    let _span = span(name);
    let y = Buffer::written(x.numel(), |y| forward(y, x.data()));
    let (parent, value) = (x.parent(), x.detach());
    Ok(Tensor::from_op(Op::new(name, [x]), x.shape(), y, &[&x.parent()], move |dy, grads| {
        grads.give_with(&parent, |dx| backward(dx, &dy, value.data()));
    }))
}
