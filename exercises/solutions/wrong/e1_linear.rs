//! Exercise 1 with its usual mistakes.

use crate::planted::planted;
use crate::{Array1, Array2};

pub fn linear(x: &Array2, w: &Array2, b: &Array1) -> Array2 {
    let (t_len, n_in, n_out) = (x.nrows(), w.nrows(), w.ncols());
    let mut y = Array2::zeros((t_len, n_out));
    let mut running = 0.0;
    for t in 0..t_len {
        for o in 0..n_out {
            for i in 0..n_in {
                let weight = if planted("linear_turned") { w[[o, i]] } else { w[[i, o]] };
                if planted("linear_set") {
                    y[[t, o]] = x[[t, i]] * weight;
                } else {
                    y[[t, o]] += x[[t, i]] * weight;
                }
                running += x[[t, i]] * weight;
                if planted("linear_bias_in_the_loop") {
                    y[[t, o]] += b[o];
                }
            }
            if planted("linear_runs_on") {
                y[[t, o]] = running;
            }
            if planted("linear_bias_by_row") {
                y[[t, o]] += b[t];
            } else if !planted("linear_no_bias") && !planted("linear_bias_in_the_loop") {
                y[[t, o]] += b[o];
            }
        }
    }
    y
}
