//! embedding: rows of a table by number.

use crate::base::{Error, Result, TokenId};
use crate::buffer::{Buffer, Tokens};
use crate::kernels::embedding as kernel;
use crate::profile::span;
use crate::tensor::Tensor;

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
    let _span = span("embedding");
    let [v, c] = w.dims("embedding", "w of shape [V, C]")?;
    if shape.iter().product::<usize>() != ids.len() || ids.is_empty() || c == 0 {
        return Err(Error::shape("embedding", format!("ids for {shape:?}"), &[ids.len()]));
    }
    if let Some(position) = ids.iter().position(|&id| id as usize >= v) {
        return Err(Error::TokenOutOfRange { token: ids[position], position, vocab_size: v });
    }
    let mut y = Buffer::stale(ids.len() * c);
    kernel::forward(&mut y, w.data(), ids, c);
    let (parent, ids) = (w.parent(), Tokens::copy_of(ids));
    let shape = [shape, &[c]].concat();
    Ok(Tensor::from_op("embedding", &shape, y, &[&w.parent()], move |dy, grads| {
        grads.accumulate_zeroed(&parent, |dw| kernel::backward(dw, &dy, &ids, c));
    }))
}
