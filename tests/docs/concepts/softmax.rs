//! docs/concepts/softmax.md: scores become shares.

use super::rows;
use llm_core::{Result, Tensor, ops};

pub const SCORES: [f32; 4] = [-1.0, 0.0, 1.0, 3.0];

/// The shares of some scores, each multiplied by `times`.
pub fn shares<const N: usize>(scores: [f32; N], times: f32) -> Result<Tensor> {
    let scores = rows([scores.map(|score| times * score)]);
    let shares = ops::softmax_lastdim(&scores)?;
    Ok(shares)
}

/// Large scores are no trouble, and what all have in common does not count.
#[test]
fn only_differences_count() {
    let near = [0.0, 1.0];
    for common in [10.0, -3.0, 1e4] {
        let moved = shares(near.map(|score| score + common), 1.0).unwrap();
        let want = super::wide(&shares(near, 1.0).unwrap());
        workspace_tests::assert_close("shares", moved.data(), &want, 1e-6);
    }
}
