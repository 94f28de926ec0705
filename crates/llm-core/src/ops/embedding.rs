//! embedding: rows of a table by number.

use super::elements;
use crate::base::{Error, Result, TokenId};
use crate::buffer::{Buffer, Tokens};
use crate::kernels::embedding as kernel;
use crate::listing::{Fact, Facts};
use crate::profile::span;
use crate::tensor::{Op, Tensor};

/// `y[.., :]` = `w[id, :]` for every id.
///
/// # Shapes
/// `w [V, C]`; `ids` flat, of the elements of `shape`; result `shape + [C]`.
///
/// # Gradient
/// `dw[id, :]` += `dy[.., :]`: a row used twice gets both shares, an unused one zero.
///
/// # Errors
/// [`Error::TokenOutOfRange`] for an id ≥ V, [`Error::Shape`] when the number of ids is not that
/// of `shape`.
pub fn embedding(w: &Tensor, ids: &[TokenId], shape: &[usize]) -> Result<Tensor> {
    embedding_of("rows", w, ids, shape)
}

/// [`embedding`] of ids that a listing is to call `name`: `tokens` or `places`, so that somebody else
/// can put those of another batch in their place.
///
/// # Errors
/// As [`embedding`].
pub fn embedding_of(
    name: &'static str,
    w: &Tensor,
    ids: &[TokenId],
    shape: &[usize],
) -> Result<Tensor> {
    embedding_that_says(&|| vec![(name, Fact::Ids(ids.to_vec()))], w, ids, shape)
}

/// [`embedding`] that says this of itself to a listing.
pub(crate) fn embedding_that_says(
    facts: &dyn Fn() -> Facts,
    w: &Tensor,
    ids: &[TokenId],
    shape: &[usize],
) -> Result<Tensor> {
    let _span = span("embedding");
    let [v, c] = w.dims("embedding", "w of shape [V, C]")?;
    let fits = elements(shape) == Some(ids.len()) && !ids.is_empty() && c > 0;
    Error::unless_shaped(fits, "embedding", format_args!("ids for {shape:?}"), &[ids.len()])?;
    Error::unless_within(ids, v)?;
    let y = Buffer::written(ids.len() * c, |y| kernel::forward(y, |i| w.row(i), ids, c));
    let (parent, ids) = (w.parent(), Tokens::copy_of(ids));
    let shape = [shape, &[c]].concat();
    let op = Op::new("embedding", [w]).says(facts);
    Ok(Tensor::from_op(op, &shape, y, &[&w.parent()], move |dy, grads| {
        grads.accumulate_zeroed(&parent, |dw| kernel::backward(dw, &dy, &ids, c));
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::ArrayD;

    #[test]
    fn shapes_that_are_not_those_of_the_numbers_are_refused() {
        let w = Tensor::new(ArrayD::zeros(vec![3, 2]));
        assert_eq!(embedding(&w, &[2, 0], &[1, 2]).unwrap().shape(), [1, 2, 2]);
        for shape in [&[3][..], &[], &[0, 2], &[2, usize::MAX], &[1 << 33, 1 << 33], &[0, 1 << 63]]
        {
            let refused = embedding(&w, &[2, 0], shape).unwrap_err();
            assert!(matches!(refused, Error::Shape { op: "embedding", .. }), "{refused}");
        }
    }
}
