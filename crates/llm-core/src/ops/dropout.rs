//! dropout: noise against memorising.

use super::last_dim;
use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::dropout::{Dropout, apply};
use crate::listing::Fact;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = m ∘ x, where m is 0 or 1/(1 − p); x itself without masks.
///
/// # Shapes
/// Any, a row of masks for each row of the last axis.
///
/// # Gradient
/// dx = m ∘ dy.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when x has no axis or an empty last one.
pub fn dropout(x: &Tensor, masks: Option<Dropout>) -> Result<Tensor> {
    let Some(masks) = masks else { return Ok(x.clone()) };
    let _span = span("dropout");
    let width = last_dim("dropout", x)?;
    let y = Buffer::written(x.numel(), |y| apply(y, x.data(), width, &masks));
    let parent = x.parent();
    let facts = || vec![("masks", Fact::Masks(masks))];
    let op = Op::new("dropout", [x]).says(&facts);
    Ok(Tensor::from_op(op, x.shape(), y, &[&x.parent()], move |dy, grads| {
        grads.give_with(&parent, |dx| apply(dx, &dy, width, &masks));
    }))
}
