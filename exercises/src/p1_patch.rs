//! Exercise p1: what a head causes, `cargo test patch`.
//!
//! ```text
//! Y_0 .. Y_{H-1}     the heads for x, as in exercise 6
//! Z_0 .. Z_{H-1}     the heads for other, with the same weights
//! Y_head[position] = Z_head[position]
//! out = join_heads(Y_0 .. Y_{H-1})·W_proj + b_proj
//!
//! put in = (d_clean − d_patched) / (d_clean − d_other)
//! ```
//!
//! x and other `[T, C]` are two texts of the same length; the result `[T, C]` is that of x, with one head at one position
//! as it is for other. What follows from it is caused by this head there, as nothing else was changed. d is a score of the one answer
//! less that of the other; the share says how far it went over.
//!
//! To read first: `docs/concepts/cause.md`, sections 2 and 3. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::{Array2, Weights};

/// `multi_head` of x, with what `head` gives at `position` for `other` in its place.
pub fn patched(
    x: &Array2,
    other: &Array2,
    weights: &Weights,
    n_heads: usize,
    head: usize,
    position: usize,
) -> Array2 {
    todo!("exercise p1: the heads of both texts, D numbers of one row replaced, the projection")
}

/// The share of the answer that went over to the other text's.
pub fn put_in(d_clean: f64, d_other: f64, d_patched: f64) -> f64 {
    todo!("exercise p1: how far from d_clean to d_other")
}
