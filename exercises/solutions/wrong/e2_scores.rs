//! Exercise 2 with its usual mistakes.

use crate::Array2;
use crate::planted::planted;

pub fn scores(q: &Array2, k: &Array2) -> Array2 {
    let (t_len, d_len) = q.dim();
    let root = (d_len as f64).sqrt();
    let k = if planted("scores_q_meets_q") { q } else { k };
    let mut s = Array2::zeros((t_len, t_len));
    let mut running = 0.0;
    for i in 0..t_len {
        for j in 0..t_len {
            let mut dot = 0.0;
            for d in 0..d_len {
                let product = q[[i, d]] * k[[if planted("scores_k_at_i") { i } else { j }, d]];
                dot = if planted("scores_set") { product } else { dot + product };
                running += product;
            }
            let score = match () {
                () if planted("scores_unscaled") => dot,
                () if planted("scores_runs_on") => running / root,
                () if planted("scores_left_out") && j > i => 0.0,
                () if planted("scores_hidden") && j > i => f64::NEG_INFINITY,
                () if planted("scores_by_d") => dot / d_len as f64,
                () if planted("scores_times_root") => dot * root,
                () if planted("scores_by_root_t") => dot / (t_len as f64).sqrt(),
                () => dot / root,
            };
            let at = if planted("scores_exchanged") { [j, i] } else { [i, j] };
            s[at] = score;
        }
    }
    s
}

pub fn weighted_sum(p: &Array2, v: &Array2) -> Array2 {
    let (t_len, d_len) = v.dim();
    let mut y = Array2::zeros((t_len, d_len));
    for i in 0..t_len {
        for j in 0..t_len {
            for d in 0..d_len {
                let share = match () {
                    () if planted("sum_exchanged") => p[[j, i]],
                    () if planted("sum_mean") => 1.0 / t_len as f64,
                    () if planted("sum_divided") => p[[i, j]] / t_len as f64,
                    () => p[[i, j]],
                };
                let product = share * v[[if planted("sum_v_at_i") { i } else { j }, d]];
                y[[i, d]] = if planted("sum_set") { product } else { y[[i, d]] + product };
            }
        }
    }
    y
}
