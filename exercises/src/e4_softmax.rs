//! Exercise 4: scores become shares, and one head is whole, `cargo test softmax`.
//!
//! ```text
//! P[i, j] = e^(S[i, j] − m) / Σ_k e^(S[i, k] − m)      m = the largest number of row i
//! attention = softmax(hide_future(q·kᵀ / √D)) · v
//! ```
//!
//! S and P are `[T, n]`, q, k, v and the result `[T, D]`. Shares are numbers from 0 to 1; every row adds up to 1. m changes
//! nothing on paper: it keeps e^x from growing past what a number can hold.
//!
//! To read first: `docs/learn_by_hand.md`, section 4, and `docs/transformer_math_to_code.md`, section 6. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::Array2;

/// softmax of every row. A score of −∞ gets the share 0; no row has nothing else.
pub fn softmax(scores: &Array2) -> Array2 {
    todo!("exercise 4: e^(S − m) / Σ e^(S − m) of every row")
}

/// Causal attention of one head, made of exercises 2 and 3 and of `softmax`.
pub fn causal_attention(q: &Array2, k: &Array2, v: &Array2) -> Array2 {
    todo!("exercise 4: softmax(hide_future(q·kᵀ / √D)) · v")
}
