//! add, sub, mul, mul_scalar, add_scalar, sum, mean.

use super::broadcast::together;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::elementwise as kernel;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// y = a + b, element by element.
///
/// # Shapes
/// Equal; or lined up at the last axes, where an axis that is missing or of length 1 is repeated
/// along the other's, as in NumPy: `[B, T, C]` and `[C]`, `[T, 1]` and `[1, T]`.
///
/// # Gradient
/// da = dy, db = dy, each summed over the axes along which its input was repeated
/// ([`broadcast_to`](super::broadcast_to)).
///
/// # Errors
/// [`Error::Shape`] when the shapes do not fit.
pub fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let [a, b] = &together("add", a, b)?;
    let _span = span("add");
    let y = Buffer::written(a.numel(), |y| kernel::add(y, a.data(), b.data()));
    let (pa, pb) = (a.parent(), b.parent());
    let op = Op::new("add", [a, b]);
    Ok(Tensor::from_op(op, a.shape(), y, &[&a.parent(), &b.parent()], move |dy, grads| {
        grads.give_copy(&pa, &dy);
        grads.give(&pb, dy);
    }))
}

/// y = a − b, element by element.
///
/// # Shapes
/// As for [`add`].
///
/// # Gradient
/// da = dy, db = −dy, summed as for [`add`].
///
/// # Errors
/// As for [`add`].
pub fn sub(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let [a, b] = &together("sub", a, b)?;
    let _span = span("sub");
    let y = Buffer::written(a.numel(), |y| kernel::sub(y, a.data(), b.data()));
    let (pa, pb) = (a.parent(), b.parent());
    let op = Op::new("sub", [a, b]);
    Ok(Tensor::from_op(op, a.shape(), y, &[&a.parent(), &b.parent()], move |dy, grads| {
        grads.give_with(&pb, |share| kernel::scale_shift(share, &dy, -1.0, 0.0));
        grads.give(&pa, dy);
    }))
}

/// y = a ∘ b, element by element.
///
/// # Shapes
/// As for [`add`].
///
/// # Gradient
/// da = dy ∘ b, db = dy ∘ a, summed as for [`add`].
///
/// # Errors
/// As for [`add`].
pub fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let [a, b] = &together("mul", a, b)?;
    let _span = span("mul");
    let y = Buffer::written(a.numel(), |y| kernel::mul(y, a.data(), b.data()));
    let (pa, pb, va, vb) = (a.parent(), b.parent(), a.detach(), b.detach());
    let op = Op::new("mul", [a, b]);
    Ok(Tensor::from_op(op, a.shape(), y, &[&a.parent(), &b.parent()], move |dy, grads| {
        for (parent, other) in [(&pa, &vb), (&pb, &va)] {
            grads.give_with(parent, |share| kernel::mul(share, &dy, other.data()));
        }
    }))
}

/// y = s·x.
///
/// # Gradient
/// dx = s·dy.
///
/// # Errors
/// No error: a `Result` so that ops compose alike.
pub fn mul_scalar(x: &Tensor, s: f32) -> Result<Tensor> {
    let _span = span("mul_scalar");
    let y = Buffer::written(x.numel(), |y| kernel::scale_shift(y, x.data(), s, 0.0));
    let parent = x.parent();
    let facts = || vec![("s", s.into())];
    let op = Op::new("mul_scalar", [x]).says(&facts);
    Ok(Tensor::from_op(op, x.shape(), y, &[&x.parent()], move |dy, grads| {
        grads.give_with(&parent, |dx| kernel::scale_shift(dx, &dy, s, 0.0));
    }))
}

/// y = x + s.
///
/// # Gradient
/// dx = dy.
///
/// # Errors
/// No error: a `Result` so that ops compose alike.
pub fn add_scalar(x: &Tensor, s: f32) -> Result<Tensor> {
    let _span = span("add_scalar");
    let y = Buffer::written(x.numel(), |y| kernel::scale_shift(y, x.data(), 1.0, s));
    let parent = x.parent();
    let facts = || vec![("s", s.into())];
    let op = Op::new("add_scalar", [x]).says(&facts);
    Ok(Tensor::from_op(op, x.shape(), y, &[&x.parent()], move |dy, grads| grads.give(&parent, dy)))
}

/// y = Σ x over all elements, accumulated in f64.
///
/// # Shapes
/// Any to `[1]`.
///
/// # Gradient
/// dx = dy everywhere.
///
/// # Errors
/// No error: a `Result` so that ops compose alike.
pub fn sum(x: &Tensor) -> Result<Tensor> {
    Ok(share_of_sum("sum", x, 1))
}

/// y = (1/N)·Σ x over all N elements, accumulated in f64.
///
/// # Shapes
/// Any that is not empty to `[1]`.
///
/// # Gradient
/// dx = dy/N everywhere.
///
/// # Errors
/// [`Error::Shape`] when there is no element.
pub fn mean(x: &Tensor) -> Result<Tensor> {
    Error::unless_shaped(x.numel() > 0, "mean", "at least one element", x.shape())?;
    Ok(share_of_sum("mean", x, x.numel()))
}

/// (1/n)·Σ x.
fn share_of_sum(op: &'static str, x: &Tensor, n: usize) -> Tensor {
    let _span = span(op);
    let y = (kernel::sum(x.data()) / n as f64) as f32;
    let parent = x.parent();
    Tensor::from_op(Op::new(op, [x]), &[1], vec![y], &[&x.parent()], move |dy, grads| {
        let share = dy[0] / n as f32;
        grads.accumulate_zeroed(&parent, |dx| dx.iter_mut().for_each(|d| *d += share));
    })
}
