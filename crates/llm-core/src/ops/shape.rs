//! reshape (a view) and slice_lastdim (a copy).

use super::{last_dim, with_last};
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::profile::span;
use crate::tensor::Tensor;

/// The same elements in the same order under another shape. No element is copied: the result
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
    let numel = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    if numel != Some(x.numel()) {
        return Err(Error::shape("reshape", format!("the elements of {shape:?}"), x.shape()));
    }
    let parent = x.parent();
    Ok(Tensor::from_op_sharing("reshape", shape, x.storage(), &[&x.parent()], move |dy, grads| {
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
    let _span = span("slice");
    let c = last_dim("slice_lastdim", x)?;
    if len == 0 || start.checked_add(len).is_none_or(|end| end > c) {
        let expected = format!("a last axis that holds {len} elements from {start}");
        return Err(Error::shape("slice_lastdim", expected, x.shape()));
    }
    let mut y = Buffer::stale(x.numel() / c * len);
    for (y, x) in y.chunks_exact_mut(len).zip(x.data().chunks_exact(c)) {
        y.copy_from_slice(&x[start..start + len]);
    }
    let parent = x.parent();
    Ok(Tensor::from_op("slice", &with_last(x.shape(), len), y, &[&x.parent()], move |dy, grads| {
        grads.accumulate_zeroed(&parent, |dx| {
            for (dx, dy) in dx.chunks_exact_mut(c).zip(dy.chunks_exact(len)) {
                dx[start..start + len].iter_mut().zip(dy).for_each(|(x, d)| *x += d);
            }
        });
    }))
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
        assert!(reshape(&x, &[5]).is_err() && reshape(&x, &[usize::MAX, 2]).is_err());
    }
}
