//! broadcast_to, and how two inputs of different shapes come together.

use super::elements;
use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::broadcast::{Repeat, add_sums, expand};
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// x repeated until it fills `shape`: a copy.
///
/// # Shapes
/// Lined up at the last axes, every axis of x has the length that `shape` says, or 1; x may have
/// fewer axes. `[C]`, `[1, C]` and `[T, 1]` all fill `[T, C]`.
///
/// # Gradient
/// dx = the sum of dy over the repeated axes, in f64, in the order of dy's elements.
///
/// # Errors
/// [`Error::Shape`] when x does not fill `shape`, [`Error::Memory`] when there is no room for it.
///
/// # Reference
/// The broadcasting rules of NumPy.
pub fn broadcast_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let _span = span("broadcast");
    let len = elements(shape).ok_or_else(|| {
        Error::shape("broadcast_to", "a shape of as many elements as a machine may have", shape)
    })?;
    let Some(repeat) = Repeat::new(x.shape(), shape) else {
        let expected = format!("an x that fills {shape:?} (its axes equal, 1 or missing in front)");
        return Err(Error::shape("broadcast_to", expected, x.shape()));
    };
    let mut y = Buffer::try_stale(len)?;
    expand(&mut y, x.data(), &repeat);
    let parent = x.parent();
    Ok(Tensor::from_op(Op::new("broadcast", [x]), shape, y, &[&x.parent()], move |dy, grads| {
        grads.accumulate_zeroed(&parent, |dx| add_sums(dx, &dy, &repeat));
    }))
}

/// Both inputs of `op` at the shape of its result: the longer of two axes where one is 1.
pub(super) fn together(op: &'static str, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2]> {
    let rank = a.rank().max(b.rank());
    let axis = |x: &Tensor, i: usize| (i + x.rank()).checked_sub(rank).map_or(1, |i| x.shape()[i]);
    let shape: Option<Vec<usize>> = (0..rank)
        .map(|i| match (axis(a, i), axis(b, i)) {
            (1, len) | (len, 1) => Some(len),
            (m, n) => (m == n).then_some(m),
        })
        .collect();
    let Some(shape) = shape else {
        let a = a.shape();
        let expected = format!("a b whose axes, from the last, are those of a {a:?} or 1");
        return Err(Error::shape(op, expected, b.shape()));
    };
    let at = |x: &Tensor| if x.shape() == shape { Ok(x.clone()) } else { broadcast_to(x, &shape) };
    Ok([at(a)?, at(b)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::ArrayD;

    fn of(shape: &[usize]) -> Tensor {
        Tensor::parameter(ArrayD::from_elem(shape, 2.0))
    }

    #[test]
    fn shapes_come_together_as_in_numpy() {
        let cases: [(&[usize], &[usize], &[usize]); 8] = [
            (&[2, 3], &[3], &[2, 3]),
            (&[2, 1], &[3], &[2, 3]),
            (&[3, 1, 2], &[4, 1], &[3, 4, 2]),
            (&[], &[2, 2], &[2, 2]),
            (&[1], &[5], &[5]),
            (&[1, 1], &[1], &[1, 1]),
            (&[0], &[1], &[0]),
            (&[2, 1], &[1, 0], &[2, 0]),
        ];
        for (a, b, want) in cases {
            for (a, b) in [(a, b), (b, a)] {
                let both = together("add", &of(a), &of(b)).unwrap();
                assert_eq!(both.map(|x| x.shape().to_vec()), [want, want], "{a:?} with {b:?}");
            }
        }
        for (a, b) in [(&[2, 3][..], &[2][..]), (&[2, 3], &[3, 2]), (&[2], &[0])] {
            for (a, b) in [(a, b), (b, a)] {
                assert!(together("add", &of(a), &of(b)).is_err(), "{a:?} with {b:?}");
            }
        }
    }

    #[test]
    fn refusals_name_both_shapes() {
        let error = together("sub", &of(&[2, 3]), &of(&[2])).unwrap_err().to_string();
        assert_eq!(
            error,
            "sub: expected a b whose axes, from the last, are those of a [2, 3] or 1, got [2]"
        );
        let error = broadcast_to(&of(&[2, 1]), &[2]).unwrap_err().to_string();
        assert!(error.starts_with("broadcast_to: expected an x that fills [2]"), "{error}");
        assert!(broadcast_to(&of(&[3]), &[2, 1]).is_err()); // one way only
        for too_many in [&[1 << 40, 1 << 40][..], &[0, 1 << 40, 1 << 40]] {
            assert!(matches!(broadcast_to(&of(&[1]), too_many), Err(Error::Shape { .. })));
        }
        assert!(matches!(broadcast_to(&of(&[1]), &[1 << 50]), Err(Error::Memory { .. })));
    }
}
