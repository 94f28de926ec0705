//! Exercise 2: the two products of scaled dot-product attention, `cargo test scores`.
//!
//! ```text
//! S[i, j] = (Σ_d q[i, d]·k[j, d]) / √D        how well position j answers what position i asks
//! y[i, d] = Σ_j P[i, j]·v[j, d]               the values, each by its share
//! ```
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | q, k, v | `[T, D]` | queries, keys and values of one head of D channels |
//! | S | `[T, T]` | row i: the position that asks; column j: the one that answers |
//! | P | `[T, T]` | shares: every row adds up to 1 |
//! | y | `[T, D]` | |
//!
//! Every i meets every j here, later positions too: hiding them is exercise 3.
//!
//! Scores have no unit. Dividing by √D keeps them the same size for narrow heads and wide ones. What makes shares of scores
//! is exercise 4; here the shares are given.
//!
//! To read first: `docs/learn_by_hand.md`, sections 3 and 5. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::Array2;

/// S = q·kᵀ / √D.
pub fn scores(q: &Array2, k: &Array2) -> Array2 {
    todo!("exercise 2: S = q·kᵀ / √D")
}

/// y = P·v.
pub fn weighted_sum(p: &Array2, v: &Array2) -> Array2 {
    todo!("exercise 2: y = P·v")
}
