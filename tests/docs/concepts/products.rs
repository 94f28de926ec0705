//! docs/concepts/projection_and_comparison.md: one operation with two meanings.

use super::rows;
use llm_core::{Result, Tensor, ops};

/// Three vectors of length 5, and two directions of length 1, side by side.
pub fn vectors() -> Tensor {
    rows([[3.0, 4.0], [4.0, 3.0], [4.0, -3.0]]) // a, b, c
}

pub fn directions() -> Tensor {
    rows([[0.6, 0.8], [0.8, -0.6]]) // a column for each direction
}

/// x·W and X·Xᵀ.
pub fn both() -> Result<[Tensor; 2]> {
    let (x, w) = (vectors(), directions());
    let projected = ops::matmul2d(&x, &w)?; // [3, 2]: every vector along every direction
    let compared = ops::matmul2d(&x, &ops::transpose(&x, 0, 1)?)?; // [3, 3]: every vector with every other
    Ok([projected, compared])
}

/// q, k and the scores with D = 1: queries are the first channel, keys the second.
pub fn learned() -> Result<[Tensor; 4]> {
    let x = vectors();
    let (w_q, w_k) = (rows([[1.0], [0.0]]), rows([[0.0], [1.0]]));
    let (q, k) = (ops::matmul2d(&x, &w_q)?, ops::matmul2d(&x, &w_k)?); // two projections
    let scores = ops::matmul2d(&q, &ops::transpose(&k, 0, 1)?)?; // and a comparison
    let m = ops::matmul2d(&w_q, &ops::transpose(&w_k, 0, 1)?)?; // S = x·M·xᵀ
    Ok([q, k, scores, m])
}

#[test]
fn queries_at_keys_are_x_on_both_sides_of_one_matrix() -> Result<()> {
    let (x, [_, _, scores, m]) = (vectors(), learned()?);
    let same = ops::matmul2d(&ops::matmul2d(&x, &m)?, &ops::transpose(&x, 0, 1)?)?;
    assert_eq!(same.data(), scores.data());
    assert_ne!(scores.data(), ops::transpose(&scores, 0, 1)?.data()); // who asks matters
    Ok(())
}
