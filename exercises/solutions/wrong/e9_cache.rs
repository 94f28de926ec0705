//! Exercise 9 with its usual mistakes.

use crate::planted::planted;
use crate::{Array1, Array2, Cache, Weights, hide_future, linear, softmax};
use llm_core::ndarray::{Axis, s};

pub fn next_token(x: &Array1, weights: &Weights, n_heads: usize, cache: &mut Cache) -> Array1 {
    let c_len = x.len();
    let d_len = c_len / n_heads;
    let row = x.clone().insert_axis(Axis(0));
    let qkv = linear(&row, &weights.w_qkv, &weights.b_qkv);
    let part = |n: usize| qkv.slice(s![0, n * c_len..(n + 1) * c_len]).to_owned();
    let (q, k, v) = (part(0), part(1), part(2));
    if planted("cache_emptied") {
        cache.keys.clear();
        cache.values.clear();
    }
    if !planted("cache_too_late") {
        let key = if planted("cache_query_kept") { q.clone() } else { k.clone() };
        if planted("cache_keys_first") || planted("cache_newest_first") {
            cache.keys.insert(0, key);
        } else {
            cache.keys.push(key);
        }
        if planted("cache_whole_row") {
            cache.keys.pop();
            cache.keys.push(qkv.slice(s![0, c_len..]).to_owned());
        }
        if planted("cache_newest_first") {
            cache.values.insert(0, v.clone());
        } else {
            cache.values.push(if planted("cache_key_as_value") { k.clone() } else { v.clone() });
        }
    }

    let n = cache.keys.len();
    let mut y = Array2::zeros((1, c_len));
    let root = match () {
        () if planted("cache_root_c") => c_len,
        () if planted("cache_root_n") => n,
        () if planted("cache_no_scale") => 1,
        () => d_len,
    };
    let mut scores = Array2::zeros((n_heads, n));
    for h in 0..n_heads {
        for j in 0..n {
            let j_used = if planted("cache_last_only") { n - 1 } else { j };
            let (start, len) = match () {
                () if planted("cache_head_0") => (0, d_len),
                () if planted("cache_all_channels") => (0, c_len),
                () => (h * d_len, d_len),
            };
            let dot: f64 = (start..start + len).map(|c| q[c] * cache.keys[j_used][c]).sum();
            scores[[h, j]] = dot / (root as f64).sqrt();
        }
    }
    if planted("cache_hidden") {
        for h in 0..n_heads {
            let row = scores.slice(s![h..h + 1, ..]).to_owned();
            scores.slice_mut(s![h..h + 1, ..]).assign(&hide_future(&row));
        }
    }
    let mut p = softmax(&scores);
    if planted("cache_one_softmax") {
        let sum: f64 = scores.iter().map(|s| s.exp()).sum();
        p = scores.mapv(|s| s.exp() / sum);
    }
    if planted("cache_column") {
        p.fill(1.0); // softmax of rows of one number
    }
    for h in 0..n_heads {
        for j in 0..n {
            let value = if planted("cache_last_only") { n - 1 } else { j };
            for d in 0..d_len {
                y[[0, h * d_len + d]] += p[[h, j]] * cache.values[value][h * d_len + d];
            }
        }
    }
    if planted("cache_too_late") {
        cache.keys.push(k);
        cache.values.push(v);
    }
    if planted("cache_no_proj") {
        return y.row(0).to_owned();
    }
    linear(&y, &weights.w_proj, &weights.b_proj).row(0).to_owned()
}
