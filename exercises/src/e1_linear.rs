//! Exercise 1: a linear map, `cargo test linear`.
//!
//! ```text
//! y[t, o] = Σ_i x[t, i]·W[i, o] + b[o]
//! ```
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | x | `[T, in]` | T positions, `in` channels each |
//! | W | `[in, out]` | row i: where channel i goes |
//! | b | `[out]` | one number for each channel of the result |
//! | y | `[T, out]` | |
//!
//! The numbers are channels: they have no unit. Every row of x is treated alike, and none sees another.
//!
//! To read first: `docs/transformer_math_to_code.md`, section 4. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin: the warning then names what you forgot

use crate::{Array1, Array2};

/// y = x·W + b.
pub fn linear(x: &Array2, w: &Array2, b: &Array1) -> Array2 {
    todo!("exercise 1: y = x·W + b")
}
