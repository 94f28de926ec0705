//! Exercise 6: multi-head attention, `cargo test multi_head`.
//!
//! ```text
//! qkv     = x·W_qkv + b_qkv                                   [T, 3C] of each sequence
//! q, k, v = columns 0..C, C..2C, 2C..3C of qkv                [T, C] each
//! Y_h     = causal_attention(q_h, k_h, v_h)                   [T, D] of each head, scale 1/√D
//! out     = join_heads(Y_0 .. Y_{H-1})·W_proj + b_proj        [T, C]
//! ```
//!
//! x and the result are `[B, T, C]`, `W_qkv [C, 3C]`, `b_qkv [3C]`, `W_proj [C, C]`, `b_proj [C]`, D = C / H. Sequences do not see
//! each other, nor do heads before the output projection. Everything needed is there: exercises 1, 4 and 5; the scale too, in
//! `scores`.
//!
//! To read first: `docs/variants/mha/learn_by_hand.md`, sections 1 to 4. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::{Array3, Weights};

/// The whole layer. H divides C.
pub fn multi_head(x: &Array3, weights: &Weights, n_heads: usize) -> Array3 {
    todo!("exercise 6: project, split, attend, join, project")
}
