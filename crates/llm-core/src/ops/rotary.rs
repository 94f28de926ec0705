//! rotary: heads turned by their positions.

use crate::base::{Error, Result};
use crate::buffer::Buffer;
use crate::kernels::rotary::{self as kernel, Angles, Turned};
use crate::listing::Fact;
use crate::profile::span;
use crate::tensor::{Op, Tensor};
use std::sync::Arc;

/// The first `n_heads` heads of every row turned by the angles of their position; all other channels
/// as they are. With queries and keys side by side in the first heads, as in a projected `qkv`, one
/// call turns both.
///
/// ```text
/// y[i]       = x[i]·cos − x[i + R/2]·sin          angle = position·θ^(−2i/R), i = 0..R/2
/// y[i + R/2] = x[i]·sin + x[i + R/2]·cos          for the first R of a head's D channels
/// ```
///
/// # Shapes
/// `x [B, T, W]` to the same, W ≥ H·D, D ≥ R. The first row of each sequence is at position `start`,
/// and `angles` has those of all T positions.
///
/// # Gradient
/// dx is dy turned the other way.
///
/// # Errors
/// [`Error::Shape`] when x does not have three axes, or its channels or positions do not match.
///
/// # Reference
/// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding".
pub fn rotary(
    x: &Tensor,
    n_heads: usize,
    head_dim: usize,
    angles: &Arc<Angles>,
    start: usize,
) -> Result<Tensor> {
    let _span = span("rotary");
    let [_, t, w] = x.dims("rotary", "x of shape [B, T, W]")?;
    let (r, most) = (angles.width(), angles.positions());
    let fits = head_dim > 0 && r <= head_dim && w > 0;
    let fits = fits && n_heads.checked_mul(head_dim).is_some_and(|turned| turned <= w);
    let expected = format_args!("{n_heads} heads of {head_dim} channels, {r} of them turned");
    Error::unless_shaped(fits, "rotary", expected, x.shape())?;
    let fits = start.checked_add(t).is_some_and(|end| end <= most);
    let expected = format_args!("positions from {start} up to {most}");
    Error::unless_shaped(fits, "rotary", expected, x.shape())?;
    let sizes = [w, n_heads, head_dim, t, start];
    let y = Buffer::written(x.numel(), |y| kernel::forward(y, x.data(), &turned(angles, sizes)));
    let (parent, shared, angles) = (x.parent(), angles, angles.clone());
    let facts = || {
        vec![
            ("heads", n_heads.into()),
            ("head_dim", head_dim.into()),
            ("start", start.into()),
            ("angles", Fact::Angles(shared.clone())),
        ]
    };
    let op = Op::new("rotary", [x]).says(&facts);
    Ok(Tensor::from_op(op, x.shape(), y, &[&x.parent()], move |mut dy, grads| {
        kernel::turn_back(&mut dy, &turned(&angles, sizes));
        grads.give(&parent, dy);
    }))
}

fn turned(angles: &Angles, [width, n_heads, head_dim, seq_len, start]: [usize; 5]) -> Turned<'_> {
    Turned { angles, width, n_heads, head_dim, seq_len, start }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::ArrayD;

    #[test]
    fn what_does_not_fit_is_refused() {
        let angles = Arc::new(Angles::new(10_000.0, 4, 6));
        let of = |shape: &[usize], heads: usize, head_dim: usize, start: usize| {
            rotary(&Tensor::new(ArrayD::ones(shape)), heads, head_dim, &angles, start)
        };
        assert!(of(&[2, 5, 12], 2, 6, 1).is_ok() && of(&[2, 5, 12], 3, 4, 0).is_ok());
        assert!(of(&[0, 5, 12], 2, 6, 0).is_ok() && of(&[2, 5, 12], 0, 4, 0).is_ok());
        for (shape, heads, head_dim, start) in [
            (&[5, 12][..], 2, 6, 0),
            (&[2, 5, 12], 3, 6, 0),
            (&[2, 5, 12], usize::MAX, 6, 0),
            (&[2, 5, 12], 3, 3, 0),
            (&[2, 5, 12], 3, 0, 0),
            (&[2, 5, 12], 2, 6, 2),
            (&[2, 5, 12], 2, 6, usize::MAX),
            (&[2, 7, 12], 2, 6, 0),
            (&[2, 5, 0], 0, 4, 0),
        ] {
            let refused = of(shape, heads, head_dim, start).unwrap_err();
            assert!(matches!(refused, Error::Shape { op: "rotary", .. }), "{refused}");
        }
    }
}
