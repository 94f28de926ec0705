//! Exercise 6, solved.

use crate::{Array2, Array3, Array4, Weights, causal_attention, join_heads, linear, split_heads};
use llm_core::ndarray::{Axis, s};

/// The whole layer.
pub fn multi_head(x: &Array3, weights: &Weights, n_heads: usize) -> Array3 {
    let (b_len, t_len, c_len) = x.dim();
    let mut qkv = Array3::zeros((b_len, t_len, 3 * c_len));
    for b in 0..b_len {
        let sequence: Array2 = x.index_axis(Axis(0), b).to_owned(); // [T, C]
        qkv.index_axis_mut(Axis(0), b).assign(&linear(&sequence, &weights.w_qkv, &weights.b_qkv));
    }
    let q = split_heads(&qkv.slice(s![.., .., ..c_len]).to_owned(), n_heads); // [B, H, T, D]
    let k = split_heads(&qkv.slice(s![.., .., c_len..2 * c_len]).to_owned(), n_heads);
    let v = split_heads(&qkv.slice(s![.., .., 2 * c_len..]).to_owned(), n_heads);

    let mut y = Array4::zeros(q.raw_dim());
    for b in 0..b_len {
        for h in 0..n_heads {
            let of_head = |part: &Array4| part.slice(s![b, h, .., ..]).to_owned(); // [T, D]
            let y_h = causal_attention(&of_head(&q), &of_head(&k), &of_head(&v));
            y.slice_mut(s![b, h, .., ..]).assign(&y_h);
        }
    }

    let joined = join_heads(&y); // [B, T, C]
    let mut out = Array3::zeros((b_len, t_len, c_len));
    for b in 0..b_len {
        let sequence = joined.index_axis(Axis(0), b).to_owned();
        out.index_axis_mut(Axis(0), b).assign(&linear(&sequence, &weights.w_proj, &weights.b_proj));
    }
    out
}
