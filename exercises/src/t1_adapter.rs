//! Exercise t1: two thin matrices learn beside one that stays as it is, `cargo test adapter`.
//!
//! ```text
//! s  = alpha / r
//! y  = x·W + s·(x·A)·B
//!
//! dA = s·xᵀ·(dy·Bᵀ)
//! dB = s·(x·A)ᵀ·dy          W has no gradient: it stays
//!
//! merge:  W ← W + s·A·B,  then B ← 0
//! ```
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | x, y | `[T, in]`, `[T, out]` | as in exercise 1 |
//! | W | `[in, out]` | what the model knows already |
//! | A | `[in, r]` | what is asked of x: r numbers for each position |
//! | B | `[r, out]` | where each of these numbers goes |
//!
//! After `merge` the map is the same as before, W alone has it, and A and B begin anew beside it: merging again changes
//! nothing. r is read off A.
//!
//! To read first: `docs/concepts/adapters.md`, sections 1 to 3. Stuck? `hints.md`.
#![allow(unused_variables)] // take this line away when you begin

use crate::{Adapter, Array2};

/// y = x·W + s·(x·A)·B.
pub fn adapted(x: &Array2, w: &Array2, adapter: &Adapter) -> Array2 {
    todo!("exercise t1: y = x·W + s·(x·A)·B")
}

/// dA and dB.
pub fn adapter_backward(x: &Array2, adapter: &Adapter, dy: &Array2) -> (Array2, Array2) {
    todo!("exercise t1: dA and dB")
}

/// Makes s·A·B a part of W, once.
pub fn merge(w: &mut Array2, adapter: &mut Adapter) {
    todo!("exercise t1: W + s·A·B, and B back at 0")
}
