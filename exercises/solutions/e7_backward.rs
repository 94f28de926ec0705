//! Exercise 7, solved.

use crate::{Array1, Array2};

/// dx, dW and db of exercise 1.
pub fn linear_backward(x: &Array2, w: &Array2, dy: &Array2) -> (Array2, Array2, Array1) {
    let (t_len, n_in, n_out) = (x.nrows(), w.nrows(), w.ncols());
    let mut dx = Array2::zeros((t_len, n_in));
    let mut dw = Array2::zeros((n_in, n_out));
    let mut db = Array1::zeros(n_out);
    for t in 0..t_len {
        for o in 0..n_out {
            for i in 0..n_in {
                dx[[t, i]] += dy[[t, o]] * w[[i, o]];
                dw[[i, o]] += x[[t, i]] * dy[[t, o]];
            }
            db[o] += dy[[t, o]];
        }
    }
    (dx, dw, db)
}

/// dS of exercise 4.
pub fn softmax_backward(p: &Array2, dp: &Array2) -> Array2 {
    let mut ds = Array2::zeros(p.raw_dim());
    for i in 0..p.nrows() {
        let mut dot = 0.0;
        for j in 0..p.ncols() {
            dot += p[[i, j]] * dp[[i, j]];
        }
        for j in 0..p.ncols() {
            ds[[i, j]] = p[[i, j]] * (dp[[i, j]] - dot);
        }
    }
    ds
}
