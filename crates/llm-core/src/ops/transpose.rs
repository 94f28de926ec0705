//! transpose: two axes exchanged.

use super::axis_of;
use crate::base::Result;
use crate::buffer::Buffer;
use crate::kernels::transpose::swap_axes;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// `y[.., j, .., i, ..]` = `x[.., i, .., j, ..]`: the axes `a` and `b` exchanged. A tensor is
/// row-major, so the numbers are copied.
///
/// An axis counts from 0, or from the end if it is negative: `transpose(x, -2, -1)` turns every
/// matrix of a stack.
///
/// # Shapes
/// `[.., A, .., B, ..]` to `[.., B, .., A, ..]`.
///
/// # Gradient
/// dx = dy with the same axes exchanged.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) when x has no such axis.
pub fn transpose(x: &Tensor, a: isize, b: isize) -> Result<Tensor> {
    let (a, b) = (axis_of("transpose", x, a)?, axis_of("transpose", x, b)?);
    if a == b {
        return Ok(x.clone());
    }
    let _span = span("transpose");
    let (a, b) = (a.min(b), a.max(b));
    let mut shape = x.shape().to_vec();
    let product = |axes: &[usize]| axes.iter().product();
    let (mid, inner) = (product(&shape[a + 1..b]), product(&shape[b + 1..]));
    let sizes = [shape[a], mid, shape[b], inner]; // of x
    let back = [shape[b], mid, shape[a], inner]; // of y
    shape.swap(a, b);

    let y = Buffer::written(x.numel(), |y| swap_axes(y, x.data(), sizes));
    let parent = x.parent();
    let facts = || vec![("a", a.into()), ("b", b.into())];
    let op = Op::new("transpose", [x]).says(&facts);
    Ok(Tensor::from_op(op, &shape, y, &[&x.parent()], move |dy, grads| {
        grads.give_with(&parent, |dx| swap_axes(dx, &dy, back));
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_either_end() {
        let x = Tensor::from_vec(&[1, 2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        for (a, b) in [(1, 2), (2, 1), (-2, -1), (1, -1)] {
            let y = transpose(&x, a, b).unwrap();
            assert_eq!(
                (y.shape(), y.data()),
                (&[1, 3, 2][..], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0][..])
            );
        }
        assert_eq!(transpose(&x, 0, -3).unwrap().data(), x.data());
        for (a, b) in [(0, 3), (-4, 0), (isize::MIN, 0), (0, isize::MAX)] {
            assert!(transpose(&x, a, b).is_err());
        }
        let error = transpose(&x, 0, 3).unwrap_err().to_string();
        assert_eq!(error, "transpose: expected a tensor with an axis 3, got [1, 2, 3]");
    }
}
