//! Exercise p1 with its usual mistakes.

use crate::planted::planted;
use crate::{Array2, Array3, Weights, causal_attention, linear, split_heads};
use llm_core::ndarray::{Axis, s};

/// q, k and v of every head, each `[H, T, D]`.
fn parts(x: &Array2, weights: &Weights, n_heads: usize) -> [Array3; 3] {
    let c_len = x.ncols();
    let qkv: Array3 = linear(x, &weights.w_qkv, &weights.b_qkv).insert_axis(Axis(0));
    [0, 1, 2].map(|part| {
        let part = qkv.slice(s![.., .., part * c_len..(part + 1) * c_len]).to_owned();
        split_heads(&part, n_heads).index_axis_move(Axis(0), 0)
    })
}

/// The heads side by side, `[T, C]`.
fn heads([q, k, v]: &[Array3; 3]) -> Array2 {
    let (h_len, t_len, d_len) = q.dim();
    let mut y = Array2::zeros((t_len, h_len * d_len));
    for h in 0..h_len {
        let of = |part: &Array3| part.index_axis(Axis(0), h).to_owned();
        let head = causal_attention(&of(q), &of(k), &of(v));
        y.slice_mut(s![.., h * d_len..(h + 1) * d_len]).assign(&head);
    }
    y
}

pub fn patched(
    x: &Array2,
    other: &Array2,
    weights: &Weights,
    n_heads: usize,
    head: usize,
    position: usize,
) -> Array2 {
    let (x, other) = if planted("patch_direction") { (other, x) } else { (x, other) };
    let d_len = x.ncols() / n_heads;
    let (mut ours, theirs) = (parts(x, weights, n_heads), parts(other, weights, n_heads));
    let inside = [planted("patch_query"), planted("patch_key"), planted("patch_value")];
    for which in (0..3).filter(|which| inside[*which]) {
        let row = theirs[which].slice(s![head, position, ..]);
        ours[which].slice_mut(s![head, position, ..]).assign(&row);
    }
    let (mut y, z) = (heads(&ours), heads(&theirs));
    let is_here = |t: usize, c: usize| {
        let of_head = match () {
            () if planted("patch_in_turn") => c % n_heads == head,
            () if planted("patch_one_number") => c == head,
            () if planted("patch_all_heads") => true,
            () if planted("patch_next_head") => c / d_len == head + 1,
            () if planted("patch_the_others") => c / d_len != head,
            () => c / d_len == head,
        };
        let at = match () {
            () if planted("patch_everywhere") => true,
            () if planted("patch_up_to") => t <= position,
            () if planted("patch_from") => t >= position,
            () => t == position,
        };
        of_head && at && !planted("patch_nothing")
    };
    let after = planted("patch_after_proj");
    if after || planted("patch_no_proj") {
        let project = |y: &Array2| match after {
            true => linear(y, &weights.w_proj, &weights.b_proj),
            false => y.clone(),
        };
        let (mut out, theirs) = (project(&y), project(&z));
        out.indexed_iter_mut().for_each(|((t, c), y)| {
            if is_here(t, c) {
                *y = theirs[[t, c]];
            }
        });
        return out;
    }
    y.indexed_iter_mut().for_each(|((t, c), y)| {
        if is_here(t, c) && !inside.contains(&true) {
            *y = match () {
                () if planted("patch_zeros") => 0.0,
                () if planted("patch_added") => *y + z[[t, c]],
                () => z[[t, c]],
            };
        }
    });
    linear(&y, &weights.w_proj, &weights.b_proj)
}

pub fn put_in(d_clean: f64, d_other: f64, d_patched: f64) -> f64 {
    match () {
        () if planted("share_taken_out") => (d_patched - d_other) / (d_clean - d_other),
        () if planted("share_by_clean") => (d_clean - d_patched) / d_clean,
        () if planted("share_sign") => (d_patched - d_clean) / (d_clean - d_other),
        () if planted("share_not_divided") => d_clean - d_patched,
        () => (d_clean - d_patched) / (d_clean - d_other),
    }
}
