//! The loops over the scores, one number after the other, with the offsets that the pages name: to
//! read, and to stop in with a debugger. The kernels compute the same in blocks.
//!
//! Both write through `store`, a function of its own: the breakpoint
//! `break llm_lens::trace::loops::store if off == 16` stops at one score, and one frame up are the
//! offsets that it was made from.

use super::sizes::Sizes;
use llm_core::kernels::attention::MASKED;
use llm_core::{AttentionSpec, Error, Result, Tensor, message};

/// All scores of one head as wide as the model: S\[b,i,j\] = q\[b,i\]·k\[b,j\] / √C for j ≤ i,
/// [`MASKED`] for j > i.
///
/// # Shapes
/// `q`, `k` `[B, T, C]` to `[B, T, T]`.
///
/// # Gradient
/// None: the result is a constant.
///
/// # Errors
/// [`Error::Shape`] naming what does not fit.
pub fn scores_1h(q: &Tensor, k: &Tensor) -> Result<Tensor> {
    let Sizes { batch_size, seq_len, d_model, .. } = sizes("scores_1h", q, k, 1)?;
    let scale = 1.0 / (d_model as f32).sqrt();
    let mut scores = vec![0.0; batch_size * seq_len * seq_len];
    for b in 0..batch_size {
        for i in 0..seq_len {
            for j in 0..seq_len {
                let qi = (b * seq_len + i) * d_model; // q[b, i, 0]
                let kj = (b * seq_len + j) * d_model; // k[b, j, 0]
                let mut s = 0.0;
                for c in 0..d_model {
                    s += q.data()[qi + c] * k.data()[kj + c];
                }
                s *= scale;
                if j > i {
                    s = MASKED;
                }
                let off = (b * seq_len + i) * seq_len + j; // scores[b, i, j]
                store(&mut scores, off, s);
            }
        }
    }
    Tensor::from_vec(&[batch_size, seq_len, seq_len], scores)
}

/// All scores of H heads: S\[b,h,i,j\] = q\[b,i,h\]·k\[b,j,h\] / √D for j ≤ i, [`MASKED`] for
/// j > i.
///
/// # Shapes
/// `q`, `k` `[B, T, C]`, read as `[B, T, H, D]`, to `[B, H, T, T]`.
///
/// # Gradient
/// None: the result is a constant.
///
/// # Errors
/// [`Error::Shape`] naming what does not fit; [`Error::Config`] when H does not divide C.
pub fn scores_mha(q: &Tensor, k: &Tensor, n_heads: usize) -> Result<Tensor> {
    let Sizes { batch_size, seq_len, head_dim, .. } = sizes("scores_mha", q, k, n_heads)?;
    let scale = 1.0 / (head_dim as f32).sqrt();
    let mut scores = vec![0.0; batch_size * n_heads * seq_len * seq_len];
    for b in 0..batch_size {
        for h in 0..n_heads {
            for i in 0..seq_len {
                for j in 0..seq_len {
                    let q_base = ((b * seq_len + i) * n_heads + h) * head_dim; // q[b, i, h, 0]
                    let k_base = ((b * seq_len + j) * n_heads + h) * head_dim; // k[b, j, h, 0]
                    let mut s = 0.0;
                    for d in 0..head_dim {
                        s += q.data()[q_base + d] * k.data()[k_base + d];
                    }
                    s *= scale;
                    if j > i {
                        s = MASKED;
                    }
                    let off = ((b * n_heads + h) * seq_len + i) * seq_len + j; // scores[b, h, i, j]
                    store(&mut scores, off, s);
                }
            }
        }
    }
    Tensor::from_vec(&[batch_size, n_heads, seq_len, seq_len], scores)
}

/// A place for a breakpoint.
#[inline(never)]
fn store(scores: &mut [f32], off: usize, s: f32) {
    scores[off] = s;
}

fn sizes(op: &'static str, q: &Tensor, k: &Tensor, n_heads: usize) -> Result<Sizes> {
    let [b, t, c] = q.dims(op, "q of shape [B, T, C]")?;
    if k.shape() != q.shape() {
        return Err(Error::shape(op, format!("k of shape {:?}", q.shape()), k.shape()));
    }
    if n_heads == 0 || !c.is_multiple_of(n_heads) {
        return Err(Error::config("heads", message!("{} do not divide a width of {}", n_heads, c)));
    }
    Ok(Sizes::new([b, t, c], &AttentionSpec::new("multi-head", n_heads)))
}
