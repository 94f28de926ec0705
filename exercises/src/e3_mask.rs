//! Exercise 3: the future is hidden, `cargo test mask`.
//!
//! ```text
//! S'[i, j] = S[i, j]   for j ≤ i      the past, and the position itself
//! S'[i, j] = −∞        for j > i      the future
//! ```
//!
//! S and S' are `[T, T]`: row i asks, column j answers. This happens before softmax, whose e^(−∞) is 0: a hidden position
//! gets no share, and the others' shares still add up to 1. Where the library has −1e9 it comes to the
//! same, the page says why; here it is −∞ as in the equation.
//!
//! To read first: `docs/variants/mha/sample_processing_walkthrough.md`, "Two ways to hide the future". Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::Array2;

/// The same scores, and −∞ (`f64::NEG_INFINITY`) where j > i.
pub fn hide_future(scores: &Array2) -> Array2 {
    todo!("exercise 3: −∞ where j > i")
}
