//! The layer of exercises 6 and 8, as loops over single numbers, with its usual mistakes. A name ends in what is done; before
//! it stands `layer`, so that both exercises are tried with it.

use crate::planted::planted;
use crate::{Array3, Weights};

pub fn layer(x: &Array3, w: &Weights, n_heads: usize, keep: &[bool]) -> Array3 {
    let (b_len, t_len, c_len) = x.dim();
    let d_len = c_len / n_heads;
    let part = |part: usize| match () {
        () if planted("layer_q_and_k") => [1, 0, 2][part],
        () if planted("layer_k_and_v") => [0, 2, 1][part],
        () if planted("layer_v_is_k") => [0, 1, 1][part],
        () if planted("layer_vqk") => [2, 0, 1][part],
        () => part,
    };
    // Where number d of head h at position t lies: the position and the channel.
    let place = |h: usize, t: usize, d: usize| match () {
        () if planted("layer_reread") => {
            let at = (h * t_len + t) * d_len + d;
            [at / c_len, at % c_len]
        }
        () if planted("layer_in_turn") => [t, d * n_heads + h],
        () => [t, h * d_len + d],
    };
    let joined = |h: usize, t: usize, d: usize| match () {
        () if planted("layer_joined_reread") => {
            let at = (h * t_len + t) * d_len + d;
            [at / c_len, at % c_len]
        }
        () if planted("layer_joined_in_turn") => [t, d * n_heads + h],
        () if planted("layer_joined_backwards") => [t, (n_heads - 1 - h) * d_len + d],
        () => place(h, t, d),
    };
    let mut out = Array3::zeros(x.raw_dim());
    for b in 0..b_len {
        let sequence = if planted("layer_first_sequence") { 0 } else { b };
        let project = |t: usize, column: usize| {
            let bias = if planted("layer_no_b_qkv") { 0.0 } else { w.b_qkv[column] };
            bias + (0..c_len).map(|c| x[[sequence, t, c]] * w.w_qkv[[c, column]]).sum::<f64>()
        };
        let number = |which: usize, h: usize, t: usize, d: usize| {
            let [t, c] = place(h, t, d);
            if planted("layer_packed_by_head") {
                return project(t, (3 * h + which) * d_len + d);
            }
            project(t, part(which) * c_len + c)
        };
        let mut y = vec![vec![0.0; c_len]; t_len];
        for h in 0..n_heads {
            let root = match () {
                () if planted("layer_root_c") => c_len as f64,
                () if planted("layer_no_scale") => 1.0,
                () if planted("layer_scaled_twice") => (d_len * d_len) as f64,
                () => d_len as f64,
            };
            let used = keep.get(h) != Some(&false);
            if !used && planted("off_break") {
                break;
            }
            if !used && !silent_otherwise() {
                continue;
            }
            let e = |i: usize, j: usize| {
                let hidden = match () {
                    () if planted("layer_sees_all") => false,
                    () if planted("layer_hides_itself") => j >= i,
                    () => j > i,
                };
                let mut dot: f64 =
                    (0..d_len).map(|d| number(0, h, i, d) * number(1, h, j, d)).sum();
                if !used && planted("off_scores") {
                    dot = 0.0;
                }
                if hidden { 0.0 } else { (dot / root.sqrt()).exp() }
            };
            let exps: Vec<Vec<f64>> =
                (0..t_len).map(|i| (0..t_len).map(|j| e(i, j)).collect()).collect();
            for i in 0..t_len {
                let sum = |j: usize| match () {
                    () if planted("layer_columns") => exps.iter().map(|row| row[j]).sum::<f64>(),
                    () => exps[i].iter().sum(),
                };
                for d in 0..d_len {
                    let [t, c] = joined(h, i, d);
                    y[t][c] = (0..t_len).map(|j| exps[i][j] / sum(j) * number(2, h, j, d)).sum();
                }
            }
        }
        for t in 0..t_len {
            silence(&mut y[t], n_heads, keep);
            for o in 0..c_len {
                let mixed = (0..c_len).map(|c| {
                    let turned = planted("layer_proj_turned");
                    y[t][c] * if turned { w.w_proj[[o, c]] } else { w.w_proj[[c, o]] }
                });
                let lost = planted("off_b_proj") && keep.contains(&false);
                let bias = if planted("layer_no_b_proj") || lost { 0.0 } else { w.b_proj[o] };
                out[[b, t, o]] = mixed.sum::<f64>() + bias;
                if planted("layer_no_proj") {
                    out[[b, t, o]] = y[t][o];
                }
                let silent = keep.get(o / d_len) == Some(&false);
                if planted("off_after_proj") && silent {
                    out[[b, t, o]] = 0.0;
                }
            }
        }
    }
    out
}

/// Heads that are off are computed, and treated in another way or not at all.
fn silent_otherwise() -> bool {
    ["off_nothing", "off_after_proj", "off_wrong_channels", "off_scores"].iter().any(|m| planted(m))
}

fn silence(y: &mut [f64], n_heads: usize, keep: &[bool]) {
    let kept = keep.iter().filter(|keep| **keep).count();
    for (c, y) in y.iter_mut().enumerate() {
        if planted("off_wrong_channels") && keep.get(c % n_heads) == Some(&false) {
            *y = 0.0;
        }
        if planted("off_larger") && kept > 0 {
            *y *= n_heads as f64 / kept as f64;
        }
    }
}
