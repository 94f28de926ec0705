//! Exercise m2 with its usual mistakes.

use crate::planted::planted;
use crate::{Array3, causal_attention};
use llm_core::ndarray::Axis;

pub fn grouped_attention(q: &Array3, k: &Array3, v: &Array3) -> Array3 {
    let (h_len, g_len) = (q.dim().0, k.dim().0);
    let mut y = Array3::zeros(q.raw_dim());
    for h in 0..h_len {
        let group = match () {
            () if planted("groups_modulo") => h % g_len,
            () if planted("groups_first") => 0,
            () if planted("groups_head") => h.min(g_len - 1),
            () if planted("groups_backwards") => g_len - 1 - h / (h_len / g_len),
            () => h / (h_len / g_len),
        };
        let of = |x: &Array3, n: usize| x.index_axis(Axis(0), n).to_owned();
        let of_v = if planted("groups_v_modulo") { h % g_len } else { group };
        let keys = if planted("groups_k_and_v") { v } else { k };
        let values = if planted("groups_k_and_v") { k } else { v };
        let head = causal_attention(&of(q, h), &of(keys, group), &of(values, of_v));
        y.index_axis_mut(Axis(0), h).assign(&head);
    }
    y
}

pub fn cache_numbers(n_layers: usize, n_groups: usize, head_dim: usize, positions: usize) -> usize {
    let all = n_layers * n_groups * head_dim * positions;
    match () {
        () if planted("groups_keys_alone") => all,
        () if planted("groups_one_block") => 2 * all / n_layers,
        () if planted("groups_bytes") => 8 * all,
        () => 2 * all,
    }
}
