//! Exercise m1: rotary positions, `cargo test rotary`.
//!
//! ```text
//! angle(t, i) = t·θ^(−2i/D)                                   i = 0..D/2, in radians
//! y[t, i]       = x[t, i]·cos − x[t, i + D/2]·sin             cos and sin of angle(t, i)
//! y[t, i + D/2] = x[t, i]·sin + x[t, i + D/2]·cos
//! ```
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | x | `[T, D]` | queries (or keys) of one head; D is even |
//! | y | `[T, D]` | the same, each pair of channels turned by its angle |
//!
//! A pair are two channels that lie D/2 apart. Row 0 of x stands at position `start`, row 1 at `start + 1`, and so on: t in the
//! equation is the position, and not the row.
//!
//! To read first: `docs/variants/modern/rotary_positions.md`, sections 1 to 5. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::Array2;

/// Every row turned by its position.
pub fn rotate(x: &Array2, theta: f64, start: usize) -> Array2 {
    todo!("exercise m1: turn the pairs (i, i + D/2)")
}
