//! Exercise 5: channels become heads and come back, `cargo test split`.
//!
//! ```text
//! heads[b, h, t, d] = x[b, t, h·D + d]        D = C / H
//! ```
//!
//! | array | shape |
//! |---|---|
//! | x | `[B, T, C]`: sequences, positions, channels |
//! | heads | `[B, H, T, D]`: head h of a sequence is a table `[T, D]` of its own |
//!
//! Head h has the channels h·D..(h+1)·D of every position. Both arrays hold the same numbers in another order in memory: reading
//! the list of `[B, T, C]` as `[B, H, T, D]` is another thing.
//!
//! To read first: `docs/variants/mha/why_multi_head_attention.md`, section 4. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::{Array3, Array4};

/// `[B, T, C]` to `[B, H, T, D]`. H divides C.
pub fn split_heads(x: &Array3, n_heads: usize) -> Array4 {
    todo!("exercise 5: heads[b, h, t, d] = x[b, t, h·D + d]")
}

/// The way back: `[B, H, T, D]` to `[B, T, C]`, head 0 first.
pub fn join_heads(heads: &Array4) -> Array3 {
    todo!("exercise 5: x[b, t, h·D + d] = heads[b, h, t, d]")
}
