//! concat: tensors one behind the other.

use super::{axis_of, elements};
use crate::autograd::Parent;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::elementwise::add_assign;
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// Tensors joined along one axis, in their order: a copy. An `axis` counts from 0, or from the end
/// if it is negative.
///
/// # Shapes
/// `[.., N₁, ..]`, `[.., N₂, ..]`, ... to `[.., N₁ + N₂ + ..., ..]`, all other axes equal.
///
/// # Gradient
/// Each input gets its own part of dy.
///
/// # Errors
/// [`Error::Shape`] when there is no input, no such axis, or another axis differs.
pub fn concat(inputs: &[&Tensor], axis: isize) -> Result<Tensor> {
    let _span = span("concat");
    let Some(first) = inputs.first() else {
        return Err(Error::shape("concat", "at least one tensor", &[]));
    };
    let axis = axis_of("concat", first, axis)?;
    let mut shape = first.shape().to_vec();
    shape[axis] = 0;
    for x in inputs {
        let equal = |i: usize| i == axis || x.shape()[i] == first.shape()[i];
        let fits = x.rank() == first.rank() && (0..x.rank()).all(equal);
        let expected = format_args!("{:?}, but for axis {axis}", first.shape());
        Error::unless_shaped(fits, "concat", expected, x.shape())?;
        shape[axis] = shape[axis].saturating_add(x.shape()[axis]);
    }
    let len = elements(&shape)
        .ok_or_else(|| Error::shape("concat", "as many elements as a machine may have", &shape))?;
    let inner: usize = shape[axis + 1..].iter().product();
    let width = shape[axis] * inner; // a row of y: the rows of the inputs, one behind the other
    let mut y = Buffer::stale(len);
    let mut parts: Vec<(Parent, usize, usize)> = Vec::new();
    let mut start = 0;
    for x in inputs {
        let len = x.shape()[axis] * inner;
        for (y, x) in rows_mut(&mut y, width).zip(rows(x.data(), len)) {
            y[start..start + len].copy_from_slice(x);
        }
        parts.push((x.parent(), start, len));
        start += len;
    }

    let parents: Vec<Parent> = inputs.iter().map(|x| x.parent()).collect();
    let parents: Vec<&Parent> = parents.iter().collect();
    let facts = || vec![("axis", axis.into())];
    let op = Op::new("concat", []).and_all(inputs).says(&facts);
    Ok(Tensor::from_op(op, &shape, y, &parents, move |dy, grads| {
        for (parent, start, len) in parts {
            grads.accumulate(&parent, |dx, beta| {
                for (dx, dy) in rows_mut(dx, len).zip(rows(&dy, width)) {
                    let part = &dy[start..start + len];
                    if beta == 0.0 { dx.copy_from_slice(part) } else { add_assign(dx, part) }
                }
            });
        }
    }))
}

/// Rows of `width`; an empty array has none, whatever their width.
fn rows(x: &[f32], width: usize) -> std::slice::ChunksExact<'_, f32> {
    x.chunks_exact(width.max(1))
}

fn rows_mut(x: &mut [f32], width: usize) -> std::slice::ChunksExactMut<'_, f32> {
    x.chunks_exact_mut(width.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;
    use ndarray::ArrayD;

    #[test]
    fn rows_stand_side_by_side_or_below_each_other() {
        let a = Tensor::from_vec(&[2, 1], vec![1.0, 2.0]).unwrap();
        let b = Tensor::from_vec(&[2, 2], vec![3.0, 4.0, 5.0, 6.0]).unwrap();
        let empty = Tensor::new(ArrayD::zeros(vec![2, 0]));
        let y = concat(&[&a, &empty, &b], -1).unwrap();
        assert_eq!((y.shape(), y.data()), (&[2, 3][..], &[1.0, 3.0, 4.0, 2.0, 5.0, 6.0][..]));
        let y = concat(&[&b, &b], 0).unwrap();
        assert_eq!((y.shape(), &y.data()[2..6]), (&[4, 2][..], &[5.0, 6.0, 3.0, 4.0][..]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let of = |shape: &[usize]| Tensor::new(ArrayD::zeros(shape));
        assert!(concat(&[], 0).is_err());
        assert!(concat(&[&of(&[2, 1])], 2).is_err() && concat(&[&of(&[])], 0).is_err());
        for other in [&[3, 1][..], &[2], &[2, 1, 1]] {
            assert!(concat(&[&of(&[2, 1]), &of(other)], 1).is_err());
        }
        let long = of(&[0, isize::MAX as usize]);
        assert!(concat(&[&long, &long, &long], 1).is_err());
    }

    #[test]
    fn one_tensor_twice_gets_both_shares() {
        let x = Tensor::parameter(ArrayD::ones(vec![2, 2]));
        let weights = Tensor::from_vec(&[2, 4], (0..8).map(|i| i as f32).collect()).unwrap();
        let y = ops::mul(&concat(&[&x, &x], 1).unwrap(), &weights).unwrap();
        let grads = ops::sum(&y).unwrap().backward().unwrap();
        assert_eq!(grads.get(&x).unwrap(), [2.0, 4.0, 10.0, 12.0]);
    }
}
