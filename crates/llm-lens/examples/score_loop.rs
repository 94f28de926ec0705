//! The scores of the walkthrough's example by plain loops: a program to stop in with a debugger.
//!
//! `cargo run -p llm-lens --example score_loop`

#![allow(clippy::print_stdout)] // an example may print

use llm_core::{Result, ops};
use llm_lens::trace::{example, scores_1h, scores_mha};

/// One head, then two.
pub fn main() -> Result<()> {
    for n_heads in [1, 2] {
        let layer = example(n_heads, 1)?;
        let qkv = ops::linear_lastdim(&layer.x, &layer.w_qkv, Some(&layer.b_qkv))?; // [1, 3, 12]
        let (q, k) = (ops::slice_lastdim(&qkv, 0, 4)?, ops::slice_lastdim(&qkv, 4, 4)?); // [1, 3, 4]
        // The followed score: position 2 asks position 1, in the last head.
        let (scores, off) = match n_heads {
            1 => (scores_1h(&q, &k)?, 7),
            _ => (scores_mha(&q, &k, n_heads)?, 16),
        };
        println!("{:?} scores[{off}] = {:.6}", scores.shape(), scores.data()[off]);
    }
    Ok(())
}
