//! docs/concepts/queries_keys_values.md: three words, each with a question, a label and a content.

use super::rows;
use llm_core::{Result, Tensor, ops};
use llm_courses::scaled_dot_product_attention;

/// The words, in the order of the rows.
pub const WORDS: [&str; 3] = ["cat", "mat", "it"];

/// Everything on the way from x to Y.
pub struct Lookup {
    pub q: Tensor,
    pub k: Tensor,
    pub v: Tensor,
    pub scores: Tensor,
    pub p: Tensor,
    pub y: Tensor,
}

/// The three matrices that training would have found: C = 3 channels in, D = 2 out.
pub fn matrices() -> [Tensor; 3] {
    let w_q = rows([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]);
    let w_k = rows([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0]]);
    let w_v = rows([[10.0, 0.0], [0.0, 10.0], [1.0, 1.0]]);
    [w_q, w_k, w_v]
}

/// The whole lookup, step by step, with the queries taken `times` as strong.
pub fn run(times: f32) -> Result<Lookup> {
    let x = rows([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]); // cat, mat, it
    let [w_q, w_k, w_v] = matrices();
    let q = ops::mul_scalar(&ops::matmul2d(&x, &w_q)?, times)?; // what a word asks
    let k = ops::matmul2d(&x, &w_k)?; // what it can be found by
    let v = ops::matmul2d(&x, &w_v)?; // what it hands over
    let scores = ops::matmul2d(&q, &ops::transpose(&k, 0, 1)?)?; // every question at every label
    let p = ops::softmax_lastdim(&scores)?; // every row: shares of 1
    let y = ops::matmul2d(&p, &v)?; // the contents, mixed by these shares
    Ok(Lookup { q, k, v, scores, p, y })
}

#[test]
fn the_steps_are_the_function() -> Result<()> {
    let Lookup { q, k, v, y, .. } = run(1.0)?;
    let whole = scaled_dot_product_attention(&q, &k, &v, Some(1.0), None)?; // no mask, no scale
    workspace_tests::assert_close("Y", whole.data(), &super::wide(&y), 1e-6);
    Ok(())
}

/// A question that is asked ever louder ends as a lookup in a table: one answer, whole.
#[test]
fn a_loud_question_is_a_dictionary() -> Result<()> {
    let loud = run(100.0)?;
    assert_eq!(loud.p.data()[6..], [1.0, 0.0, 0.0]);
    assert_eq!(loud.y.data()[4..], [10.0, 0.0]);
    Ok(())
}
