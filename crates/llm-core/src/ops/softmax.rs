//! softmax_lastdim, and softmax over any axis.

use super::{axis_of, last_dim, transpose};
use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::softmax as kernel;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

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
    let p = Buffer::written(x.numel(), |p| kernel::forward(p, x.data(), width));
    let p = std::sync::Arc::new(p);
    let (parent, kept) = (x.parent(), p.clone());
    let op = Op::new("softmax", [x]);
    Ok(Tensor::from_op_sharing(op, x.shape(), p, &[&x.parent()], move |dy, grads| {
        grads.give_with(&parent, |dx| kernel::backward(dx, &dy, &kept, width));
    }))
}

/// [`softmax_lastdim`] along another axis, which counts from 0, or from the end if it is negative:
/// −1 is the last.
///
/// # Shapes
/// Any to the same.
///
/// # Gradient
/// dx = p ∘ (dy − Σⱼ pⱼ·dyⱼ), the sum along the same axis.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when x has no such axis, or an empty one there.
pub fn softmax(x: &Tensor, axis: isize) -> Result<Tensor> {
    if axis_of("softmax", x, axis)? == x.rank() - 1 {
        return softmax_lastdim(x);
    }
    transpose(&softmax_lastdim(&transpose(x, axis, -1)?)?, axis, -1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_axis_sums_to_one_along_itself() {
        let x = Tensor::from_vec(&[2, 2], vec![0.0, 3f32.ln(), 0.0, 0.0]).unwrap();
        let near = |axis: isize, want: [f32; 4]| {
            let p = softmax(&x, axis).unwrap();
            assert!(p.data().iter().zip(want).all(|(p, want)| (p - want).abs() < 1e-6), "{p:?}");
        };
        for axis in [0, -2] {
            near(axis, [0.5, 0.75, 0.5, 0.25]);
        }
        for axis in [1, -1] {
            near(axis, [0.25, 0.75, 0.5, 0.5]);
            assert_eq!(softmax(&x, axis).unwrap().data(), softmax_lastdim(&x).unwrap().data());
        }
        assert!(softmax(&x, 2).is_err() && softmax(&x, -3).is_err());
        assert!(softmax(&Tensor::from_vec(&[0, 2], vec![]).unwrap(), 0).is_err());
    }
}
