//! Exercise 5 with its usual mistakes.

use crate::planted::planted;
use crate::{Array3, Array4};

pub fn split_heads(x: &Array3, n_heads: usize) -> Array4 {
    let (b_len, t_len, c_len) = x.dim();
    let d_len = c_len / n_heads;
    let shape = (b_len, n_heads, t_len, d_len);
    if planted("split_not_exchanged") {
        return x.clone().into_shape_with_order((b_len, t_len, n_heads, d_len)).unwrap();
    }
    if planted("split_reread") {
        return x.clone().into_shape_with_order(shape).unwrap();
    }
    Array4::from_shape_fn(shape, |(b, h, t, d)| match () {
        () if planted("split_in_turn") => x[[b, t, d * n_heads + h]],
        () if planted("split_from_h") => x[[b, t, h * n_heads + d]],
        () if planted("split_backwards") => x[[b, t, (n_heads - 1 - h) * d_len + d]],
        () => x[[b, t, h * d_len + d]],
    })
}

pub fn join_heads(heads: &Array4) -> Array3 {
    let (b_len, n_heads, t_len, d_len) = heads.dim();
    let shape = (b_len, t_len, n_heads * d_len);
    if planted("join_from_h") {
        let mut x = Array3::zeros(shape);
        for ((b, h, t, d), number) in heads.indexed_iter() {
            x[[b, t, h * n_heads + d]] = *number;
        }
        return x;
    }
    if planted("join_reread") {
        return heads.clone().into_shape_with_order(shape).unwrap();
    }
    Array3::from_shape_fn(shape, |(b, t, c)| match () {
        () if planted("join_in_turn") => heads[[b, c % n_heads, t, c / n_heads]],
        () if planted("join_backwards") => heads[[b, n_heads - 1 - c / d_len, t, c % d_len]],
        () => heads[[b, c / d_len, t, c % d_len]],
    })
}
