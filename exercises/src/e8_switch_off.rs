//! Exercise 8: heads switched off, `cargo test switch_off`.
//!
//! ```text
//! Y_h = causal_attention(q_h, k_h, v_h)   where keep[h]
//! Y_h = 0                                 where not
//! out = join_heads(Y_0 .. Y_{H-1})·W_proj + b_proj
//! ```
//!
//! Shapes as in exercise 6; `keep [H]`. It is how one asks what a head is good for: what gets worse without it? The other
//! heads keep their places and their size.
//!
//! To read first: `docs/looking_inside.md`, section 6. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::{Array3, Weights};

/// `multi_head` with the heads of which `keep` is false silent.
pub fn multi_head_with(x: &Array3, weights: &Weights, n_heads: usize, keep: &[bool]) -> Array3 {
    todo!("exercise 8: zeros for the heads that are not kept")
}
