//! reshape (a view), slice_lastdim and slice (copies).

use super::{axis_of, elements, last_dim, with_last};
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// The elements of x in their order under another shape. No element is copied: the result
/// shares the input's storage.
///
/// # Shapes
/// Any to any with the same number of elements.
///
/// # Gradient
/// dx = dy, read under the old shape.
///
/// # Errors
/// [`Error::Shape`] when the number of elements differs.
pub fn reshape(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let _span = span("reshape");
    let expected = format_args!("the elements of {shape:?}");
    Error::unless_shaped(elements(shape) == Some(x.numel()), "reshape", expected, x.shape())?;
    let parent = x.parent();
    let op = Op::new("reshape", [x]);
    Ok(Tensor::from_op_sharing(op, shape, x.storage(), &[&x.parent()], move |dy, grads| {
        grads.give(&parent, dy);
    }))
}

/// `y[.., i]` = `x[.., start + i]` for i < `len`: part of the last axis, copied.
///
/// # Shapes
/// `[.., C]` to `[.., len]`.
///
/// # Gradient
/// `dx[.., start + i]` += `dy[.., i]`; the rest of dx gets nothing.
///
/// # Errors
/// [`Error::Shape`] when the range leaves the axis or is empty.
pub fn slice_lastdim(x: &Tensor, start: usize, len: usize) -> Result<Tensor> {
    let c = last_dim("slice_lastdim", x)?;
    let expected = format_args!("a last axis that holds {len} elements from {start}");
    Error::unless_shaped(lies_within(start, len, c), "slice_lastdim", expected, x.shape())?;
    Ok(part_of_rows(x, &with_last(x.shape(), len), [x.rank() - 1, start], [c, start, len]))
}

/// `y[.., i, ..]` = `x[.., start + i, ..]` for i < `len`: part of any axis, copied. `axis` counts
/// from 0, or from the end if it is negative.
///
/// # Shapes
/// `[.., N, ..]` to `[.., len, ..]`.
///
/// # Gradient
/// `dx[.., start + i, ..]` += `dy[.., i, ..]`; the rest of dx gets nothing.
///
/// # Errors
/// [`Error::Shape`] when x has no such axis, or the range leaves it or is empty.
pub fn slice(x: &Tensor, axis: isize, start: usize, len: usize) -> Result<Tensor> {
    let axis = axis_of("slice", x, axis)?;
    let n = x.shape()[axis];
    let expected = format_args!("an axis {axis} that holds {len} elements from {start}");
    Error::unless_shaped(lies_within(start, len, n), "slice", expected, x.shape())?;
    let mut shape = x.shape().to_vec();
    shape[axis] = len;
    let inner: usize = shape[axis + 1..].iter().product();
    Ok(part_of_rows(x, &shape, [axis, start], [n, start, len].map(|n| n * inner)))
}

/// Whether it is a range of something, inside an axis of n.
fn lies_within(start: usize, len: usize, n: usize) -> bool {
    len > 0 && start.checked_add(len).is_some_and(|end| end <= n)
}

/// The columns `start..start + len` of x, read as rows of `width`, under `shape`: the part of `axis`
/// from `first` on.
fn part_of_rows(
    x: &Tensor,
    shape: &[usize],
    [axis, first]: [usize; 2],
    [width, start, len]: [usize; 3],
) -> Tensor {
    let _span = span("slice");
    let mut y = Buffer::stale(shape.iter().product());
    let [width_or_1, len_or_1] = [width, len].map(|n| n.max(1)); // 0: nothing to copy, no rows
    let rows = x.data().chunks_exact(width_or_1);
    for (y, x) in y.chunks_exact_mut(len_or_1).zip(rows) {
        y.copy_from_slice(&x[start..start + len]);
    }
    let parent = x.parent();
    let facts = || vec![("axis", axis.into()), ("start", first.into())];
    let op = Op::new("slice", [x]).says(&facts);
    Tensor::from_op(op, shape, y, &[&x.parent()], move |dy, grads| {
        grads.accumulate_zeroed(&parent, |dx| {
            for (dx, dy) in dx.chunks_exact_mut(width_or_1).zip(dy.chunks_exact(len_or_1)) {
                dx[start..start + len].iter_mut().zip(dy).for_each(|(x, d)| *x += d);
            }
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_shares_the_storage_and_slice_does_not() {
        let x = Tensor::from_vec(&[1, 3, 4], (0..12).map(|i| i as f32).collect()).unwrap();
        let view = reshape(&x, &[1, 3, 2, 2]).unwrap();
        assert_eq!(view.data().as_ptr(), x.data().as_ptr());
        let copy = slice_lastdim(&x, 1, 2).unwrap();
        assert_eq!(copy.data(), [1.0, 2.0, 5.0, 6.0, 9.0, 10.0]);
        assert!(slice_lastdim(&x, 3, 2).is_err() && slice_lastdim(&x, 0, 0).is_err());
        assert!(slice_lastdim(&x, 1, usize::MAX).is_err());
        assert!(reshape(&x, &[5]).is_err() && reshape(&x, &[usize::MAX, 2]).is_err());
    }

    #[test]
    fn any_axis_can_be_sliced() {
        let x = Tensor::from_vec(&[2, 3, 2], (0..12).map(|i| i as f32).collect()).unwrap();
        let y = slice(&x, 1, 1, 2).unwrap();
        assert_eq!(y.shape(), [2, 2, 2]);
        assert_eq!(y.data(), [2.0, 3.0, 4.0, 5.0, 8.0, 9.0, 10.0, 11.0]);
        assert_eq!(slice(&x, 0, 1, 1).unwrap().data(), &x.data()[6..]);
        assert_eq!(slice(&x, -1, 1, 1).unwrap().data(), slice_lastdim(&x, 1, 1).unwrap().data());
        assert!(slice(&x, 1, 2, 2).is_err() && slice(&x, 1, 0, 0).is_err());
        assert!(slice(&x, 3, 0, 1).is_err() && slice(&x, 0, usize::MAX, 1).is_err());
        let empty = Tensor::from_vec(&[2, 0], vec![]).unwrap();
        assert_eq!(slice(&empty, 0, 1, 1).unwrap().shape(), [1, 0]);
        assert!(reshape(&empty, &[0, usize::MAX, 2]).is_err());
    }
}
