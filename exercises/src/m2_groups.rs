//! Exercise m2: grouped queries, `cargo test groups`.
//!
//! ```text
//! g   = h / (H/G), rounded down                       the group that head h reads
//! Y_h = causal_attention(q_h, k_g, v_g)               [T, D] of each head, as in exercise 4
//! ```
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | q | `[H, T, D]` | queries, a table for each head |
//! | k, v | `[G, T, D]` | keys and values, a table for each group; G divides H |
//! | Y | `[H, T, D]` | |
//!
//! And what it is good for: for each position and block a cache keeps the key and the value of every group.
//!
//! To read first: `docs/variants/modern/grouped_queries.md`, sections 1 to 4. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::Array3;

/// Attention of H heads of queries over G groups of keys and values.
pub fn grouped_attention(q: &Array3, k: &Array3, v: &Array3) -> Array3 {
    todo!("exercise m2: head h reads group h / (H/G)")
}

/// Numbers that a cache keeps for a text of `positions` positions, in all blocks of a model.
pub fn cache_numbers(n_layers: usize, n_groups: usize, head_dim: usize, positions: usize) -> usize {
    todo!("exercise m2: a key and a value for each block, group and position")
}
