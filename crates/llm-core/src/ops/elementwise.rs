//! add, mul, mul_scalar, add_scalar, sum.

use super::expect_shape;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::kernels::elementwise as kernel;
use crate::profile::span;
use crate::tensor::Tensor;

/// y = a + b, element by element.
///
/// # Shapes
/// All equal.
///
/// # Gradient
/// da = dy, db = dy.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the shapes differ.
pub fn add(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let _span = span("add");
    expect_shape("add", "both inputs of shape", b, a.shape())?;
    let mut y = Buffer::stale(a.numel());
    kernel::add(&mut y, a.data(), b.data());
    let (pa, pb) = (a.parent(), b.parent());
    Ok(Tensor::from_op("add", a.shape(), y, &[&a.parent(), &b.parent()], move |dy, grads| {
        grads.give_copy(&pa, &dy);
        grads.give(&pb, dy);
    }))
}

/// y = a ∘ b, element by element.
///
/// # Shapes
/// All equal.
///
/// # Gradient
/// da = dy ∘ b, db = dy ∘ a.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when the shapes differ.
pub fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let _span = span("mul");
    expect_shape("mul", "both inputs of shape", b, a.shape())?;
    let mut y = Buffer::stale(a.numel());
    kernel::mul(&mut y, a.data(), b.data());
    let (pa, pb, va, vb) = (a.parent(), b.parent(), a.detach(), b.detach());
    Ok(Tensor::from_op("mul", a.shape(), y, &[&a.parent(), &b.parent()], move |dy, grads| {
        for (parent, other) in [(&pa, &vb), (&pb, &va)] {
            if parent.wants_grad() {
                let mut share = Buffer::stale(dy.len());
                kernel::mul(&mut share, &dy, other.data());
                grads.give(parent, share);
            }
        }
    }))
}

/// y = s·x.
///
/// # Gradient
/// dx = s·dy.
///
/// # Errors
/// None; a `Result` so that ops compose alike.
pub fn mul_scalar(x: &Tensor, s: f32) -> Result<Tensor> {
    let _span = span("mul_scalar");
    let mut y = Buffer::stale(x.numel());
    kernel::scale_shift(&mut y, x.data(), s, 0.0);
    let parent = x.parent();
    Ok(Tensor::from_op("mul_scalar", x.shape(), y, &[&x.parent()], move |dy, grads| {
        let mut dx = Buffer::stale(dy.len());
        kernel::scale_shift(&mut dx, &dy, s, 0.0);
        grads.give(&parent, dx);
    }))
}

/// y = x + s.
///
/// # Gradient
/// dx = dy.
///
/// # Errors
/// None; a `Result` so that ops compose alike.
pub fn add_scalar(x: &Tensor, s: f32) -> Result<Tensor> {
    let _span = span("add_scalar");
    let mut y = Buffer::stale(x.numel());
    kernel::scale_shift(&mut y, x.data(), 1.0, s);
    let parent = x.parent();
    Ok(Tensor::from_op("add_scalar", x.shape(), y, &[&x.parent()], move |dy, grads| {
        grads.give(&parent, dy)
    }))
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
/// None; a `Result` so that ops compose alike.
pub fn sum(x: &Tensor) -> Result<Tensor> {
    let _span = span("sum");
    let parent = x.parent();
    let total = kernel::sum(x.data()) as f32;
    Ok(Tensor::from_op("sum", &[1], vec![total], &[&x.parent()], move |dy, grads| {
        let share = dy[0];
        grads.accumulate_zeroed(&parent, |dx| dx.iter_mut().for_each(|d| *d += share));
    }))
}
