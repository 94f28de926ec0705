//! Exercise 1, solved.

use crate::{Array1, Array2};

/// y = x·W + b.
pub fn linear(x: &Array2, w: &Array2, b: &Array1) -> Array2 {
    let (t_len, n_in, n_out) = (x.nrows(), w.nrows(), w.ncols());
    let mut y = Array2::zeros((t_len, n_out));
    for t in 0..t_len {
        for o in 0..n_out {
            let mut sum = b[o];
            for i in 0..n_in {
                sum += x[[t, i]] * w[[i, o]];
            }
            y[[t, o]] = sum;
        }
    }
    y
}
