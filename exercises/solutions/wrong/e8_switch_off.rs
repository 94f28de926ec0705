//! Exercise 8 with its usual mistakes.

use crate::e6_multi_head::layer;
use crate::planted::planted;
use crate::{Array3, Weights};

pub fn multi_head_with(x: &Array3, weights: &Weights, n_heads: usize, keep: &[bool]) -> Array3 {
    let turned: Vec<bool> = keep.iter().map(|keep| !keep).collect();
    layer(x, weights, n_heads, if planted("off_turned") { &turned } else { keep })
}
