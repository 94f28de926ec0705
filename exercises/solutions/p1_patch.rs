//! Exercise p1, solved.

use crate::{Array2, Array3, Array4, Weights, causal_attention, join_heads, linear, split_heads};
use llm_core::ndarray::{Axis, s};

/// What the heads give, side by side and not yet mixed: `[T, C]`.
fn heads(x: &Array2, weights: &Weights, n_heads: usize) -> Array2 {
    let c_len = x.ncols();
    let qkv: Array3 = linear(x, &weights.w_qkv, &weights.b_qkv).insert_axis(Axis(0));
    let part =
        |from: usize| split_heads(&qkv.slice(s![.., .., from..from + c_len]).to_owned(), n_heads);
    let (q, k, v) = (part(0), part(c_len), part(2 * c_len));
    let mut y = Array4::zeros(q.raw_dim());
    for h in 0..n_heads {
        let of_head = |part: &Array4| part.slice(s![0, h, .., ..]).to_owned();
        let y_h = causal_attention(&of_head(&q), &of_head(&k), &of_head(&v));
        y.slice_mut(s![0, h, .., ..]).assign(&y_h);
    }
    join_heads(&y).index_axis(Axis(0), 0).to_owned()
}

/// `multi_head` of x, with what `head` gives at `position` for `other` in its place.
pub fn patched(
    x: &Array2,
    other: &Array2,
    weights: &Weights,
    n_heads: usize,
    head: usize,
    position: usize,
) -> Array2 {
    let d_len = x.ncols() / n_heads;
    let mut y = heads(x, weights, n_heads);
    let z = heads(other, weights, n_heads);
    for c in head * d_len..(head + 1) * d_len {
        y[[position, c]] = z[[position, c]];
    }
    linear(&y, &weights.w_proj, &weights.b_proj)
}

/// The share of the answer that went over to the other text's.
pub fn put_in(d_clean: f64, d_other: f64, d_patched: f64) -> f64 {
    (d_clean - d_patched) / (d_clean - d_other)
}
