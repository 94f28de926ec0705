//! docs/concepts/mlp_and_norm.md: two hidden numbers that find out whether exactly one of two things is so, and a row
//! whose length does not count.

use super::rows;
use llm_core::{Result, Tensor, ops};

/// All cases of two things that are so (1) or not (0).
pub const CASES: [[f32; 2]; 4] = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
/// The first matrix and its bias: both hidden numbers look at the sum, the second 1 later.
const W_FC: [[f32; 2]; 2] = [[10.0, 10.0], [10.0, 10.0]];
const B_FC: [f32; 2] = [0.0, -10.0];
/// The second matrix.
const W_OUT: [[f32; 1]; 2] = [[0.1], [-0.2]];

/// The hidden numbers before and after GELU, and the output, of every case.
pub fn exactly_one() -> Result<[Tensor; 3]> {
    let (x, b_fc) = (rows(CASES), Tensor::from_vec(&[2], B_FC.to_vec())?);
    let hidden = ops::linear_lastdim(&x, &rows(W_FC), Some(&b_fc))?;
    let act = ops::gelu(&hidden)?;
    let y = ops::linear_lastdim(&act, &rows(W_OUT), None)?;
    Ok([hidden, act, y])
}

/// A row and what the norm makes of it when the row is this many times as long.
pub fn normed(times: f32) -> Result<Tensor> {
    let x = rows([ROW.map(|x| times * x)]);
    let y = ops::layernorm_lastdim(&x, 1e-5)?;
    Ok(y)
}

pub const ROW: [f32; 4] = [1.0, 2.0, 3.0, 6.0];

/// What a sum of a row times numbers gives for the four cases: f(0, 0) + f(1, 1) = f(0, 1) + f(1, 0), whatever the
/// numbers are. So nothing without the step in between can be 0, 1, 1, 0.
#[test]
fn one_product_cannot_say_exactly_one() {
    for (w, b) in [([0.3, -2.0], 0.7), ([5.0, 1.5], -3.0)] {
        let f = |[p, q]: [f32; 2]| w[0] * p + w[1] * q + b;
        assert!((f(CASES[0]) + f(CASES[3]) - f(CASES[1]) - f(CASES[2])).abs() < 1e-5);
    }
    let [_, _, y] = exactly_one().unwrap();
    workspace_tests::assert_close("y", y.data(), &[0.0, 1.0, 1.0, 0.0], 1e-5);
}
