//! self_attention_1h: the baseline's attention, one head over all channels.

use super::{expect_shape, linear_lastdim};
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::kernels::attention::{
    backward, each_head, forward, head_view, head_views, head_views_mut, qkv_views_mut,
    row_views_mut,
};
use crate::kernels::dropout::Dropout;
use crate::profile::span;
use crate::tensor::Tensor;
use std::sync::Arc;

/// The four parameter tensors of an attention layer. Their shapes do not depend on the number of
/// heads; a variant differs only in how it reads the channel axis.
#[derive(Clone, Copy, Debug)]
pub struct AttentionParams<'a> {
    /// `[C, 3C]`: columns 0..C make the queries, C..2C the keys, 2C..3C the values.
    pub w_qkv: &'a Tensor,
    /// `[3C]`.
    pub b_qkv: &'a Tensor,
    /// `[C, C]`.
    pub w_proj: &'a Tensor,
    /// `[C]`.
    pub b_proj: &'a Tensor,
}

/// Single-head causal self-attention with its projections:
///
/// ```text
/// q, k, v = x·W_qkv + b_qkv
/// S[i,j]  = q[i]·k[j] / √C          for j ≤ i, hidden for j > i
/// P[i,:]  = softmax(S[i,:])
/// Y[i]    = Σⱼ P[i,j]·v[j]
/// out     = Y·W_proj + b_proj
/// ```
///
/// # Shapes
/// `x [B, T, C]`, parameters as in [`AttentionParams`], result `[B, T, C]`.
///
/// # Gradient
/// Into x and all four parameters; through S as in
/// [`kernels::attention::backward`](crate::kernels::attention::backward).
///
/// # Errors
/// [`Error::Shape`] when a shape does not fit.
///
/// # Reference
/// Vaswani et al., "Attention Is All You Need", 3.2.1, with the decoder's mask.
pub fn self_attention_1h(
    x: &Tensor,
    w_qkv: &Tensor,
    b_qkv: &Tensor,
    w_proj: &Tensor,
    b_proj: &Tensor,
) -> Result<Tensor> {
    let [_, _, c] = x.dims("self_attention_1h", "x of shape [B, T, C]")?;
    expect_shape("self_attention_1h", "w_proj of shape", w_proj, &[c, c])?;
    let qkv = linear_lastdim(x, w_qkv, Some(b_qkv))?; // [B, T, 3C]
    let y = causal_attention_1h(&qkv, None)?; // [B, T, C]
    linear_lastdim(&y, w_proj, Some(b_proj)) // [B, T, C]
}

/// The part between the projections: Y from q, k, v. With `dropout` some weights of P are dropped.
///
/// # Shapes
/// `qkv [B, T, 3C]` to `[B, T, C]`.
///
/// # Gradient
/// Into qkv.
///
/// # Errors
/// [`Error::Shape`] when qkv has not three axes, the last divisible by 3.
pub fn causal_attention_1h(qkv: &Tensor, dropout: Option<Dropout>) -> Result<Tensor> {
    let _span = span("attention");
    let [b, t, c3] = qkv.dims("self_attention_1h", "qkv of shape [B, T, 3C]")?;
    if c3 == 0 || c3 % 3 != 0 || t == 0 {
        return Err(Error::shape("self_attention_1h", "qkv of shape [B, T, 3C]", qkv.shape()));
    }
    let c = c3 / 3;
    let scale = 1.0 / (c as f32).sqrt();
    let work = b * t * t;

    let (mut y, mut lse) = (Buffer::stale(b * t * c), Buffer::stale(b * t));
    let parts = head_views(qkv.data(), [b, t, 3, c]); // q, k, v of every sequence: [T, C]
    let outputs = [head_views_mut(&mut y, [b, t, 1, c]), row_views_mut(&mut lse, [b, 1, t])];
    each_head(outputs, work, |sequence, _, [y, lse]| {
        let [q, k, v] = [0, 1, 2].map(|part| head_view(&parts, sequence, part));
        forward(q, k, v, scale, y, lse, dropout.map(|masks| masks.skip(sequence * t)));
    });

    let y = Arc::new(y);
    let (parent, kept, qkv_value) = (qkv.parent(), y.clone(), qkv.detach());
    Ok(Tensor::from_op_sharing("attention", &[b, t, c], y, &[&qkv.parent()], move |dy, grads| {
        let mut dqkv = Buffer::stale(b * t * c3);
        let parts = head_views(qkv_value.data(), [b, t, 3, c]);
        let [y, dy] = [&kept[..], &dy].map(|x| head_views(x, [b, t, 1, c]));
        each_head(qkv_views_mut(&mut dqkv, [b, t, 1, c]), work, |sequence, _, [dq, dk, dv]| {
            let [q, k, v] = [0, 1, 2].map(|part| head_view(&parts, sequence, part));
            let [y, dy] = [&y, &dy].map(|x| head_view(x, sequence, 0));
            let lse = &lse[sequence * t..(sequence + 1) * t];
            let masks = dropout.map(|masks| masks.skip(sequence * t));
            backward(q, k, v, scale, y, lse, dy, dq, dk, dv, masks);
        });
        grads.give(&parent, dqkv);
    }))
}
