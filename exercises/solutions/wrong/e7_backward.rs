//! Exercise 7 with its usual mistakes.

use crate::planted::planted;
use crate::{Array1, Array2};

pub fn linear_backward(x: &Array2, w: &Array2, dy: &Array2) -> (Array2, Array2, Array1) {
    let (t_len, n_in, n_out) = (x.nrows(), w.nrows(), w.ncols());
    let mut dx = Array2::zeros((t_len, n_in));
    let mut dw = Array2::zeros((n_in, n_out));
    let mut db = Array1::zeros(n_out);
    let n = t_len as f64;
    for t in 0..t_len {
        for o in 0..n_out {
            for i in 0..n_in {
                if planted("dx_set") {
                    dx[[t, i]] = 0.0;
                }
                dx[[t, i]] += match () {
                    () if planted("dx_turned") => dy[[t, o]] * w[[o, i]],
                    () if planted("dx_mean") => dy[[t, o]] * w[[i, o]] / n,
                    () => dy[[t, o]] * w[[i, o]],
                };
                if planted("db_in_the_loop") {
                    db[o] += dy[[t, o]];
                }
                let product = x[[t, i]] * dy[[t, o]];
                match () {
                    () if planted("dw_exchanged") => dw[[o, i]] += product,
                    () if planted("dw_x_not_turned") => dw[[t, o]] += x[[t, i]] * dy[[i, o]],
                    () if planted("dw_mean") => dw[[i, o]] += product / n,
                    () if planted("dw_set") => dw[[i, o]] = product,
                    () => dw[[i, o]] += product,
                }
            }
            match () {
                () if planted("db_rows") => db[t] += dy[[t, o]],
                () if planted("db_mean") => db[o] += dy[[t, o]] / n,
                () if planted("db_set") => db[o] = dy[[t, o]],
                () if planted("db_one") => db[o] = 1.0,
                () if planted("db_in_the_loop") => {}
                () => db[o] += dy[[t, o]],
            }
        }
    }
    (dx, dw, db)
}

pub fn softmax_backward(p: &Array2, dp: &Array2) -> Array2 {
    let (t_len, n) = p.dim();
    let mut ds = Array2::zeros(p.raw_dim());
    let all: f64 =
        (0..t_len).flat_map(|i| (0..n).map(move |j| [i, j])).map(|at| p[at] * dp[at]).sum();
    let mut running = 0.0;
    for i in 0..t_len {
        let mut dot: f64 = (0..n).map(|j| p[[i, j]] * dp[[i, j]]).sum();
        running += dot;
        if planted("ds_sum_runs_on") {
            dot = running;
        }
        for j in 0..n {
            let (p_ij, dp_ij) = (p[[i, j]], dp[[i, j]]);
            ds[[i, j]] = match () {
                () if planted("ds_no_sum") => p_ij * dp_ij,
                () if planted("ds_alone") => p_ij * (1.0 - p_ij) * dp_ij,
                () if planted("ds_added") => p_ij * (dp_ij + dot),
                () if planted("ds_bracket") => p_ij * dp_ij - dot,
                () if planted("ds_no_shares") => p_ij * (dp_ij - dp.row(i).sum()),
                () if planted("ds_table") => p_ij * (dp_ij - all),
                () if planted("ds_columns") => {
                    p_ij * (dp_ij - (0..t_len).map(|k| p[[k, j]] * dp[[k, j]]).sum::<f64>())
                }
                () => p_ij * (dp_ij - dot),
            };
        }
    }
    ds
}
