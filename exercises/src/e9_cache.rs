//! Exercise 9: one token at a time, `cargo test cache`.
//!
//! ```text
//! q, k, v = x·W_qkv + b_qkv                          of the new token alone, [C] each
//! keys, values ← keys, values of before, and k, v
//! S_h[j]  = q_h·keys_h[j] / √D                       for every j in the cache
//! Y_h     = Σ_j softmax(S_h)[j]·values_h[j]
//! out     = (Y_0 .. Y_{H-1})·W_proj + b_proj         [C]
//! ```
//!
//! x `[C]` is the new token, the result `[C]` its row of `multi_head` over the whole text. Writing text needs no other row, and
//! the old ones need not be computed again: T tokens cost T rows of scores, and not T tables. The cache grows by 2C numbers
//! for each token.
//!
//! To read first: `docs/writing_text.md`, section 3. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::{Array1, Cache, Weights};

/// The layer's result for the next token; its key and its value are put behind those in the cache.
pub fn next_token(x: &Array1, weights: &Weights, n_heads: usize, cache: &mut Cache) -> Array1 {
    todo!("exercise 9: project, put k and v into the cache, attend over it, project")
}
