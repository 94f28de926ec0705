//! Exercise 5, solved.

use crate::{Array3, Array4};

/// `[B, T, C]` to `[B, H, T, D]`.
pub fn split_heads(x: &Array3, n_heads: usize) -> Array4 {
    let (b_len, t_len, c_len) = x.dim();
    let d_len = c_len / n_heads;
    let mut heads = Array4::zeros((b_len, n_heads, t_len, d_len));
    for b in 0..b_len {
        for h in 0..n_heads {
            for t in 0..t_len {
                for d in 0..d_len {
                    heads[[b, h, t, d]] = x[[b, t, h * d_len + d]];
                }
            }
        }
    }
    heads
}

/// `[B, H, T, D]` to `[B, T, C]`.
pub fn join_heads(heads: &Array4) -> Array3 {
    let (b_len, n_heads, t_len, d_len) = heads.dim();
    let mut x = Array3::zeros((b_len, t_len, n_heads * d_len));
    for b in 0..b_len {
        for h in 0..n_heads {
            for t in 0..t_len {
                for d in 0..d_len {
                    x[[b, t, h * d_len + d]] = heads[[b, h, t, d]];
                }
            }
        }
    }
    x
}
