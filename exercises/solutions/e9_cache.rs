//! Exercise 9, solved.

use crate::{Array1, Array2, Cache, Weights, linear, softmax};
use llm_core::ndarray::{Axis, s};

/// The layer's result for the next token.
pub fn next_token(x: &Array1, weights: &Weights, n_heads: usize, cache: &mut Cache) -> Array1 {
    let c_len = x.len();
    let d_len = c_len / n_heads;
    let row = x.clone().insert_axis(Axis(0)); // [1, C]: a text of one position
    let qkv = linear(&row, &weights.w_qkv, &weights.b_qkv);
    let q = qkv.slice(s![0, ..c_len]).to_owned();
    cache.keys.push(qkv.slice(s![0, c_len..2 * c_len]).to_owned());
    cache.values.push(qkv.slice(s![0, 2 * c_len..]).to_owned());

    let n = cache.keys.len();
    let mut y = Array2::zeros((1, c_len));
    for h in 0..n_heads {
        let mut scores = Array2::zeros((1, n)); // one row: the new token asks
        for j in 0..n {
            let mut dot = 0.0;
            for d in 0..d_len {
                dot += q[h * d_len + d] * cache.keys[j][h * d_len + d];
            }
            scores[[0, j]] = dot / (d_len as f64).sqrt();
        }
        let p = softmax(&scores);
        for j in 0..n {
            for d in 0..d_len {
                y[[0, h * d_len + d]] += p[[0, j]] * cache.values[j][h * d_len + d];
            }
        }
    }
    linear(&y, &weights.w_proj, &weights.b_proj).row(0).to_owned()
}
