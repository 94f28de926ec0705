//! The built-in example: three positions, four channels, numbers that can be followed on paper.
//!
//! The weights are chosen so that q, k and v come out as rows of small integers. x picks rows of
//! `w_qkv`: positions 0 and 1 one each, position 2 the sum of the last two.

use llm_core::{Result, Tensor};

/// T and C.
const SIZES: [usize; 2] = [3, 4];

/// A row of q, k and v side by side for each position, `[3, 3C]`.
type Rows = [[[f32; 4]; 3]; 3];

#[rustfmt::skip]
const ONE_HEAD: Rows = [
    // q                   k                     v
    [[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]],
    [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]],
    [[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]],
];

#[rustfmt::skip]
const SEVERAL_HEADS: Rows = [
    [[1.0, 0.0, 1.0,  0.0], [1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 10.0,  0.0]],
    [[1.0, 1.0, 0.0,  1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 1.0,  0.0, 10.0]],
    [[2.0, 0.0, 1.0, -1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0,  5.0,  5.0]],
];

/// Inputs and weights of one attention layer.
#[derive(Debug)]
pub struct Example {
    /// `[B, T, C]`.
    pub x: Tensor,
    /// `[C, 3C]`.
    pub w_qkv: Tensor,
    /// `[3C]`.
    pub b_qkv: Tensor,
    /// `[C, C]`: adds channel c + 2 to channel c, so that two heads meet.
    pub w_proj: Tensor,
    /// `[C]`.
    pub b_proj: Tensor,
}

/// The example for one head or for several, its sequence repeated `batch` times.
///
/// # Errors
/// As [`Tensor::from_vec`], of shapes that fit.
pub fn example(n_heads: usize, batch: usize) -> Result<Example> {
    let [t, c] = SIZES;
    let x = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]].concat();
    let [first, second, third] = if n_heads == 1 { ONE_HEAD } else { SEVERAL_HEADS };
    let half: Vec<f32> = third.concat().iter().map(|n| n / 2.0).collect();
    let w_qkv = [first.concat(), second.concat(), half.clone(), half].concat();
    let meet = |n: usize| if n % c == n / c || n % c == (n / c + 2) % c { 1.0 } else { 0.0 };
    Ok(Example {
        x: Tensor::from_vec(&[batch, t, c], x.repeat(batch))?,
        w_qkv: Tensor::from_vec(&[c, 3 * c], w_qkv)?,
        b_qkv: Tensor::from_vec(&[3 * c], vec![0.0; 3 * c])?,
        w_proj: Tensor::from_vec(&[c, c], (0..c * c).map(meet).collect())?,
        b_proj: Tensor::from_vec(&[c], vec![0.0; c])?,
    })
}
