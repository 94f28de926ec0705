//! Exercise 2, solved.

use crate::Array2;

/// S = q·kᵀ / √D.
pub fn scores(q: &Array2, k: &Array2) -> Array2 {
    let (t_len, d_len) = q.dim();
    let scale = 1.0 / (d_len as f64).sqrt();
    let mut s = Array2::zeros((t_len, t_len));
    for i in 0..t_len {
        for j in 0..t_len {
            let mut dot = 0.0;
            for d in 0..d_len {
                dot += q[[i, d]] * k[[j, d]];
            }
            s[[i, j]] = dot * scale;
        }
    }
    s
}

/// y = P·v.
pub fn weighted_sum(p: &Array2, v: &Array2) -> Array2 {
    let (t_len, d_len) = v.dim();
    let mut y = Array2::zeros((t_len, d_len));
    for i in 0..t_len {
        for j in 0..t_len {
            for d in 0..d_len {
                y[[i, d]] += p[[i, j]] * v[[j, d]];
            }
        }
    }
    y
}
