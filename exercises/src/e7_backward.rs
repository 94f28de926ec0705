//! Exercise 7: two ways back by hand, `cargo test backward`.
//!
//! L is a number that depends on the result; dy stands for ∂L/∂y and has the shape of y, and so for each array.
//!
//! ```text
//! y = x·W + b        dx[t, i] = Σ_o dy[t, o]·W[i, o]
//!                    dW[i, o] = Σ_t x[t, i]·dy[t, o]
//!                    db[o]    = Σ_t dy[t, o]
//!
//! P = softmax(S)     dS[i, j] = P[i, j]·(dP[i, j] − Σ_k P[i, k]·dP[i, k])
//! ```
//!
//! Shapes are those of exercises 1 and 4. A gradient's unit is that of L for one of the number: by how much L grows when
//! the number grows by a little. The tests say so literally, by moving each number a little.
//!
//! To read first: `docs/learn_by_hand.md`, section 8, and `docs/autograd_and_memory_layout.md`, section 8. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::{Array1, Array2};

/// dx, dW and db of exercise 1.
pub fn linear_backward(x: &Array2, w: &Array2, dy: &Array2) -> (Array2, Array2, Array1) {
    todo!("exercise 7: dx, dW and db")
}

/// dS of exercise 4, from the shares P and their gradient.
pub fn softmax_backward(p: &Array2, dp: &Array2) -> Array2 {
    todo!("exercise 7: dS = P·(dP − Σ P·dP)")
}
